import { ActRecords } from '../../audit/record/administrative.ts';
import type { AuditLog } from '../../audit/writer.ts';
import { policyDigest, filesOfPolicy, type PolicyTexts } from '../../policy/policy-folder.ts';

/** Number of findings that the record of a refused policy names. */
const MAX_FINDINGS = 5;

/** Records that a changed policy came into force, or was refused. */
export class PolicyReloads {
  #log: AuditLog | undefined;
  #inForce: PolicyTexts;
  /** Texts that were read last, and may come into force. */
  #read: PolicyTexts;

  /** @param first The texts of the policy that is in force at the start. */
  constructor(first: PolicyTexts) {
    this.#inForce = first;
    this.#read = first;
  }

  /** Sets the texts of the policy that comes into force next. */
  read(texts: PolicyTexts): void {
    this.#read = texts;
  }

  /** Sets the recorder; nothing changes before that. */
  record(log: AuditLog): void {
    this.#log = log;
  }

  taken(digest: string): void {
    const [before, now] = [linesOf(this.#inForce), linesOf(this.#read)];
    const details = {
      digest,
      previous: policyDigest(this.#inForce),
      lines_added: String(missingFrom(before, now)),
      lines_removed: String(missingFrom(now, before)),
    };
    this.#inForce = this.#read;
    this.#write(digest, 'done', details);
  }

  /** The last good policy stays in force. */
  refused(findings: readonly string[]): void {
    const shown = findings.slice(0, MAX_FINDINGS).join('\n');
    this.#write(undefined, 'failed', { findings: shown, count: String(findings.length) });
  }

  #write(
    policyDigest: string | undefined,
    end: 'done' | 'failed',
    details: Readonly<Record<string, string>>,
  ): void {
    const operation = 'PolicyReload';
    const records = new ActRecords({ operation, subject: null, details, policyDigest });
    // `healthy` reports failures of the log.
    for (const record of [records.attempt(), records.outcome(end)]) {
      this.#log?.write(record, false)?.catch(() => undefined);
    }
  }
}

/** How often each line stands in the files of a policy; blank ones and comments do not count. */
function linesOf(texts: PolicyTexts): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { name, text } of filesOfPolicy(texts)) {
    for (const line of text.split('\n')) {
      const said = line.trim();
      if (said === '' || said.startsWith('#')) continue;
      const key = `${name}:${said}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}

/** How many lines of the second are not in the first. */
function missingFrom(
  first: ReadonlyMap<string, number>,
  second: ReadonlyMap<string, number>,
): number {
  let missing = 0;
  for (const [line, count] of second) missing += Math.max(0, count - (first.get(line) ?? 0));
  return missing;
}
