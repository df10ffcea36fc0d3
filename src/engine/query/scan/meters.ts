/** Number of batches read ahead: enough to keep a second processor busy. */
export const AHEAD = 2;

/** Requests each item while the previous one is processed. Holds one more item in memory. */
export async function* readAhead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    for (let next = items.next(); ;) {
      const { value, done } = await next;
      if (done === true) return;
      next = items.next();
      // An error is thrown when its item is due.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await items.return(undefined);
  }
}

/** Measured steps of a plan, in order. */
export type StepName =
  | 'index'
  | 'scan'
  | 'filter'
  | 'read'
  | 'search'
  | 'filter behind'
  | 'sort'
  | 'window'
  | 'project';

/** Volume of a step. */
interface Passed {
  readonly rowsIn?: number;
  readonly rowsOut?: number;
  readonly batches?: number;
  readonly bytes?: number;
}

/** Measures the steps of a running plan. */
export interface Meters {
  /** Runs a function and adds its time to a step. */
  timed<Result>(step: StepName, work: () => Result): Result;
  /** Awaits a promise and adds the time to a step. */
  awaited<Result>(step: StepName, result: Promise<Result>): Promise<Result>;
  passed(step: StepName, passed: Passed): void;
}

/** Measures nothing. */
export const noMeters: Meters = {
  timed: (_, work) => work(),
  awaited: (_, result) => result,
  passed: () => undefined,
};

/** Totals of a step. */
export interface StepCounts extends Required<Passed> {
  readonly millis: number;
}

const nothing: StepCounts = { rowsIn: 0, rowsOut: 0, batches: 0, bytes: 0, millis: 0 };

/** Sums up the work of each step. Concurrent parts of a step each count with their time. */
export class CountingMeters implements Meters {
  readonly #counts = new Map<StepName, StepCounts>();

  timed<Result>(step: StepName, work: () => Result): Result {
    const start = performance.now();
    try {
      return work();
    } finally {
      this.#add(step, { millis: performance.now() - start });
    }
  }

  async awaited<Result>(step: StepName, result: Promise<Result>): Promise<Result> {
    const start = performance.now();
    try {
      return await result;
    } finally {
      this.#add(step, { millis: performance.now() - start });
    }
  }

  passed(step: StepName, passed: Passed): void {
    this.#add(step, passed);
  }

  /** Totals of a step so far. */
  of(step: StepName): StepCounts {
    return this.#counts.get(step) ?? nothing;
  }

  #add(step: StepName, more: Partial<StepCounts>): void {
    const { rowsIn, rowsOut, batches, bytes, millis } = this.of(step);
    this.#counts.set(step, {
      rowsIn: rowsIn + (more.rowsIn ?? 0),
      rowsOut: rowsOut + (more.rowsOut ?? 0),
      batches: batches + (more.batches ?? 0),
      bytes: bytes + (more.bytes ?? 0),
      millis: millis + (more.millis ?? 0),
    });
  }
}
