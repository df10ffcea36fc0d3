import { losesGuard } from './guards.ts';
import { reloadPolicy, type LoadedPolicy, type LoadOptions } from './load.ts';

/**
 * How long a folder must be unchanged before a policy with fewer restrictions takes effect, in ms: its files
 * may be only partly written.
 */
const LOSS_STILL = 2000;

/** The successive policies of a folder. */
export class PolicyFollower {
  readonly #folder: string;
  readonly #options: LoadOptions;
  /** The one that was loaded last, in force or not. */
  #loaded: LoadedPolicy | undefined;

  constructor(folder: string, options: LoadOptions = {}) {
    this.#folder = folder;
    this.#options = options;
  }

  /**
   * The current policy of the folder, or `current` itself if it is unchanged. A number means that the policy
   * takes effect only when the folder has been unchanged for that many ms.
   * @throws PolicyError
   */
  async next(current: LoadedPolicy, stillMillis: number): Promise<LoadedPolicy | number> {
    const loaded = [current, ...(this.#loaded === undefined ? [] : [this.#loaded])];
    const { policy, sealed } = await reloadPolicy(this.#folder, loaded, this.#options);
    this.#loaded = policy;
    if (policy === current) return current;
    const waits = !sealed && stillMillis < LOSS_STILL && losesGuard(current.guards, policy.guards);
    if (waits) return LOSS_STILL;
    await this.#options.keep?.(policy.texts);
    return policy;
  }
}
