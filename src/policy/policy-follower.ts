import { losesGuard } from './guards.ts';
import { reloadPolicy, type LoadedPolicy, type LoadOptions } from './load.ts';

/**
 * How long a folder has to be unchanged before a policy is taken that lacks something which kept
 * something out, in milliseconds: it may be the first half of one that is being written.
 */
const LOSS_STILL = 2000;

/** The policies that a folder comes to, one after the other. */
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
   * The policy of the folder now: `current` itself if nothing is different. Instead, for how many
   * ms the folder has to be still before its policy is taken.
   * @throws PolicyError
   */
  async next(current: LoadedPolicy, stillMillis: number): Promise<LoadedPolicy | number> {
    const known = [current, ...(this.#loaded === undefined ? [] : [this.#loaded])];
    const { policy, sealed } = await reloadPolicy(this.#folder, known, this.#options);
    this.#loaded = policy;
    if (policy === current) return current;
    const waits = !sealed && stillMillis < LOSS_STILL && losesGuard(current.guards, policy.guards);
    if (waits) return LOSS_STILL;
    await this.#options.keep?.(policy.texts);
    return policy;
  }
}
