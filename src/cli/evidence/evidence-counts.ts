import { administrativeOperations } from '../../audit/record/administrative.ts';
import { reasonOf } from '../../audit/search/report.ts';
import {
  FoundCounts,
  JoinedCounts,
  type RequestCounts,
} from '../../audit/search/request-counts.ts';
import type { FoundRequest } from '../../audit/search/search.ts';
import { operationsOf } from '../../protocol/operations/operations.ts';

/** Different values of a key that are counted one by one. */
const MOST_KEYS = 20_000;
/** The key of all further values. */
export const OTHERS = 'all others';
/** Acts of administrators, and requests without an outcome, that the report lists. */
export const MOST_LISTED = 500;

const HOUR_MILLIS = 3_600_000;

/** Requests that arrived within an hour. */
interface HourCounts {
  allowed: number;
  denied: number;
  others: number;
}

const administrative: ReadonlySet<string | null> = new Set([
  ...administrativeOperations,
  ...operationsOf('manage'),
]);

/** What the report shows of the requests. Its memory has a bound, however many there are. */
export class EvidenceCounts {
  readonly #counts = {
    subjects: new FoundCounts(limited(({ record }) => record.subject)),
    objects: new FoundCounts(limited(({ record }) => record.object)),
    operations: new FoundCounts(limited(({ record }) => record.operation)),
    decisions: new FoundCounts(({ record }) => record.decision),
    uses: new FoundCounts(
      limited(({ record }) => keyText([record.subject, record.operation, record.object])),
    ),
    denials: new FoundCounts(
      limited(({ record }) =>
        keyText([
          record.subject,
          record.operation,
          record.object,
          record.decision,
          record.rule ?? reasonOf(record),
        ]),
      ),
    ),
  };
  /** Hours since 1970. */
  readonly hours = new Map<number, HourCounts>();
  /** The first acts of administrators, and their number. */
  readonly acts: FoundRequest[] = [];
  actCount = 0;
  requests = 0;
  open = 0;

  add(requests: readonly FoundRequest[]): void {
    const { denials, ...all } = this.#counts;
    for (const counts of Object.values(all)) counts.add(requests);
    denials.add(requests.filter(({ record }) => isRefused(record.decision)));
    this.requests += requests.length;
    for (const found of requests) this.#addOne(found);
  }

  #addOne(found: FoundRequest): void {
    const { record, began } = found;
    if (record.phase === 'attempt') this.open += 1;
    const hour = Math.floor(Date.parse(began) / HOUR_MILLIS);
    let counts = this.hours.get(hour);
    if (counts === undefined) {
      this.hours.set(hour, (counts = { allowed: 0, denied: 0, others: 0 }));
    }
    counts[kindOf(record.decision)] += 1;
    if (!administrative.has(record.operation)) return;
    this.actCount += 1;
    if (this.acts.length < MOST_LISTED) this.acts.push(found);
  }

  /** Counts by a key, largest first. Keys of several fields are JSON lists. */
  of(name: 'subjects' | 'objects' | 'operations' | 'decisions' | 'uses' | 'denials') {
    const joined = new JoinedCounts();
    joined.add(this.#counts[name].counts);
    return joined.sorted();
  }
}

/** The fields of a key. */
export function fieldsOf({ key }: RequestCounts): readonly (string | null)[] {
  return key === null || key === OTHERS ? [OTHERS] : (JSON.parse(key) as (string | null)[]);
}

function keyText(fields: readonly (string | null)[]): string {
  return JSON.stringify(fields);
}

function kindOf(decision: string): keyof HourCounts {
  if (decision === 'allow') return 'allowed';
  return isRefused(decision) ? 'denied' : 'others';
}

/** Whether the caller was refused, by the policy or for want of a valid credential. */
function isRefused(decision: string): boolean {
  return decision === 'deny' || decision === 'unauthenticated' || decision === 'refused';
}

function limited(
  keyOf: (found: FoundRequest) => string | null,
): (found: FoundRequest) => string | null {
  const known = new Set<string | null>();
  return (found) => {
    const key = keyOf(found);
    if (known.has(key)) return key;
    if (known.size >= MOST_KEYS) return OTHERS;
    known.add(key);
    return key;
  };
}
