import type { AuditRecord, LoggedRecord } from '../../src/audit/record/record.ts';
import { readRecords } from './log-records.ts';

/** A record that says what its id says. */
export function record(id: string, more: Partial<AuditRecord> = {}): AuditRecord {
  return {
    phase: 'attempt',
    time: '2026-01-31T23:59:59.000001Z',
    request_id: id,
    decision_id: id,
    principal: null,
    subject: null,
    credential: null,
    source_ip: '127.0.0.1',
    user_agent: null,
    operation: 'DescribeTable',
    object: '/prod/orders',
    mode: null,
    branch: null,
    backend: 'embedded',
    decision: 'allow',
    rule: null,
    policy_digest: null,
    context: {},
    ...more,
  };
}

/** Everything in an audit folder. */
export async function readAll(folder: string): Promise<readonly LoggedRecord[]> {
  const records: LoggedRecord[] = [];
  for await (const each of readRecords(folder)) records.push(each);
  return records;
}
