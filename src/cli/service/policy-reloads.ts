import { ActRecords } from '../../audit/record/administrative.ts';
import type { AuditLog } from '../../audit/writer.ts';
import type { PolicyChange } from '../../policy/served-policy.ts';

/** Number of findings that the record of a refused policy names. */
const MAX_FINDINGS = 5;

/** Records that a changed policy came into force, or was refused. */
export class PolicyReloads {
  #log: AuditLog | undefined;
  #inForce: string;

  /** @param first Digest of the policy that is in force at the start. */
  constructor(first: string) {
    this.#inForce = first;
  }

  /** Sets the recorder; nothing changes before that. */
  record(log: AuditLog): void {
    this.#log = log;
  }

  taken(digest: string, change: PolicyChange | undefined): void {
    const details = {
      digest,
      previous: this.#inForce,
      lines_added: String(change?.linesAdded),
      lines_removed: String(change?.linesRemoved),
    };
    this.#inForce = digest;
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
