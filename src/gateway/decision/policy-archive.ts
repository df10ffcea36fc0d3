import { archivePolicy, sweepIncomplete } from '../../audit/archived-policies.ts';
import { filesOfPolicy, type PolicyTexts } from '../../policy/policy-folder.ts';

/** Retry interval after a failed write, in milliseconds. */
const RETRY_MILLIS = 5_000;

/**
 * Keeps the texts of every policy that is in force, or tried out, beside the audit
 * log. A disk that takes none does not hold up a policy: what could not be kept is
 * tried again, and `fault` says so meanwhile.
 */
export class PolicyArchive {
  readonly #audit: string;
  readonly #failed: (error: unknown) => void;
  readonly #owed = new Map<string, PolicyTexts>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param audit `<data>/private/audit`.
   * @param failed Called once for each text that could not be stored.
   */
  constructor(audit: string, failed: (error: unknown) => void) {
    this.#audit = audit;
    this.#failed = failed;
  }

  /** Removes incomplete files that crashes left. */
  async sweep(): Promise<void> {
    await sweepIncomplete(this.#audit).catch(this.#failed);
  }

  /** A sentence while the text of a policy is not kept. */
  fault(): string | undefined {
    const [digest] = this.#owed.keys();
    return digest === undefined
      ? undefined
      : `the text of the policy ${digest} could not be archived`;
  }

  /** Resolves when the texts are on stable storage, or could not be written. */
  async keep(texts: PolicyTexts, digest: string): Promise<void> {
    try {
      await archivePolicy(this.#audit, digest, filesOfPolicy(texts));
      this.#owed.delete(digest);
    } catch (error) {
      if (!this.#owed.has(digest)) this.#failed(error);
      this.#owed.set(digest, texts);
      this.#later();
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #later(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#retry(), RETRY_MILLIS).unref();
  }

  async #retry(): Promise<void> {
    for (const [digest, texts] of this.#owed) await this.keep(texts, digest);
  }
}
