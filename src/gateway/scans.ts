import type { OperationName } from '../protocol/operations/operation-name.ts';
import { Throttled, type NamedLimit } from './decision/throttled.ts';
import { advance } from './passage.ts';
import type { Limited } from './decision/steps.ts';

/** The operations that read rows for as long as there are some. */
const SCANS: ReadonlySet<OperationName> = new Set<OperationName>([
  'QueryTable',
  'CountTableRows',
  'AnalyzeTableQueryPlan',
]);

/** Name of the key of the configuration. */
export const SCANS_LIMIT = 'limits.scans';

/** Scans that each subject runs at once in this process (`limits.scans`). */
export class Scans {
  readonly #most: number;
  readonly #running = new Map<string, number>();

  /** @param most How many a subject may run; null for any number. */
  constructor(most: number | null) {
    this.#most = most ?? Infinity;
  }

  /**
   * Counts a scan until the request is released; other requests pass.
   * @throws Throttled when the subject runs as many as it may
   */
  begin(limited: Limited): Limited {
    if (!SCANS.has(limited.route.operation.name)) return limited;
    const { subject } = limited.principal;
    const running = this.#running.get(subject) ?? 0;
    if (running >= this.#most) throw this.#refusal();
    this.#running.set(subject, running + 1);
    const { release } = limited;
    let held = true;
    return advance(limited, {
      release: () => {
        release();
        if (held) this.#end(subject);
        held = false;
      },
    });
  }

  /** The scans of each subject that run now, of how many; none are counted where any number may run. */
  used(): readonly { readonly subject: string; readonly running: number; readonly most: number }[] {
    if (this.#most === Infinity) return [];
    return [...this.#running].map(([subject, running]) => ({ subject, running, most: this.#most }));
  }

  #end(subject: string): void {
    const left = (this.#running.get(subject) ?? 0) - 1;
    if (left > 0) this.#running.set(subject, left);
    else this.#running.delete(subject);
  }

  #refusal(): Throttled {
    const limit: NamedLimit = {
      name: SCANS_LIMIT,
      per: 'subject',
      rate: null,
      concurrency: this.#most,
    };
    const reading = { waitMicros: 0, left: null, fullMicros: 0, slotsLeft: 0, busy: true };
    return new Throttled([{ limit, reading }]);
  }
}
