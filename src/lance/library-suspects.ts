import { LRUCache } from 'lru-cache';
import type { LanceStatement } from '../engine/versions/managed/lance-library.ts';
import type { LibraryTask } from './wire/messages.ts';

/** Processes that end with tasks of a request before its next one is alone. */
const MAX_ENDS = 2;
/** How long the tasks of a table stay alone after one of them has ended its process, in ms. */
const SUSPICION_MILLIS = 60_000;
/** Tables that are remembered. */
const MAX_TABLES = 1000;

/** A task that asks for a process. */
export interface AskingTask {
  readonly task: LibraryTask;
  readonly statement: LanceStatement;
  /** Whether it gets a process to itself. */
  readonly isAlone: boolean;
}

/** Which tasks may end their process, by what happened before: a damaged file or an expression that needs much memory does. */
export class LibrarySuspects {
  readonly #running = new Map<object, Set<AskingTask>>();
  /** How many processes ended with tasks of a request, by its budget. */
  readonly #ends = new WeakMap<LanceStatement['budget'], number>();
  /** Locations of the tables of which a task was alone in a process that ended. */
  readonly #tables = new LRUCache<string, true>({ max: MAX_TABLES, ttl: SUSPICION_MILLIS });

  /** Whether a task should be alone. A scan never is: the change whose commit it judges may be alone, and waits for it. */
  isSuspect({ kind, table }: LibraryTask, { budget }: LanceStatement): boolean {
    if (kind === 'scan') return false;
    return (this.#ends.get(budget) ?? 0) >= MAX_ENDS || this.#tables.has(table.location);
  }

  /** Notes that a task runs in a process. @returns Notes its end. */
  begin(process: object, asking: AskingTask): () => void {
    const tasks = this.#running.get(process) ?? new Set();
    this.#running.set(process, tasks.add(asking));
    return () => {
      tasks.delete(asking);
      if (tasks.size === 0) this.#running.delete(process);
    };
  }

  /** Notes that a process ended which nobody ended. */
  ended(process: object): void {
    for (const { task, statement, isAlone } of this.#running.get(process) ?? []) {
      const { budget } = statement;
      this.#ends.set(budget, (this.#ends.get(budget) ?? 0) + 1);
      if (isAlone) this.#tables.set(task.table.location, true);
    }
  }
}
