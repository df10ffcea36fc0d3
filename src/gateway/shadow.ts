import type { Logger } from 'pino';
import type { ShadowVerdict } from '../audit/record.ts';
import type { Circumstances } from '../policy/circumstances.ts';
import type { ShadowSource } from '../policy/shadow-policy.ts';
import type { Principal } from '../protocol/principal.ts';
import type { Outcome } from './outcome.ts';
import { SnapshotPermit } from './permit.ts';
import { Trial } from './trial.ts';

/** A difference of one kind is logged at most so often. */
const PAUSE_MILLIS = 60_000;

/** How many requests a shadow policy would have decided otherwise, since the start. */
export type ShadowCounts = Readonly<Record<ShadowVerdict['decision'], number>>;

/** The policy that is tried out beside the one in force: it is asked about every request, and decides none. */
export class Shadow {
  readonly #source: ShadowSource;
  readonly #log: Logger;
  readonly #counts = { allow: 0, deny: 0 };
  readonly #logged = new Map<ShadowVerdict['decision'], { millis: number; count: number }>();
  #failure: { readonly digest: string; readonly text: string } | undefined;

  constructor(source: ShadowSource, log: Logger) {
    this.#source = source;
    this.#log = log;
  }

  /** How often it would have allowed what was denied, and denied what was allowed. */
  get counts(): ShadowCounts {
    return { ...this.#counts };
  }

  /** Why it is not tried out as its files say, if it is not. */
  fault(): string | undefined {
    const failed = this.#failure;
    const isOfNow = failed !== undefined && failed.digest === this.#source.current()?.digest;
    return this.#source.refused() ?? (isOfNow ? failed.text : undefined);
  }

  /** The trial of a request; undefined where there is no shadow policy. */
  trial(principal: Principal, decisionId: string, circumstances: Circumstances): Trial | undefined {
    const policy = this.#source.current();
    if (policy === undefined) return undefined;
    const permit = new SnapshotPermit(policy, principal, decisionId, circumstances);
    return new Trial(permit, (error) => this.#fail(policy.digest, error));
  }

  /** Counts what it would have decided otherwise, and says so now and then. */
  note({ shadow, known }: Outcome, now: number = performance.now()): void {
    if (shadow === null) return;
    const { decision, rule } = shadow;
    this.#counts[decision] += 1;
    const last = this.#logged.get(decision);
    if (last !== undefined && now - last.millis < PAUSE_MILLIS) return;
    const count = this.#counts[decision];
    this.#logged.set(decision, { millis: now, count });
    this.#log.warn(
      {
        shadow: decision,
        requests: count - (last?.count ?? 0),
        subject: known.principal?.subject,
        operation: known.route?.operation.name,
        rule,
        decisionId: known.decisionId,
      },
      'the shadow policy would have decided otherwise',
    );
  }

  #fail(digest: string, error: unknown): void {
    if (this.#failure?.digest === digest) return;
    const text = `the shadow policy could not be asked: ${String(error)}`;
    this.#failure = { digest, text };
    this.#log.error({ err: error }, 'the shadow policy could not be asked');
  }
}
