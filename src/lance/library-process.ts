import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { CatalogError } from '../protocol/errors.ts';
import { OverBudget } from '../protocol/budget.ts';
import { TaskResult } from '../engine/workers/task-result.ts';
import { LibraryEnded, type LanceRowsPart } from '../engine/versions/managed/lance-library.ts';
import { FrameReader, sendFrame } from './wire/frames.ts';
import type { PieceMemory } from './wire/piece-memory.ts';
import { portionsOf } from './wire/portions.ts';
import type { ByteReader } from './wire/reads.ts';
import type {
  FromLibrary,
  LibraryTask,
  StoreAccess,
  ToLibrary,
  VersionQuestion,
  VersionReply,
} from './wire/messages.ts';
import { withLargeReads } from './large-reads.ts';
import { libraryFault } from './library-fault.ts';
import { removeScratch } from '../store/process-scratch.ts';

/** The built program: the process runs no TypeScript. Found from the sources as well as from what is built of them. */
const MAIN = fileURLToPath(new URL('../../dist/lance/worker/library-main.js', import.meta.url));

/** How long a process may take to load the library, in ms. */
export const LIBRARY_START_MILLIS = 60_000;
/** How long cancelled work may go on before its process is killed, in ms. */
export const LIBRARY_CANCEL_MILLIS = 5000;

/** How long a process may say nothing while it works, in ms: it reports its memory twice a second. */
export const LIBRARY_SILENCE_MILLIS = 10_000;
/** Looks in that time. A machine that was suspended counts as one. */
const SILENT_LOOKS = 10;

/** Greatest size of a part of a frame of a process, in bytes: it sends pieces of at most 512 KiB. */
const MAX_PART_BYTES = 2 ** 24;

/** Greatest length of the error output that is kept of a process. */
const ERROR_TEXT_LENGTH = 2000;

/** Most objects of JavaScript in a process, in MiB: rows and caches lie outside of them. */
const HEAP_MIB = 128;
/** Objects up to which a process collects young ones alone, in MiB: a scan would have all collected every 20 MiB. */
const YOUNG_HEAP_MIB = 64;

/** Size of the pieces in which the rows of a change are sent. */
const ROWS_PIECE_BYTES = 2 ** 20;

/** The answer to a change that was given up. */
const ENDED: VersionReply = { status: 503, value: { error: 'the request has ended', code: 17 } };

export interface LibraryProcessOptions {
  /** Memory of the process, in bytes. Above it gets no more tasks; the kernel refuses half as much more. */
  readonly memory: number;
  /** Variables of the process beside its own; one without certificates unless given. */
  readonly environment?: LibraryEnvironment | undefined;
  /** The folder of its temporary files, which is removed at its end. */
  readonly scratch: string;
  /** Memory of its results. */
  readonly pieces: PieceMemory;
  /** Called when work that was cancelled has ended. */
  readonly freed: () => void;
  /** Called once when the process is no more, with a sentence if nobody ended it. */
  readonly ended: (fault: string | undefined) => void;
}

/** Variables of a process. */
export type LibraryEnvironment = Readonly<Record<string, string>>;

/** The rows of a change: the process reads them where they lie, or gets them in pieces. */
type ChangeRows = Pick<LanceRowsPart, 'pieces' | 'shared'>;

/** What belongs to a task beside it. */
export interface TaskInput {
  /** The values of its query vectors. */
  readonly vectors?: Uint8Array;
  /** The rows of a change. */
  readonly rows?: ChangeRows | null | undefined;
  /** Answers the questions of a change. Does not reject. */
  readonly versions?: (question: VersionQuestion) => Promise<VersionReply>;
}

interface CancelledWork {
  readonly task: LibraryTask;
  readonly timer: NodeJS.Timeout;
}

interface RunningWork extends Pick<TaskInput, 'versions' | 'rows'> {
  readonly result: TaskResult;
  readonly task: LibraryTask;
  readonly millis: number | null;
}

