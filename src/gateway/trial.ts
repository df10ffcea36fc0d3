import { allowedByPolicy, type Decision, type ShadowVerdict } from '../audit/record.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import { judgeNeed } from './need-verdict.ts';
import type { Need } from './known-route.ts';
import type { PolicyTrial, SnapshotPermit } from './permit.ts';

/** What a policy that is only tried out would have decided about one request. */
export class Trial implements PolicyTrial {
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

  difference(decided: Decision): ShadowVerdict | null {
    if (this.#found === undefined || this.#broken) return null;
    if (!allowedByPolicy(decided) && decided !== 'deny') return null;
    const { allowed, rule } = this.#found;
    const decision = allowed ? 'allow' : 'deny';
    if (allowed === allowedByPolicy(decided)) return null;
    return { decision, rule, policy_digest: this.#permit.policyDigest };
  }

  /** Whatever goes wrong here must not reach the request. */
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
