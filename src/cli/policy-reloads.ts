import { ActRecords } from '../audit/administrative.ts';
import type { AuditLog } from '../audit/writer.ts';

/** A record names so many of the findings that a policy was refused for. */
const MAX_FINDINGS = 5;

/** Records that a changed policy came into force, or was refused. */
export class PolicyReloads {
  #log: AuditLog | undefined;

  /** Says where; before that nothing changes yet. */
  record(log: AuditLog): void {
    this.#log = log;
  }

  taken(digest: string): void {
    this.#write(digest, 'done', {});
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
    // Who looks after the log is told of its failures by `healthy`.
    for (const record of [records.attempt(), records.outcome(end)]) {
      this.#log?.write(record, false)?.catch(() => undefined);
    }
  }
}
