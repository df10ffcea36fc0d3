import { CatalogError } from '../protocol/errors.ts';
import type { LanceStatement } from '../engine/versions/managed/lance-library.ts';
import {
  LibraryProcess,
  rowBytesOf,
  type LibraryEnvironment,
  type TaskInput,
} from './library-process.ts';
import type { LibraryScratch } from './library-scratch.ts';
import type { LibraryTask } from './wire/messages.ts';
import { PieceMemory } from './wire/piece-memory.ts';

/** Tasks that one process works on at once. */
const MAX_TASKS = 16;
/** The same with scans: a change waits for those that judge its commit. */
const MAX_WITH_SCANS = 2 * MAX_TASKS;

/** How long a task may wait for a process that has room, in ms. */
export const LIBRARY_WAIT_MILLIS = 30_000;

export interface LibraryPoolOptions {
  /** Number of processes. */
  readonly processes: number;
  /** Memory of each process, in bytes. */
  readonly memory: number;
  readonly environment?: LibraryEnvironment | undefined;
  readonly scratch: LibraryScratch;
  /** Called with a sentence when a process has ended that nobody ended. */
  readonly onFault: (fault: string) => void;
}

interface WaitingTask {
  readonly owner: string;
  readonly start: () => void;
}

/** What runs the tasks of tables. */
export type RowsPool = Pick<LibraryPool, 'run' | 'rowBytes' | 'reuse'>;

/** Processes of the library. They are started when there is work, and one that ended is replaced when there is more. */
export class LibraryPool {
  readonly #options: LibraryPoolOptions;
  readonly #processes = new Set<LibraryProcess>();
  /** Processes that end with their last task. */
  readonly #leaving = new Set<LibraryProcess>();
  readonly #owners = new Map<string, number>();
  readonly #waiting: WaitingTask[] = [];
  readonly #pieces = new PieceMemory();
  #isClosed = false;

  constructor(options: LibraryPoolOptions) {
    this.#options = options;
  }

  /** Most bytes of rows that a change may have: the library holds them a second time. */
  get rowBytes(): number {
    return Math.floor(this.#options.memory / 2);
  }

  /** Whether a process may hold more rows: several changes at once have half as many as one. */
  #holds({ rowBytes }: LibraryProcess, rows: number): boolean {
    return rows === 0 || rowBytes === 0 || rowBytes + rows <= this.rowBytes / 2;
  }

  /**
   * Runs a task on the process that has the least to do. Resolves once the first of its bytes are
   * there; the task continues as they are taken, until the signal.
   * @throws CatalogError ServiceUnavailable when all processes stay busy, LibraryEnded; as the task does
   */
  async run(
    task: LibraryTask,
    { budget, owner, signal }: LanceStatement,
    input: TaskInput,
  ): Promise<AsyncGenerator<Uint8Array>> {
    await this.#options.scratch.opened();
    signal().throwIfAborted();
    const chosen = await this.#room(owner, task, signal());
    const left = budget.limits.time - budget.spent;
    const result = chosen.begin(task, left === Infinity ? null : Math.max(1, left), input);
    this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + 1);
    const cancel = (): void => result.cancel(new Error('the request was aborted'));
    signal().addEventListener('abort', cancel, { once: true });
    result.whenEnded(() => {
      signal().removeEventListener('abort', cancel);
      budget.add(result.spent);
      this.#leave(owner);
    });
    await result.begun();
    return result.pieces();
  }

  /** Uses the memory of a piece of a result again. Nothing may refer to it any more. */
  reuse(piece: Uint8Array): void {
    this.#pieces.give(piece);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#processes, ...this.#leaving].map((each) => each.stop()));
  }

  #leave(owner: string): void {
    const others = (this.#owners.get(owner) ?? 1) - 1;
    if (others > 0) this.#owners.set(owner, others);
    else this.#owners.delete(owner);
    for (const process of this.#processes) if (process.isFull) this.#replace(process);
    for (const process of this.#leaving) if (process.busy === 0) void process.stop();
    this.#startNext();
  }

  /** A process that holds too much memory gets no more tasks and ends with its last one. */
  #replace(process: LibraryProcess): void {
    this.#processes.delete(process);
    this.#leaving.add(process);
  }

  /** The waiting task whose owner has the fewest running ones is next. */
  #startNext(): void {
    const next = this.#waiting.reduce<WaitingTask | undefined>((least, each) => {
      if (least === undefined) return each;
      return this.#runningOf(each.owner) < this.#runningOf(least.owner) ? each : least;
    }, undefined);
    next?.start();
  }

  #runningOf(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  /** A process with room for one more task, once there is one. */
  async #room(owner: string, task: LibraryTask, signal: AbortSignal): Promise<LibraryProcess> {
    const until = performance.now() + LIBRARY_WAIT_MILLIS;
    for (;;) {
      signal.throwIfAborted();
      if (this.#isClosed) throw new CatalogError('ServiceUnavailable', 'the gateway is stopping');
      const free = this.#free(task);
      if (free !== undefined) return free;
      if (performance.now() >= until) throw busy();
      await this.#turn(owner, signal, until - performance.now());
    }
  }

  async #turn(owner: string, signal: AbortSignal, millis: number): Promise<void> {
    let stop: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => {
      const waiting = { owner, start: resolve };
      this.#waiting.push(waiting);
      const timer = setTimeout(resolve, millis);
      const give = (): void => resolve();
      signal.addEventListener('abort', give, { once: true });
      stop = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', give);
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      };
    });
    await turn;
    stop();
  }

  /**
   * The process that has the table open and room, or the idlest one, or a new one. A scan may begin in
   * one that is to end: the change that waits for it keeps that one.
   */
  #free(task: LibraryTask): LibraryProcess | undefined {
    const { location } = task.table;
    const rows = rowBytesOf(task);
    const isScan = task.kind === 'scan';
    const most = isScan ? MAX_WITH_SCANS : MAX_TASKS;
    const leaving = isScan ? [...this.#leaving].filter(({ busy }) => busy > 0) : [];
    const all = [...this.#processes, ...leaving].filter(
      (process) => process.busy < most && this.#holds(process, rows),
    );
    const [best] = all.sort(
      (one, other) => one.busy - other.busy || other.worksOn(location) - one.worksOn(location),
    );
    if (best !== undefined && (best.busy === 0 || this.#processes.size >= this.#options.processes))
      return best;
    const { processes } = this.#options;
    const mayStart = this.#processes.size < processes && this.#leaving.size < processes;
    return mayStart ? this.#start() : undefined;
  }

  #start(): LibraryProcess {
    const { memory, onFault, scratch } = this.#options;
    const process: LibraryProcess = new LibraryProcess({
      environment: this.#options.environment,
      memory,
      scratch: scratch.make(),
      pieces: this.#pieces,
      ended: (fault) => {
        this.#processes.delete(process);
        this.#leaving.delete(process);
        if (fault !== undefined) onFault(fault);
        this.#startNext();
      },
    });
    this.#processes.add(process);
    return process;
  }
}

function busy(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'the Lance library is busy with other requests: repeat the request later, or set lance.processes to more',
  );
}