/** One process of the library, and the tasks that it works on. */
export class LibraryProcess {
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  readonly #options: LibraryProcessOptions;
  readonly #works = new Map<number, RunningWork>();
  /** Work that was cancelled and goes on, with its timer. */
  readonly #cancelled = new Map<number, CancelledWork>();
  readonly #starting: NodeJS.Timeout;
  #watch: NodeJS.Timeout | undefined;
  /** Looks since its last message. */
  #silentLooks = 0;
  /** Why it was killed. */
  #killedFor: string | undefined;
  #next = 0;
  #bytes = 0;
  #errors = '';
  #unusable: string | undefined;
  /** Whether the library is loaded. */
  #isReady = false;
  #isStopped = false;
  #hasEnded = false;
  #cleared: Promise<void> = Promise.resolve();

  constructor(options: LibraryProcessOptions) {
    this.#options = options;
    this.#child = startProcess(options);
    this.#socket = withLargeReads(this.#child.stdio[3] as Socket, this.#reader());
    // Its end says more than an error of the socket.
    this.#socket.on('error', () => this.kill());
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-ERROR_TEXT_LENGTH);
    });
    this.#child.on('error', (error) => this.#end(error.message));
    this.#child.on('exit', (code, signal) =>
      this.#end(`it ended with ${signal ?? `code ${code}`}`),
    );
    const late = (): void => this.#killFor('it did not load the library in time');
    this.#starting = setTimeout(late, LIBRARY_START_MILLIS).unref();
    this.#letGo();
  }

  /** Number of tasks whose work goes on. */
  get busy(): number {
    return this.#works.size + this.#cancelled.size;
  }

  /** Bytes of rows that it holds for changes. */
  get rowBytes(): number {
    const tasks = [...this.#works.values(), ...this.#cancelled.values()].map(({ task }) => task);
    return tasks.reduce((sum, task) => sum + rowBytesOf(task), 0);
  }

  /** Number of running tasks that a table has in this process. */
  worksOn(location: string): number {
    return [...this.#works.values()].filter(({ task }) => task.table.location === location).length;
  }

  /** Whether it is being ended: a task would fail with it. */
  get isEnding(): boolean {
    return this.#killedFor !== undefined;
  }

  /** Whether it holds so much memory that it gets no more tasks. */
  get isFull(): boolean {
    return this.#bytes > this.#options.memory;
  }

  /**
   * Begins a task.
   * @param millis Time that the task may take; null for any.
   */
  begin(task: LibraryTask, millis: number | null, input: TaskInput): TaskResult {
    const id = this.#next++;
    this.#child.ref();
    this.#watch ??= setInterval(() => this.#look(), LIBRARY_SILENCE_MILLIS / SILENT_LOOKS);
    const { vectors, rows, versions } = input;
    const begin = { kind: 'begin', id, task, millis, rows: rows?.shared } as const;
    this.#send(begin, ...(vectors === undefined ? [] : [vectors]));
    const result = new TaskResult(
      () => this.#send({ kind: 'more', id }),
      () => this.#cancel(id),
    );
    this.#works.set(id, { result, task, millis, rows, ...(versions && { versions }) });
    if (rows?.shared === undefined) this.#sendRows(id);
    return result;
  }

  /** Has the library renew its credentials for a table, if it has some that end. */
  renew(location: string, store: StoreAccess): void {
    this.#send({ kind: 'store', location, store });
  }

  /** Ends the process. Its tasks fail. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Ends the process for good; resolves when it is gone. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (!this.#hasEnded) {
      const gone = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
      this.#child.ref();
      this.kill();
      await gone;
    }
    await this.#cleared;
  }

  #reader(): ByteReader {
    const receive = (message: FromLibrary, bytes: Uint8Array): void =>
      this.#receive(message, bytes);
    const { pieces } = this.#options;
    const memory = (bytes: number): Buffer => pieces.take(bytes);
    const frames = new FrameReader<FromLibrary>(receive, { maxPart: MAX_PART_BYTES, memory });
    const add = (bytes: Uint8Array): void => {
      try {
        frames.add(bytes);
      } catch {
        this.#killFor('it sent bytes that are no message');
      }
    };
    return { room: () => frames.room(), add };
  }

  #killFor(reason: string): void {
    this.#killedFor ??= reason;
    this.kill();
  }

  /** Kills a process that is stopped or hangs. One that loads the library has its own time. */
  #look(): void {
    if (!this.#isReady || ++this.#silentLooks <= SILENT_LOOKS) return;
    this.#killFor(`it said nothing for ${LIBRARY_SILENCE_MILLIS / 1000} s`);
  }

  #receive(message: FromLibrary, bytes: Uint8Array): void {
    this.#silentLooks = 0;
    if (message.kind === 'ready') this.#begin();
    else if (message.kind === 'memory') this.#bytes = message.bytes;
    else if (message.kind === 'unusable') this.#refuseAll(message.reason);
    else if (message.kind === 'piece') this.#works.get(message.id)?.result.add(bytes);
    else if (message.kind === 'fault') this.#fail(message);
    else if (message.kind === 'ask') void this.#answer(message);
    else if (message.kind === 'unread') this.#sendRows(message.id);
    else this.#done(message);
  }

  #begin(): void {
    clearTimeout(this.#starting);
    this.#isReady = true;
  }

  #fail({ id, over, text }: Extract<FromLibrary, { readonly kind: 'fault' }>): void {
    const work = this.#works.get(id);
    if (work === undefined) return;
    const { result, task, millis } = work;
    this.#killLater(id, task);
    this.#works.delete(id);
    result.fail(over === null ? libraryFault(task, text) : new OverBudget(over, millis ?? 0));
  }

  #done({ id, spent }: Extract<FromLibrary, { readonly kind: 'end' }>): void {
    clearTimeout(this.#cancelled.get(id)?.timer);
    const wasCancelled = this.#cancelled.delete(id);
    const work = this.#works.get(id);
    this.#works.delete(id);
    if (work !== undefined) {
      work.result.spent = spent;
      work.result.end();
    }
    this.#letGo();
    if (wasCancelled) this.#options.freed();
  }

  /** Sends the rows of a change in pieces, if it has some. */
  #sendRows(id: number): void {
    const { rows, result } = this.#works.get(id) ?? {};
    if (rows == null) return;
    this.#sendPieces(id, rows).catch((error: Error) => result?.cancel(error));
  }

  /** The process takes the pieces between other messages. */
  async #sendPieces(id: number, rows: ChangeRows): Promise<void> {
    for await (const portion of portionsOf(rows.pieces(), ROWS_PIECE_BYTES, ROWS_PIECE_BYTES)) {
      if (!this.#works.has(id)) return;
      this.#send({ kind: 'rows', id }, ...portion);
      await this.#drained();
    }
  }

  /** Waits until the socket takes more, or is closed: it is with the process. */
  async #drained(): Promise<void> {
    const socket = this.#socket;
    while (!socket.destroyed && socket.writableNeedDrain) {
      const drained = new Promise<void>((resolve) => {
        const wake = (): void => {
          socket.off('drain', wake).off('close', wake);
          resolve();
        };
        socket.on('drain', wake).on('close', wake);
      });
      await drained;
    }
  }

  /** Answers a question of a change, as long as it runs. */
  async #answer({
    id,
    call,
    question,
  }: Extract<FromLibrary, { readonly kind: 'ask' }>): Promise<void> {
    const reply = (await this.#works.get(id)?.versions?.(question)) ?? ENDED;
    this.#send({ kind: 'told', id, call, reply });
  }

  #cancel(id: number): void {
    const work = this.#works.get(id);
    if (work === undefined) return;
    this.#works.delete(id);
    this.#killLater(id, work.task);
    this.#send({ kind: 'cancel', id });
  }

  /** The process is killed unless the work of a task ends soon: the library cannot be interrupted. */
  #killLater(id: number, task: LibraryTask): void {
    const late = (): void => this.#killFor('it did not end work that was cancelled');
    this.#cancelled.set(id, { task, timer: setTimeout(late, LIBRARY_CANCEL_MILLIS).unref() });
  }

  /** An idle process does not keep the gateway alive. */
  #letGo(): void {
    if (this.busy > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
    this.#silentLooks = 0;
    this.#child.unref();
    this.#socket.unref();
  }

  #refuseAll(reason: string): void {
    this.#unusable = reason;
    // The process may still answer each task with the same error, as if the task were at fault.
    this.#endWorks();
    this.#killFor(`it could not load the library: ${firstLine(reason)}`);
  }

  #end(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#cleared = removeScratch(this.#options.scratch);
    clearTimeout(this.#starting);
    clearInterval(this.#watch);
    for (const { timer } of this.#cancelled.values()) clearTimeout(timer);
    this.#cancelled.clear();
    this.#socket.destroy();
    const said = this.#errors.trim();
    const why = this.#killedFor ?? reason;
    this.#options.ended(this.#isStopped ? undefined : said === '' ? why : `${why}: ${said}`);
    this.#endWorks();
  }

  #endWorks(): void {
    const broken = [...this.#works.values()];
    this.#works.clear();
    for (const { result, task } of broken) result.fail(this.#faultOf(task));
  }

  #faultOf({ name }: LibraryTask): CatalogError {
    if (this.#unusable === undefined) return new LibraryEnded(name, this.#isReady);
    return new CatalogError(
      'Unsupported',
      `table ${name} needs the Lance library, which cannot be loaded: ${firstLine(this.#unusable)}. Install it anew beside arrowgate`,
    );
  }

  #send(message: ToLibrary, ...parts: readonly Uint8Array[]): void {
    sendFrame(this.#socket, message, ...parts);
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!.slice(0, ERROR_TEXT_LENGTH).replace(/\.$/, '');
}

/** Bytes of the rows of a change; 0 for other tasks. */
export function rowBytesOf(task: LibraryTask): number {
  return task.kind === 'change' ? (task.rowBytes ?? 0) : 0;
}

/**
 * The library would read every certificate of the system for each connection, and speaks with the loopback
 * interface alone where no object store is reached over TLS.
 */
const WITHOUT_TLS: LibraryEnvironment = { SSL_CERT_FILE: '/dev/null' };

/** Each thread may have a heap of its own, and a busy machine has the library start more threads: they would fill what the process may have. */
const FEW_HEAPS: LibraryEnvironment = { MALLOC_ARENA_MAX: '2' };

/** Starts a process without the environment of the gateway. The kernel refuses it data beyond a bound. */
function startProcess({ memory, scratch, environment }: LibraryProcessOptions): ChildProcess {
  const heap = [
    `--max-old-space-size=${HEAP_MIB}`,
    `--initial-old-space-size=${YOUNG_HEAP_MIB}`,
    '--expose-gc',
  ];
  const program = [process.execPath, ...heap, MAIN, String(memory), scratch];
  const kibibytes = String(Math.ceil((memory * 1.5) / 1024));
  const limited = ['-c', 'ulimit -d "$0" && exec "$@"', kibibytes, ...program];
  const [command, args] =
    process.platform === 'linux' ? ['/bin/sh', limited] : [program[0]!, program.slice(1)];
  const stdio: StdioOptions = ['ignore', 'ignore', 'pipe', 'pipe'];
  const env = { ...(environment ?? WITHOUT_TLS), ...FEW_HEAPS, TMPDIR: scratch };
  return spawn(command, args, { env, cwd: '/', stdio });
}
