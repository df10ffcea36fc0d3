import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashChain } from '../../../src/audit/chain/hash-chain.ts';
import { recordText } from '../../../src/audit/record/encoding.ts';
import { decodeRecord, RecordFault } from '../../../src/audit/record/decoding.ts';
import type { AuditRecord } from '../../../src/audit/record/record.ts';
import { record } from '../records.ts';

/** The line of the only record of a log, as the seventh. */
function lineOf(given: AuditRecord): string {
  const chain = new HashChain('20260131T235959Z-9f86d081', () => undefined);
  return Buffer.from(chain.frame(7n, [{ bytes: recordText(given) }])).toString();
}

function hashIn(line: string): string {
  return line.slice(-46, -3);
}

const outcome = record('r1', {
  phase: 'outcome',
  duration_us: 1234n,
  decision_id: 'd1',
  principal: {
    subject: 'user:ann',
    groups: ['group:data'],
    roles: ['role:loader'],
    scopes: [{ action: 'append', pattern: '/prod/**' }],
  },
  subject: 'user:ann',
  credential: 'k1',
  user_agent: 'LanceDB-Rust-Client/0.31',
  operation: 'InsertIntoTable',
  objects: ['/prod/b'],
  mode: 'append',
  branch: 'main',
  rule: 'policy.csv:12',
  policy_digest: 'abc',
  rights: [{ action: 'schema', branch: 'dev', objects: ['/prod/orders', '/prod/b'] }],
  shadow: { decision: 'deny', rule: 'policy.csv:3', policy_digest: 'def' },
  status: 200,
  bytes_in: 2n ** 63n - 1n,
  bytes_out: 0n,
  context: { team: 'west', note: 'say "hi"\n' },
  commit: {
    kind: 'append',
    baseVersion: null,
    version: 2n ** 64n - 1n,
    rowsAdded: 9007199254740993n,
    rowsRemoved: 0n,
    schemaChanged: false,
    rules: ['small'],
  },
});

