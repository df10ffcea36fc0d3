import { CatalogError } from './errors.ts';

/** Resource limits of one request. Null means unlimited. */
export interface BudgetLimits {
  /** Processor time, in ms. */
  readonly time: number;
  /** Memory that the request holds at once, in bytes. */
  readonly memory: number;
  /** Bytes of the answer's body. */
  readonly result: number | null;
  /** Bytes that compressed parts of the request's body become. */
  readonly decompressed: number;
  /** Rows of a table that the request makes. */
  readonly rows: number | null;
}

export type BudgetKey = keyof BudgetLimits;

/** The keys of a budget, in the order of the configuration. */
export const budgetKeys: readonly BudgetKey[] = [
  'time',
  'memory',
  'result',
  'decompressed',
  'rows',
];

/** The limits of a request for which nothing is configured. */
export const defaultBudget: BudgetLimits = {
  time: 60_000,
  memory: 512 * 1024 ** 2,
  result: null,
  decompressed: 4 * 1024 ** 3,
  rows: null,
};

/** The smaller limit of each kind. */
export function smallestOf(limits: readonly Partial<BudgetLimits>[]): Partial<BudgetLimits> {
  const least: Partial<Record<BudgetKey, number>> = {};
  for (const each of limits) {
    for (const key of budgetKeys) {
      const limit = each[key];
      if (limit != null) least[key] = Math.min(limit, least[key] ?? Infinity);
    }
  }
  return least;
}

/** The refusal of a request that needs more than its budget: 400, code 13. */
export class OverBudget extends CatalogError {
  readonly key: BudgetKey;
  readonly limit: number;

  constructor(key: BudgetKey, limit: number) {
    super('InvalidInput', sentences[key](limit));
    this.key = key;
    this.limit = limit;
  }
}

const sentences: Readonly<Record<BudgetKey, (limit: number) => string>> = {
  time: (limit) =>
    `The request needs more than ${shownTime(limit)} of processor time (budget.time): ask for less, or for fewer rows at once`,
  memory: (limit) =>
    `The request needs more than ${shownBytes(limit)} of memory (budget.memory): ask for less, or for fewer rows at once`,
  result: (limit) =>
    `The answer has more than ${shownBytes(limit)} (budget.result): ask for fewer rows or columns`,
  decompressed: (limit) =>
    `The body has more than ${shownBytes(limit)} once decompressed (budget.decompressed): send it in parts`,
  rows: (limit) => `The request adds more than ${limit} rows (budget.rows): send them in parts`,
};

function shownTime(millis: number): string {
  return millis % 1000 === 0 ? `${millis / 1000} s` : `${millis} ms`;
}

function shownBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && value % 1024 === 0 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value} ${units[unit]}`;
}

/** Bytes of work between two looks at the clock. */
const WORK_BYTES = 2 ** 16;

/** State of a budget for another thread. */
export interface BudgetMessage {
  readonly limits: BudgetLimits;
  /** Spent and held resources at the time of the message. */
  readonly spent: number;
  readonly held: number;
  /** Its first number is 1 once the work is to end; all threads see it at once. */
  readonly ended: SharedArrayBuffer;
}

/**
 * The remaining budget of one request. Work charges it before it takes memory and at intervals of its
 * loops. Throws `OverBudget` above a limit, and its own error once the client has disconnected. Only
 * time within `run` counts, so waiting is free.
 */
export class RequestBudget {
  readonly limits: BudgetLimits;
  #onDisconnect: ((listener: () => void) => () => void) | undefined;
  #ended: Int32Array | undefined;
  /** Milliseconds of finished stretches of work. */
  #spent = 0;
  /** When the current stretch of work began, or was looked at last; negative without one. */
  #since = -1;
  #held = 0;
  #work = 0;
  #decompressed = 0;
  #answered = 0;
  #rows = 0;

  /** @param onDisconnect Has a listener called once when the client disconnects. */
  constructor(limits: BudgetLimits, onDisconnect?: (listener: () => void) => () => void) {
    this.limits = limits;
    this.#onDisconnect = onDisconnect;
  }

  /** The rest of a budget that another thread began. */
  static of({ limits, spent, held, ended }: BudgetMessage): RequestBudget {
    const budget = new RequestBudget(limits);
    budget.#spent = spent;
    budget.#held = held;
    budget.#ended = new Int32Array(ended);
    return budget;
  }

  /** Processor time spent so far, in ms. */
  get spent(): number {
    return this.#since < 0 ? this.#spent : this.#spent + performance.now() - this.#since;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Runs work that waits for nothing, and counts its time. Stretches may lie in each other. */
  run<Result>(work: () => Result): Result {
    if (this.#since >= 0) return work();
    this.#watch();
    this.check();
    this.#since = performance.now();
    try {
      return work();
    } finally {
      this.#spent += performance.now() - this.#since;
      this.#since = -1;
    }
  }

  /** Adds processor time that was spent elsewhere, in ms. */
  add(millis: number): void {
    this.#spent += millis;
  }

  /** Counts bytes that are about to be held. @throws OverBudget `memory`, and holds none of them then */
  charge(bytes: number): void {
    if (this.#held + bytes > this.limits.memory) throw this.#over('memory');
    this.#held += bytes;
  }

  /** Gives back bytes that were charged. */
  release(bytes: number): void {
    this.#held -= bytes;
  }

  /** Counts bytes of work; looks at the clock once in a while. @throws as `check` does */
  work(bytes: number): void {
    this.#work += bytes;
    if (this.#work < WORK_BYTES) return;
    this.#work = 0;
    this.check();
  }

  /** @throws OverBudget `time` once it is spent; ClientDisconnected once the client has disconnected */
  check(): void {
    if (this.#ended !== undefined && Atomics.load(this.#ended, 0) === 1)
      throw new ClientDisconnected();
    if (this.spent > this.limits.time) throw this.#over('time');
  }

  /** Counts bytes that decompression gives, before they are made. @throws OverBudget `decompressed` */
  decompress(bytes: number): void {
    this.#decompressed += bytes;
    if (this.#decompressed > this.limits.decompressed) throw this.#over('decompressed');
  }

  /** Counts bytes of the answer, before they are sent. @throws OverBudget `result` */
  answer(bytes: number): void {
    this.#answered += bytes;
    if (this.#answered > (this.limits.result ?? Infinity)) throw this.#over('result');
  }

  /** Counts rows that a table gets. @throws OverBudget `rows` */
  addRows(rows: number): void {
    this.#rows += rows;
    if (this.#rows > (this.limits.rows ?? Infinity)) throw this.#over('rows');
  }

  /** Ends all work that is done on it, in every thread: the client has disconnected. */
  end(): void {
    Atomics.store((this.#ended ??= endedFlag()), 0, 1);
  }

  /** The state for another thread. */
  message(): BudgetMessage {
    this.#watch();
    this.#ended ??= endedFlag();
    const ended = this.#ended.buffer as SharedArrayBuffer;
    return { limits: this.limits, spent: this.spent, held: this.#held, ended };
  }

  /** Listens for the client's leaving from the first work on: most requests have none. */
  #watch(): void {
    const watch = this.#onDisconnect;
    this.#onDisconnect = undefined;
    watch?.(() => this.end());
  }

  #over(key: BudgetKey): OverBudget {
    return new OverBudget(key, this.limits[key] ?? Infinity);
  }
}

export class ClientDisconnected extends Error {
  constructor() {
    super('the client has gone: the work on its request has ended');
    this.name = 'ClientDisconnected';
  }
}

function endedFlag(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4));
}

const unbounded: BudgetLimits = {
  time: Infinity,
  memory: Infinity,
  result: null,
  decompressed: Infinity,
  rows: null,
};

/** A budget without bounds, for work outside of requests. */
export function unboundedBudget(): RequestBudget {
  return new RequestBudget(unbounded);
}

/** A budget of memory alone, in bytes: for work that a request started and does not wait for. */
export function budgetOfMemory(memory: number): RequestBudget {
  return new RequestBudget({ ...unbounded, memory });
}
