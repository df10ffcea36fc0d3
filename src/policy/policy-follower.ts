import { firstPolicyOf, readingError, type ReadOptions } from './policy-reader.ts';
import { refuseRules } from './rules-check.ts';
import { servedPolicy, type ServedPolicy } from './served-policy.ts';
import type { PolicyReading } from './policy-reading.ts';

/**
 * How long a folder must be unchanged before a policy with fewer restrictions takes effect, in ms: its files
 * may be only partly written.
 */
const LOSS_STILL = 2000;

/** The successive policies of a folder. */
export class PolicyFollower {
  readonly #folder: string;
  readonly #options: ReadOptions;
  /** The one that was loaded last, in force or not. */
  #loaded: ServedPolicy | undefined;

  constructor(folder: string, options: ReadOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** The policy of a folder that had none. @throws PolicyError */
  first(): Promise<ServedPolicy> {
    return firstPolicyOf(this.#folder, this.#options);
  }

  /**
   * The current policy of the folder, or `current` itself if it is unchanged. A number means that the policy
   * takes effect only when the folder has been unchanged for that many ms.
   * @throws PolicyError
   */
  async next(current: ServedPolicy, stillMillis: number): Promise<ServedPolicy | number> {
    const loaded = [current, ...(this.#loaded === undefined ? [] : [this.#loaded])];
    const reading = await this.#options.read({
      folder: this.#folder,
      known: loaded.map(({ snapshot }) => snapshot.digest),
      current: current.texts,
    });
    const policy = await this.#policyOf(reading, loaded);
    this.#loaded = policy;
    if (policy === current) return current;
    const isWhole = reading.kind !== 'refused' && reading.sealed;
    if (!isWhole && stillMillis < LOSS_STILL && policy.since?.losesGuard === true)
      return LOSS_STILL;
    await this.#options.keep?.(policy.texts, policy.snapshot.digest);
    return policy;
  }

  async #policyOf(reading: PolicyReading, loaded: readonly ServedPolicy[]): Promise<ServedPolicy> {
    if (reading.kind === 'refused') throw readingError(reading);
    if (reading.kind === 'known') {
      const known = loaded.find(({ snapshot }) => snapshot.digest === reading.digest);
      if (known === undefined) throw readingError(reading);
      return known;
    }
    const policy = await servedPolicy(reading.policy);
    refuseRules(policy.snapshot, this.#options.check ?? (() => []));
    return policy;
  }
}
