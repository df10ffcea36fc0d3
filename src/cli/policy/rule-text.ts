import { archivedPolicy } from '../../audit/archived-policies.ts';
import { PolicyError } from '../../policy/lines/policy-error.ts';
import { filesOfPolicy, readPolicyTexts, type PolicyTexts } from '../../policy/policy-folder.ts';

const DIGEST = /^[0-9a-f]{64}$/;
const RULE = /^([a-z]+\.[a-z]+):([1-9]\d*)$/;

/** The lines that decided, as they were written in the archived policy of a digest. */
export class RuleTexts {
  readonly #audit: string;
  readonly #read = new Map<string, Promise<PolicyTexts | undefined>>();

  /** @param audit `<data>/private/audit`. */
  constructor(audit: string) {
    this.#audit = audit;
  }

  /** The text of a rule (`file:line`); null if it names no line, or the policy was not archived. */
  async of(digest: string | null, rule: string | null): Promise<string | null> {
    const [, file, number] = RULE.exec(rule ?? '') ?? [];
    if (digest === null || file === undefined) return null;
    const texts = await this.#textsOf(digest);
    const found = texts && filesOfPolicy(texts).find(({ name }) => name === file);
    return found?.text.split('\n')[Number(number) - 1]?.trim() ?? null;
  }

  #textsOf(digest: string): Promise<PolicyTexts | undefined> {
    let read = this.#read.get(digest);
    if (read === undefined) this.#read.set(digest, (read = archivedTexts(this.#audit, digest)));
    return read;
  }
}

/** The texts of an archived policy; undefined if it is not there, or cannot be read. */
export async function archivedTexts(
  audit: string,
  digest: string,
): Promise<PolicyTexts | undefined> {
  if (!DIGEST.test(digest)) return undefined;
  try {
    return await readPolicyTexts(archivedPolicy(audit, digest));
  } catch (error) {
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
}
