import { stat } from 'node:fs/promises';
import { archivedPolicy } from '../../audit/archived-policies.ts';
import { buildPolicy, type LoadedPolicy } from '../../policy/load.ts';
import { ArchivedPolicyError, PolicyError } from '../../policy/lines/policy-error.ts';
import { policyDigest, readPolicyTexts } from '../../policy/policy-folder.ts';

const DIGEST = /^[0-9a-f]{64}$/;

/** Policies that were in force before, as their texts were kept beside the audit log. */
export class PoliciesBefore {
  readonly #audit: string;
  readonly #loaded = new Map<string, Promise<LoadedPolicy | undefined>>();

  /** @param audit `<data>/private/audit`. */
  constructor(audit: string) {
    this.#audit = audit;
  }

  /**
   * The policy of a digest; undefined where it was not kept, or is one that this version does
   * not understand.
   * @throws ArchivedPolicyError when its text was changed.
   */
  of(digest: string): Promise<LoadedPolicy | undefined> {
    let loaded = this.#loaded.get(digest);
    if (loaded === undefined) this.#loaded.set(digest, (loaded = this.#load(digest)));
    return loaded;
  }

  async #load(digest: string): Promise<LoadedPolicy | undefined> {
    const folder = archivedPolicy(this.#audit, digest);
    if (!DIGEST.test(digest) || !(await exists(folder))) return undefined;
    try {
      const texts = await readPolicyTexts(folder);
      if (policyDigest(texts) === digest) return await buildPolicy(texts);
    } catch (error) {
      if (error instanceof PolicyError) return undefined;
      throw error;
    }
    throw new ArchivedPolicyError(`${folder} does not hold the policy any more that its name says`);
  }
}

async function exists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}
