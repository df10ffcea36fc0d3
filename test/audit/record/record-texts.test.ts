import { Schema } from 'apache-arrow';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { batchOfRecords, recordFields } from '../../../src/audit/record/columns.ts';
import { recordPrefix, recordText } from '../../../src/audit/record/encoding.ts';
import type { LoggedRecord } from '../../../src/audit/record/record.ts';
import { RecordTexts } from '../../../src/audit/record/record-texts.ts';
import { record } from '../records.ts';

const schema = new Schema([...recordFields]);
const word = (...words: readonly string[]) => fc.constantFrom(null, ...words);

/** Few values: rows share some columns with others, and differ in one or in all. */
const request = fc.record({
  phase: fc.constantFrom('attempt' as const, 'outcome' as const),
  principal: fc.option(
    fc.record({
      subject: fc.constantFrom('user:a', 'user:ä'),
      groups: fc.subarray(['group:x', 'group:"y"']),
      roles: fc.subarray(['role:r']),
      scopes: fc.option(fc.constant([{ action: 'read', pattern: '/**' }]), { nil: null }),
    }),
    { nil: null },
  ),
  subject: word('user:a', 'user:ä'),
  credential: word('k1', 'k2'),
  source_ip: word('127.0.0.1'),
  user_agent: word('a "client"', 'another'),
  operation: word('DescribeTable', 'QueryTable'),
  object: fc.nat({ max: 600 }).map((at) => `/t/${at}`),
  mode: word('create'),
  branch: word('main', 'other'),
  backend: word('embedded'),
  decision: fc.constantFrom('allow' as const, 'deny' as const),
  rule: word('policy.csv:1', 'policy.csv:2'),
  policy_digest: word('d1', 'd2'),
  status: fc.constantFrom(null, 200, 403),
  bytes_out: fc.constantFrom(null, 0n, 2n ** 60n),
  context: fc.constantFrom({}, { team: 'loaders' }),
});

function logged(fields: Partial<LoggedRecord>, at: number): LoggedRecord {
  const absent = { objects: [], rights: [], shadow: null, duration_us: null, status: null };
  const rest = { code: null, bytes_in: null, bytes_out: null, commit: null };
  const last = { restrictions: [], read: null, vended: null, canary: null };
  const place = {
    instance: at % 3 === 0 ? 'i' : 'ä"',
    sequence: 2n ** 53n + BigInt(at),
    hash: 'h',
  };
  return { ...absent, ...rest, ...last, ...record(`r${at}`), ...place, ...fields } as LoggedRecord;
}

function lineOf(logged: LoggedRecord): string {
  return recordPrefix(logged.instance, logged.sequence) + recordText(logged);
}

function expectLines(records: readonly LoggedRecord[]): void {
  const texts = new RecordTexts(batchOfRecords(schema, records));
  expect(records.map((_, row) => texts.place(row) + texts.at(row))).toEqual(records.map(lineOf));
}

it('are those of the records, whatever requests share', () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 1500, size: 'max' }), (requests) => {
      expectLines(requests.map(logged));
    }),
    { numRuns: 20 },
  );
});

it('differ for each caller where all other words are the same', () => {
  const principals = Array.from({ length: 700 }, (_, at) => ({
    subject: `user:u${at % 350}`,
    groups: at < 350 ? [] : ['group:x'],
    roles: [],
    scopes: null,
  }));
  expectLines([...principals, ...principals].map((principal, at) => logged({ principal }, at)));
});
