import type { DecidedRequest } from '../../audit/decided/request.ts';
import type { SightChange, SightDirection } from '../../policy/settings/sight.ts';

/** A right that a proposed policy would give or take away. */
interface RightChange {
  readonly subject: string;
  readonly action: string;
  readonly object: string;
  /** The line that decided, and the digest of its policy. */
  readonly was: { readonly rule: string | null; readonly policy: string | null };
  /** The line of the proposed policy that decides, and what it comes to. */
  readonly now: { readonly rule: string | null; readonly reason: string };
  /** Whether the body, which was never read, may ask for more. */
  readonly partly: boolean;
}

/** A difference in what a caller sees of a table whose request both policies allow. */
interface SeenChange extends SightChange {
  readonly subject: string;
  readonly object: string;
}

/** Result of a request under a proposed policy. */
export type Replayed =
  | { readonly kind: 'same' }
  | { readonly kind: 'sees'; readonly changes: readonly SeenChange[] }
  | { readonly kind: 'lose' | 'gain'; readonly change: RightChange }
  | { readonly kind: 'skipped'; readonly why: string };

/** Requests that change in the same way. */
export interface ChangedRequests extends RightChange {
  readonly kind: 'lose' | 'gain';
  readonly requests: number;
  /** Times of the first and the last of them. */
  readonly first: string;
  readonly last: string;
  /** The decision of the last. */
  readonly example: string;
}

/** Requests whose caller would see fewer rows or columns, more, or other ones. */
export interface SeenRequests extends SeenChange {
  readonly requests: number;
  readonly first: string;
  readonly last: string;
  /** The decision of the last. */
  readonly example: string;
}

/** Requests that could not be decided again. */
interface SkippedRequests {
  readonly why: string;
  readonly requests: number;
  readonly example: string;
}

/** Results of a replay so far. */
export class ReplayReport {
  #requests = 0;
  #same = 0;
  readonly #changed = new Map<string, Counted<ChangedRequests>>();
  /** The same by the change itself, which many requests share. */
  readonly #byChange = new WeakMap<RightChange, Counted<ChangedRequests>>();
  readonly #seen = new Map<string, Counted<SeenRequests>>();
  #seeing = 0;
  readonly #skipped = new Map<string, Counted<SkippedRequests>>();

  get requests(): number {
    return this.#requests;
  }

  /** How many were decided as before. */
  get same(): number {
    return this.#same;
  }

  /** Losses first; of each kind what concerns most requests. */
  get changed(): readonly ChangedRequests[] {
    const order = (one: ChangedRequests): number => (one.kind === 'lose' ? 0 : 1);
    return [...this.#changed.values()].sort(
      (one, other) => order(one) - order(other) || other.requests - one.requests,
    );
  }

  /** Differences in what callers see: less first, of each kind what concerns most requests. */
  get seen(): readonly SeenRequests[] {
    const order = ({ direction }: SeenRequests): number => directions.indexOf(direction);
    return [...this.#seen.values()].sort(
      (one, other) => order(one) - order(other) || other.requests - one.requests,
    );
  }

  /** How many requests are allowed by both policies, and would show something else. */
  get seeing(): number {
    return this.#seeing;
  }

  get skipped(): readonly SkippedRequests[] {
    return [...this.#skipped.values()].sort((one, other) => other.requests - one.requests);
  }

  count(kind: 'lose' | 'gain'): number {
    return this.changed.reduce((sum, one) => sum + (one.kind === kind ? one.requests : 0), 0);
  }

  /** The results as plain data. */
  shown(): {
    readonly requests: number;
    readonly same: number;
    readonly lost: number;
    readonly gained: number;
    /** Requests that would see other rows or columns. */
    readonly seeing: number;
    readonly changed: readonly ChangedRequests[];
    readonly seen: readonly SeenRequests[];
    readonly skipped: readonly SkippedRequests[];
  } {
    const { requests, same, changed, seeing, seen, skipped } = this;
    const [lost, gained] = [this.count('lose'), this.count('gain')];
    return { requests, same, lost, gained, seeing, changed, seen, skipped };
  }

  add(replayed: Replayed, request: DecidedRequest): void {
    this.#requests += 1;
    if (replayed.kind === 'same') this.#same += 1;
    else if (replayed.kind === 'skipped') this.#skip(replayed.why, request);
    else if (replayed.kind === 'sees') this.#see(replayed.changes, request);
    else this.#change(replayed.kind, replayed.change, request);
  }

  #skip(why: string, { decisionId }: DecidedRequest): void {
    const cached = this.#skipped.get(why);
    if (cached === undefined)
      this.#skipped.set(why, { why, requests: 1, example: copied(decisionId) });
    else cached.requests += 1;
  }

  #change(kind: 'lose' | 'gain', change: RightChange, { time, decisionId }: DecidedRequest): void {
    count(this.#byChange.get(change) ?? this.#entry(kind, change), { time, decisionId });
  }

  #see(changes: readonly SeenChange[], request: DecidedRequest): void {
    this.#seeing += 1;
    for (const change of changes) {
      const { subject, object, column, was, now } = change;
      const key = JSON.stringify([subject, object, column, was, now]);
      const entry = this.#seen.get(key) ?? {
        ...change,
        requests: 0,
        first: '',
        last: '',
        example: '',
      };
      this.#seen.set(key, entry);
      count(entry, request);
    }
  }

  #entry(kind: 'lose' | 'gain', change: RightChange): Counted<ChangedRequests> {
    const { subject, action, object, was, now } = change;
    const key = JSON.stringify([kind, subject, action, object, was, now.rule]);
    let entry = this.#changed.get(key);
    if (entry === undefined) {
      entry = { ...change, kind, requests: 0, first: '', last: '', example: '' };
      this.#changed.set(key, entry);
    }
    this.#byChange.set(change, entry);
    return entry;
  }
}

const directions: readonly SightDirection[] = ['fewer', 'other', 'more'];

interface Times {
  requests: number;
  first: string;
  last: string;
  example: string;
}

function count(
  entry: Times,
  { time, decisionId }: Pick<DecidedRequest, 'time' | 'decisionId'>,
): void {
  entry.requests += 1;
  if (entry.first === '' || time < entry.first) entry.first = copied(time);
  if (time < entry.last) return;
  entry.last = copied(time);
  entry.example = copied(decisionId);
}

type Counted<Shown> = { -readonly [Key in keyof Shown]: Shown[Key] };

/** A text of its own: a part of a long one would keep all of it in memory. */
function copied(text: string): string {
  return Buffer.from(text).toString();
}
