import { CatalogError } from '../protocol/errors.ts';
import type { LanceStatement } from '../engine/versions/managed/lance-library.ts';
import type { TaskResult } from '../engine/workers/task-result.ts';
import {
  LibraryProcess,
  rowBytesOf,
  type LibraryEnvironment,
  type TaskInput,
} from './library-process.ts';
import type { ProcessScratch } from '../store/process-scratch.ts';
import { LibrarySuspects, type AskingTask } from './library-suspects.ts';
import type { LibraryTask, StoreAccess } from './wire/messages.ts';
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
  readonly scratch: ProcessScratch;
  /** Called with a sentence when a process has ended that nobody ended. */
  readonly onFault: (fault: string) => void;
}

interface WaitingTask {
  readonly owner: string;
  /** Whether it gets a process to itself. */
  readonly isAlone: boolean;
  readonly start: () => void;
}

/** What runs the tasks of tables. */
export type RowsPool = Pick<LibraryPool, 'run' | 'rowBytes' | 'reuse'>;

/**
 * Processes of the library. They are started when there is work, and one that ended is replaced when there is more.
 * A task whose processes ended twice is repeated in a process to itself, so that the one that ends them harms no other.
 */
export class LibraryPool {
  readonly #options: LibraryPoolOptions;
  readonly #processes = new Set<LibraryProcess>();
  /** Processes that end with their last task. */
  readonly #leaving = new Set<LibraryProcess>();
  /** The process of the task that is alone. */
  #alone: LibraryProcess | undefined;
  readonly #suspects = new LibrarySuspects();
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
    statement: LanceStatement,
    input: TaskInput,
  ): Promise<AsyncGenerator<Uint8Array>> {
    await this.#options.scratch.opened();
    const isAlone = this.#suspects.isSuspect(task, statement);
    const result = await this.#begun({ task, statement, isAlone }, input);
    await result.begun();
    return result.pieces();
  }

  /** Uses the memory of a piece of a result again. Nothing may refer to it any more. */
  reuse(piece: Uint8Array): void {
    this.#pieces.give(piece);
  }

  /** Has all processes use other credentials for a table from now on. */
  renew(location: string, store: StoreAccess): void {
    for (const process of this.#all()) process.renew(location, store);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#all().map((each) => each.stop()));
  }

  #all(): readonly LibraryProcess[] {
    const alone = this.#alone === undefined ? [] : [this.#alone];
    return [...this.#processes, ...this.#leaving, ...alone];
  }

  #leave(owner: string): void {
    const others = (this.#owners.get(owner) ?? 1) - 1;
    if (others > 0) this.#owners.set(owner, others);
    else this.#owners.delete(owner);
    this.#freed();
  }

  /** Uses what has become free. */
  #freed(): void {
    for (const process of this.#processes) if (process.isFull) this.#replace(process);
    for (const process of this.#leaving) if (process.busy === 0) void process.stop();
    this.#startNext(false);
    this.#startNext(true);
    if (!this.#waiting.some(({ isAlone }) => isAlone)) this.#rejoin();
  }

  /** The process without company takes all tasks again, or ends if there are as many as there may be. */
  #rejoin(): void {
    const process = this.#alone;
    if (process === undefined || process.busy > 0) return;
    this.#alone = undefined;
    if (this.#processes.size < this.#options.processes && !process.isFull)
      this.#processes.add(process);
    else void process.stop();
  }

  /** A process that holds too much memory gets no more tasks and ends with its last one. */
  #replace(process: LibraryProcess): void {
    this.#processes.delete(process);
    this.#leaving.add(process);
  }

  /** Of the waiting tasks, alone or not, the one whose owner has the fewest running ones is next. */
  #startNext(isAlone: boolean): void {
    const some = this.#waiting.filter((each) => each.isAlone === isAlone);
    const next = some.reduce<WaitingTask | undefined>((least, each) => {
      if (least === undefined) return each;
      return this.#runningOf(each.owner) < this.#runningOf(least.owner) ? each : least;
    }, undefined);
    next?.start();
  }

  #runningOf(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  /** A task that was begun in a process with room for it, once there is one. */
  async #begun(asking: AskingTask, input: TaskInput): Promise<TaskResult> {
    const { task, statement, isAlone } = asking;
    const signal = statement.signal();
    const until = performance.now() + LIBRARY_WAIT_MILLIS;
    for (;;) {
      signal.throwIfAborted();
      if (this.#isClosed) throw new CatalogError('ServiceUnavailable', 'the gateway is stopping');
      const free = isAlone ? this.#idle() : this.#free(task);
      if (free !== undefined) return this.#beginIn(free, asking, input);
      if (performance.now() >= until) throw busy();
      await this.#turn(asking, until - performance.now());
    }
  }

  #beginIn(process: LibraryProcess, asking: AskingTask, input: TaskInput): TaskResult {
    const { budget, owner, signal } = asking.statement;
    const left = budget.limits.time - budget.spent;
    const millis = left === Infinity ? null : Math.max(1, left);
    const result = process.begin(asking.task, millis, input);
    this.#owners.set(owner, this.#runningOf(owner) + 1);
    const ended = this.#suspects.begin(process, asking);
    const cancel = (): void => result.cancel(new Error('the request was aborted'));
    signal().addEventListener('abort', cancel, { once: true });
    result.whenEnded(() => {
      signal().removeEventListener('abort', cancel);
      ended();
      budget.add(result.spent);
      this.#leave(owner);
    });
    return result;
  }

  async #turn({ statement, isAlone }: AskingTask, millis: number): Promise<void> {
    const { owner } = statement;
    const signal = statement.signal();
    let stop: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => {
      const waiting = { owner, isAlone, start: resolve };
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
      (process) => !process.isEnding && process.busy < most && this.#holds(process, rows),
    );
    const [best] = all.sort(
      (one, other) => one.busy - other.busy || other.worksOn(location) - one.worksOn(location),
    );
    if (best !== undefined && (best.busy === 0 || this.#processes.size >= this.#options.processes))
      return best;
    const { processes } = this.#options;
    const mayStart = this.#processes.size < processes && this.#leaving.size < processes;
    if (!mayStart) return undefined;
    const process = this.#start();
    this.#processes.add(process);
    return process;
  }

  /** A process without tasks for one that is to be alone, which there is once. */
  #idle(): LibraryProcess | undefined {
    const last = this.#alone;
    if (last !== undefined && last.busy > 0) return undefined;
    if (last?.isFull === true || last?.isEnding === true) void last.stop();
    else if (last !== undefined) return last;
    const idle = [...this.#processes].find(({ busy, isEnding }) => busy === 0 && !isEnding);
    if (idle !== undefined) this.#processes.delete(idle);
    this.#alone = idle ?? this.#start();
    return this.#alone;
  }

  #start(): LibraryProcess {
    const { memory, onFault, scratch } = this.#options;
    const process: LibraryProcess = new LibraryProcess({
      environment: this.#options.environment,
      memory,
      scratch: scratch.make(),
      pieces: this.#pieces,
      freed: () => this.#freed(),
      ended: (fault) => {
        this.#processes.delete(process);
        this.#leaving.delete(process);
        if (this.#alone === process) this.#alone = undefined;
        if (fault !== undefined) {
          this.#suspects.ended(process);
          onFault(fault);
        }
        this.#freed();
      },
    });
    return process;
  }
}

function busy(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'the Lance library is busy with other requests: repeat the request later, or set lance.processes to more',
  );
}
