import { logStorage } from '../chain/log-files.ts';
import { microsOf } from '../record/time.ts';
import type { LogPart } from '../segments/log-part.ts';

/** Mean size of a record in a file of lines, in bytes. */
const LINE_BYTES = 900;
/** Shortest period of an estimate, in microseconds. */
const LEAST_MICROS = 1_000_000;
/** Halvings of the period that an estimate takes. */
const STEPS = 24;

/** Records of a part, as if they were evenly spread. Times are in microseconds since 1970. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly records: number;
}

/** How many records a log has in a period, estimated from seals and sizes of files alone. */
export class RecordDensity {
  readonly #stretches: readonly Stretch[];
  readonly #first: number;

  constructor(parts: readonly LogPart[]) {
    const stretches: Stretch[] = [];
    for (const part of parts) {
      const before = stretches.at(-1);
      const stretch = part.seal === undefined ? lines(part, before) : segment(part.seal);
      if (stretch !== undefined) stretches.push(stretch);
    }
    this.#stretches = stretches;
    this.#first = stretches.reduce((first, { from }) => Math.min(first, from), Infinity);
  }

  /** A time with about this number of records up to another time; 0 if there are fewer. */
  before(until: bigint, records: number): bigint {
    const end = Number(until);
    if (!(this.#first < end) || this.#count(this.#first, end) <= records) return 0n;
    let [low, high] = [this.#first, end];
    for (let step = 0; step < STEPS; step++) {
      const middle = (low + high) / 2;
      if (this.#count(middle, end) > records) low = middle;
      else high = middle;
    }
    return BigInt(Math.floor(Math.min(low, end - LEAST_MICROS)));
  }

  #count(since: number, until: number): number {
    let count = 0;
    for (const { from, to, records } of this.#stretches) {
      const shared = Math.min(to, until) - Math.max(from, since);
      if (shared > 0) count += records * Math.min(1, shared / (to - from));
    }
    return count;
  }
}

function segment({ from, to, before, after }: NonNullable<LogPart['seal']>): Stretch {
  const [first, last] = [Number(microsOf(from)), Number(microsOf(to))];
  const records = Number(after.count - before.count);
  return { from: first, to: Math.max(last, first + 1), records };
}

/** A file of lines begins where the file before it ends. */
function lines({ file, instance }: LogPart, before: Stretch | undefined): Stretch | undefined {
  const stat = logStorage.stat(file.path);
  if (stat === undefined) return undefined;
  const to = stat.writtenMillis * 1000;
  const from = Math.max(before?.to ?? 0, instanceStart(instance));
  return { from: Math.min(from, to - 1), to, records: stat.bytes / LINE_BYTES };
}

/** Start of an instance by its name, in microseconds since 1970; 0 if the name has none. */
export function instanceStart(instance: string): number {
  const digits = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(instance);
  if (digits === null) return 0;
  const [year = 0, month = 1, day, hour, minute, second] = digits.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second) * 1000;
}