describe('the line of a record', () => {
  it('has every field, in one order, with integers of any size', () => {
    const line = lineOf(outcome);
    expect(line).toBe(
      '{"instance":"20260131T235959Z-9f86d081","sequence":7,"phase":"outcome","time":"2026-01-31T23:59:59.000001Z",' +
        '"duration_us":1234,"request_id":"r1","decision_id":"d1",' +
        '"principal":{"subject":"user:ann","groups":["group:data"],"roles":["role:loader"],"scopes":[{"action":"append","pattern":"/prod/**"}]},' +
        '"subject":"user:ann","credential":"k1","source_ip":"127.0.0.1","user_agent":"LanceDB-Rust-Client/0.31",' +
        '"operation":"InsertIntoTable","object":"/prod/orders","objects":["/prod/b"],"mode":"append","branch":"main",' +
        '"backend":"embedded","decision":"allow","rule":"policy.csv:12","policy_digest":"abc",' +
        '"rights":[{"action":"schema","branch":"dev","objects":["/prod/orders","/prod/b"]}],' +
        '"shadow":{"decision":"deny","rule":"policy.csv:3","policy_digest":"def"},"status":200,"code":null,' +
        '"bytes_in":9223372036854775807,"bytes_out":0,"context":{"team":"west","note":"say \\"hi\\"\\n"},' +
        '"commit":{"kind":"append","base_version":null,"version":18446744073709551615,"rows_added":9007199254740993,' +
        '"rows_removed":0,"schema_changed":false,"rules":["small"]},' +
        `"hash":"${hashIn(line)}"}\n`,
    );
    expect(hashIn(line)).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it('names what is absent as null, so that every line has the same fields', () => {
    const names = (line: string): readonly string[] => Object.keys(JSON.parse(line));
    expect(names(lineOf(record('r1')))).toEqual(names(lineOf(outcome)));
    expect(JSON.parse(lineOf(record('r1')))).toMatchObject({
      duration_us: null,
      objects: [],
      rights: [],
      shadow: null,
      status: null,
      commit: null,
    });
  });

  it('is the same whoever asked before', () => {
    const names = fc.constantFrom('a', 'b', null);
    const principal = { subject: 'user:a', groups: [], roles: [] };
    const others = { ...principal, roles: ['role:r'] };
    const fields = fc.record({
      phase: fc.constantFrom('attempt' as const, 'outcome' as const),
      principal: fc.constantFrom(principal, others, null),
      subject: names,
      credential: names,
      source_ip: names,
      user_agent: names,
      operation: names,
      object: names,
      objects: fc.constantFrom([], ['/x'], ['/x', '/y']),
      mode: names,
      branch: names,
      decision: fc.constantFrom('allow' as const, 'deny' as const),
      rule: names,
      policy_digest: names,
      status: fc.constantFrom(200, 404, null),
      bytes_in: fc.constantFrom(3, 4n, null),
    });
    fc.assert(
      fc.property(fc.array(fields, { maxLength: 12 }), (all) => {
        for (const each of all) {
          const given = record('r', each);
          const { bytes_in, ...plain } = given;
          const read = decodeRecord(lineOf(given));
          expect(read).toMatchObject(plain);
          expect(read.bytes_in).toBe(bytes_in === null ? null : BigInt(bytes_in ?? 0));
        }
      }),
    );
  });

  it('cuts the user agent after 256 characters', () => {
    const line = lineOf(record('r1', { user_agent: 'x'.repeat(300) }));
    expect(decodeRecord(line).user_agent).toBe('x'.repeat(256));
  });

  it('is one line, and is read back as it was', () => {
    const text = fc.string({ unit: 'binary' });
    const integer = fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), { nil: null });
    const records = fc.record({
      request_id: text,
      subject: fc.option(text, { nil: null }),
      duration_us: integer,
      bytes_in: integer,
      objects: fc.array(text),
      context: fc.dictionary(text, text, { noNullPrototype: true }),
    });
    fc.assert(
      fc.property(records, (fields) => {
        const given = record('r1', fields);
        const line = lineOf(given);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(decodeRecord(line)).toMatchObject({ ...given, context: { ...given.context } });
      }),
    );
    expect(decodeRecord(lineOf(outcome))).toEqual({
      ...outcome,
      instance: '20260131T235959Z-9f86d081',
      sequence: 7n,
      code: null,
      restrictions: [],
      read: null,
      vended: null,
      hash: hashIn(lineOf(outcome)),
    });
  });

  it('ends with restrictions and what was read, where there are any', () => {
    const read = { columns: ['id', 'say "hi"'], rows: 2n ** 60n, version: 2n ** 64n - 1n };
    const bound = lineOf(
      record('r1', { restrictions: ['own', 'all'], read: { ...read, filter: 'abc' } }),
    );
    expect(bound).toContain(
      '"commit":null,"restrictions":["own","all"],' +
        '"read":{"columns":["id","say \\"hi\\""],"rows":1152921504606846976,"version":18446744073709551615,"filter":"abc"},"hash":',
    );
    const plain = record('r1', { read: { columns: [], rows: 0n, version: 1n, filter: null } });
    for (const [line, given] of [
      [bound, { restrictions: ['own', 'all'], read: { ...read, filter: 'abc' } }],
      [lineOf(plain), { restrictions: [], read: plain.read }],
    ] as const) {
      expect(decodeRecord(line)).toMatchObject(given);
    }
  });

  it('ends with credentials that the caller got', () => {
    for (const until of ['2026-11-24T00:00:00.000Z', null]) {
      const vended = { prefix: 's3://lake/a "b"', access: 'read', until };
      const line = lineOf(record('r1', { vended }));
      expect(line).toContain(`"commit":null,"vended":${JSON.stringify(vended)},"hash":`);
      expect(decodeRecord(line)).toMatchObject({ restrictions: [], read: null, vended });
    }
  });
});

describe('a line that is no record', () => {
  const line = lineOf(outcome);
  const refusals: readonly [string, string, string][] = [
    ['torn', line.slice(0, 40), 'the line is not JSON'],
    ['empty', '', 'the line is not JSON'],
    ['a list', '[]', 'the line is not a JSON object'],
    [
      'of another version',
      line.replace('"rights":', '"duties":'),
      'an audit record has no field "rights": another version of the program wrote it, and this one cannot read it',
    ],
    [
      'without a field',
      line.replace('"request_id":"r1",', ''),
      'the field "request_id" of an audit record is not a text',
    ],
    [
      'with an unknown phase',
      line.replace('"outcome"', '"middle"'),
      'the field "phase" of an audit record is not attempt, outcome',
    ],
    [
      'with a fraction of a row',
      line.replace('"rows_removed":0', '"rows_removed":0.5'),
      'the field "rows_removed" of an audit record is not an integer',
    ],
    [
      'with a number among texts',
      line.replace('["/prod/b"]', '[1]'),
      'the field "objects" of an audit record is not a list of texts',
    ],
    [
      'with a text for a principal',
      line.replace(/"principal":\{.*?\]\}/, '"principal":"ann"'),
      'the field "principal" of an audit record is not an object',
    ],
  ];

  it.each(refusals)('%s is refused', (_, text, message) => {
    expect(() => decodeRecord(text)).toThrow(new RecordFault(message));
  });
});
