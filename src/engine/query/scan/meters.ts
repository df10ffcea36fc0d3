/** How many batches of a file are read beyond the one that is waited for: enough to keep a second processor busy. */
export const AHEAD = 2;

/** The same items, each asked for while the one before is being worked on. One item more is held in memory. */
export async function* readAhead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    for (let next = items.next(); ;) {
      const { value, done } = await next;
      if (done === true) return;
      next = items.next();
      // A fault is told when its item is due.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await items.return(undefined);
  }
}

/** The steps of a plan that are measured, in the order of their work. */
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

/** What went through a step. */
interface Passed {
  readonly rowsIn?: number;
  readonly rowsOut?: number;
  readonly batches?: number;
  readonly bytes?: number;
}

/** Is told what the steps of a plan do while it runs. */
export interface Meters {
  /** Does some work, which counts as a step's time. */
  timed<Result>(step: StepName, work: () => Result): Result;
  /** Waits for something, which counts as a step's time. */
  awaited<Result>(step: StepName, result: Promise<Result>): Promise<Result>;
  passed(step: StepName, passed: Passed): void;
}

/** Measures nothing. */
export const noMeters: Meters = {
  timed: (_, work) => work(),
  awaited: (_, result) => result,
  passed: () => undefined,
};

/** What a step did. */
export interface StepCounts extends Required<Passed> {
  readonly millis: number;
}

const nothing: StepCounts = { rowsIn: 0, rowsOut: 0, batches: 0, bytes: 0, millis: 0 };

/** Adds up what each step does. Time that several pieces of a step's work take at once counts for each. */
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

  /** What a step did so far. */
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
