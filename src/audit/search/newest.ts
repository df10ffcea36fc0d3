import { microsOf } from '../record/time.ts';
import { logPartsOf, type LogPart } from '../segments/log-part.ts';
import { instanceStart, RecordDensity } from './record-density.ts';
import type { RequestFilter } from './filter.ts';
import { withMarks } from './review-marks.ts';
import { searchRequests, type FoundRequest } from './search.ts';

/** Records of the period that is searched first, about; each further one has more by the factor. */
const FIRST_RECORDS = 512;
const FACTOR = 4;

/** A place in the order of requests, newest first. */
export interface RequestPlace {
  /** Arrival, in microseconds since 1970. */
  readonly began: bigint;
  readonly decisionId: string;
}

/** Some requests of a filter, newest first. */
export interface NewestRequests {
  readonly requests: readonly FoundRequest[];
  /** Whether there are older ones. */
  readonly more: boolean;
}

interface NewestOptions {
  /** Maximum number of requests. */
  readonly limit: number;
  /** Only requests behind this place. */
  readonly after?: RequestPlace | undefined;
  /** Decision that is left out: that of the request that searches. */
  readonly except?: string | undefined;
}

/**
 * The newest requests of a filter by their arrival. Searches backwards in periods of more and more records, so that
 * what is new is found without reading the whole log; holds a few pages of requests at most.
 * @throws as `searchRequests` does
 */
export async function newestRequests(
  folder: string,
  typed: RequestFilter,
  { limit, after, except }: NewestOptions,
): Promise<NewestRequests> {
  const filter = await withMarks(folder, typed);
  const page = new NewestPage(limit, after, except);
  const parts = await logPartsOf(folder);
  const oldest = greatest(filter.since, startOf(parts));
  const density = new RecordDensity(parts);
  const now = BigInt(Date.now() + 60_000) * 1000n;
  let until = least(least(filter.until, after && after.began + 1n), now)!;
  for (let records = FIRST_RECORDS; until > oldest && !page.isFull; records *= FACTOR) {
    const since = greatest(oldest, density.before(until, records));
    for await (const found of searchRequests(folder, { ...filter, since, until })) page.add(found);
    until = since;
  }
  return page.result();
}

/** Collects the newest requests of any number. */
class NewestPage {
  readonly #limit: number;
  readonly #after: RequestPlace | undefined;
  readonly #except: string | undefined;
  #found: FoundRequest[] = [];

  constructor(limit: number, after: RequestPlace | undefined, except: string | undefined) {
    this.#limit = limit;
    this.#after = after;
    this.#except = except;
  }

  get isFull(): boolean {
    this.#cut();
    return this.#found.length > this.#limit;
  }

  add(found: readonly FoundRequest[]): void {
    this.#found.push(...found.filter((each) => this.#isMeant(each)));
    if (this.#found.length > 4 * this.#limit) this.#cut();
  }

  result(): NewestRequests {
    const more = this.isFull;
    return { requests: this.#found.slice(0, this.#limit), more };
  }

  #isMeant({ record, began }: FoundRequest): boolean {
    if (record.decision_id === this.#except) return false;
    if (this.#after === undefined) return true;
    const micros = microsOf(began);
    return micros === this.#after.began
      ? record.decision_id < this.#after.decisionId
      : micros < this.#after.began;
  }

  #cut(): void {
    this.#found = this.#found.sort(newestFirst).slice(0, this.#limit + 1);
  }
}

function newestFirst(one: FoundRequest, other: FoundRequest): number {
  if (one.began !== other.began) return one.began < other.began ? 1 : -1;
  const [id, otherId] = [one.record.decision_id, other.record.decision_id];
  return id < otherId ? 1 : -1;
}

/** An administrative act or a request may have begun before its instance, by less than this. */
const EARLIER_MICROS = 86_400_000_000n;

/** A time before every request of a log; instances are named after their start. */
function startOf(parts: readonly LogPart[]): bigint {
  if (parts.length === 0) return 0n;
  const first = Math.min(...parts.map(({ instance }) => instanceStart(instance)));
  return greatest(0n, BigInt(first) - EARLIER_MICROS);
}

function greatest(one: bigint | undefined, other: bigint): bigint {
  return one === undefined || one < other ? other : one;
}

function least(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}
