import type { Logger } from 'pino';
import { allowedByPolicy, type ShadowVerdict, type Decision } from '../audit/record/record.ts';
import type { Circumstances } from '../policy/conditions/circumstances.ts';
import type { ShadowSource } from '../policy/shadow-policy.ts';
import { directionOf, sightChanges, type SightChange } from '../policy/settings/sight.ts';
import type { WrittenRestriction } from '../policy/settings/restrictions.ts';
import type { Principal } from '../protocol/principal.ts';
import type { RequestOutcome } from './outcome.ts';
import {
  SnapshotPermit,
  type RestrictedRequest,
  judgeNeed,
  type PolicyTrial,
} from './decision/permit.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operations/operation.ts';
import type { Need } from './decision/known-route.ts';

/** The decision of the shadow policy on one request. */
class Trial implements PolicyTrial {
  readonly #permit: SnapshotPermit;
  readonly #failed: (error: unknown) => void;
  /** The first verdict; that of the refusal, once there is one. Undefined while nothing was judged. */
  #found: { readonly allowed: boolean; readonly rule: string | null } | undefined;
  #broken = false;

  /** @param permit Of the policy that is tried out. */
  constructor(permit: SnapshotPermit, failed: (error: unknown) => void) {
    this.#permit = permit;
    this.#failed = failed;
  }

  /** Judges what the route shows. */
  judge(needs: readonly Need[]): void {
    for (const need of needs) {
      this.#add(() => {
        const { enough, rule } = judgeNeed(need, this.#permit);
        return { allowed: enough, rule };
      });
    }
  }

  ask(action: Action, object: ObjectPath, branch?: string): void {
    this.#add(() => this.#permit.verdict(action, object, branch));
  }

  difference(decided: Decision, bound: readonly WrittenRestriction[]): ShadowVerdict | null {
    if (this.#found === undefined || this.#broken) return null;
    if (!allowedByPolicy(decided) && decided !== 'deny') return null;
    const { allowed, rule } = this.#found;
    const decision = allowed ? 'allow' : 'deny';
    const { policyDigest: policy_digest } = this.#permit;
    if (allowed !== allowedByPolicy(decided)) return { decision, rule, policy_digest };
    if (!allowed) return null;
    const changes = sightChanges(bound, this.#permit.restrictions);
    const direction = directionOf(changes);
    if (direction === undefined) return null;
    return { decision: direction, rule: ruleOf(changes), policy_digest };
  }

  /** An error of the shadow policy must not reach the request. */
  #add(judged: () => { readonly allowed: boolean; readonly rule: string | null }): void {
    if (this.#broken || this.#found?.allowed === false) return;
    try {
      const { allowed, rule } = judged();
      if (this.#found === undefined || !allowed) this.#found = { allowed, rule };
    } catch (error) {
      this.#broken = true;
      this.#failed(error);
    }
  }
}

/** The first restriction of the shadow policy that makes a difference; null if only other ones are missing. */
function ruleOf(changes: readonly SightChange[]): string | null {
  return changes.find(({ rule }) => rule !== null)?.rule ?? null;
}

/** Minimum interval between log lines about one kind of difference, in ms. */
const PAUSE_MILLIS = 60_000;

/** How many requests a shadow policy would have decided otherwise, since the start. */
type ShadowCounts = Readonly<Record<ShadowVerdict['decision'], number>>;

/** The policy that is tried out beside the one in force: it judges every request and decides none. */
export class Shadow {
  readonly #source: ShadowSource;
  readonly #log: Logger;
  readonly #counts = { allow: 0, deny: 0, fewer: 0, more: 0, other: 0 };
  readonly #logged = new Map<ShadowVerdict['decision'], { millis: number; count: number }>();
  #failure: { readonly digest: string; readonly text: string } | undefined;

  constructor(source: ShadowSource, log: Logger) {
    this.#source = source;
    this.#log = log;
  }

  /** How often it would have allowed what was denied, denied what was allowed, and shown other rows or columns. */
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
  trial(
    principal: Principal,
    decisionId: string,
    circumstances: Circumstances,
    request: RestrictedRequest,
  ): Trial | undefined {
    const policy = this.#source.current();
    if (policy === undefined) return undefined;
    const permit = new SnapshotPermit(policy, principal, decisionId, circumstances, request);
    return new Trial(permit, (error) => this.#fail(policy.digest, error));
  }

  /** Counts decisions that the shadow policy would change, and logs them at intervals. */
  note({ shadow, request }: RequestOutcome, now: number = performance.now()): void {
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
        subject: request.principal?.subject,
        operation: request.route?.operation.name,
        rule,
        decisionId: request.decisionId,
      },
      'the shadow policy decides differently',
    );
  }

  #fail(digest: string, error: unknown): void {
    if (this.#failure?.digest === digest) return;
    const text = `the shadow policy failed: ${String(error)}`;
    this.#failure = { digest, text };
    this.#log.error({ err: error }, 'the shadow policy failed');
  }
}
