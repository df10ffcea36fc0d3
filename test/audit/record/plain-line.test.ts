import { describe, expect, it } from 'vitest';
import { decodeRecord } from '../../../src/audit/record/decoding.ts';

const PRINCIPAL =
  '{"subject":"user:ann","groups":["group:a"],"roles":[],"scopes":[{"action":"read","pattern":"/a/**"}]}';

/** The line of a read, with some of its fields said otherwise. */
function lineOf(other: Readonly<Record<string, string>> = {}): string {
  const fields = {
    instance: '"20260131T235959Z-9f86d081"',
    sequence: '7',
    phase: '"outcome"',
    time: '"2026-01-31T23:59:59.000001Z"',
    duration_us: '120',
    request_id: '"r1"',
    decision_id: '"d1"',
    principal: PRINCIPAL,
    subject: '"user:ann"',
    credential: '"k1"',
    source_ip: '"127.0.0.1"',
    user_agent: 'null',
    operation: '"DescribeTable"',
    object: '"/a/b"',
    objects: '[]',
    mode: 'null',
    branch: 'null',
    backend: '"embedded"',
    decision: '"allow"',
    rule: '"policy.csv:12"',
    policy_digest: '"abc"',
    rights: '[]',
    shadow: 'null',
    status: '200',
    code: 'null',
    bytes_in: '2',
    bytes_out: '811',
    context: '{}',
    commit: 'null',
    ...other,
    hash: other['hash'] ?? '"h"',
  };
  const said = Object.entries(fields).map(([name, value]) => `"${name}":${value}`);
  return `{${said.join(',')}}`;
}

/** The same line with a space, as this program writes none: it is read as any JSON is. */
const spaced = (line: string): string => line.replace('{', '{ ');

function resultOf(line: string): unknown {
  try {
    return decodeRecord(line);
  } catch (error) {
    return String(error);
  }
}

const cases: Readonly<Record<string, string>> = {
  'a read': lineOf(),
  'a refusal of a stranger': lineOf({
    phase: '"attempt"',
    principal: 'null',
    subject: 'null',
    credential: 'null',
    decision: '"unauthenticated"',
    duration_us: 'null',
    status: 'null',
    bytes_in: 'null',
  }),
  'another who asks': lineOf({
    principal: '{"subject":"user:bob","groups":[],"roles":[],"scopes":null}',
  }),
  'names beyond ASCII': lineOf({ object: '"/ü€𝄞"', user_agent: '"a\u007fb"' }),
  'names with escapes': lineOf({ user_agent: '"say \\"hi\\"\\n"', object: '"/\\u0041"' }),
  'large integers': lineOf({ sequence: '9223372036854775807', bytes_out: '9007199254740993' }),
  'a negative integer': lineOf({ bytes_in: '-1' }),
  'an integer with a zero before it': lineOf({ bytes_in: '01' }),
  'a fraction': lineOf({ bytes_in: '1.5' }),
  'a text in place of an integer': lineOf({ sequence: '"7"' }),
  'a raw control character': lineOf({ user_agent: '"a\u0001b"' }),
  'an unknown decision': lineOf({ decision: '"maybe"' }),
  'an unknown phase': lineOf({ phase: '"later"' }),
  'something in its lists': lineOf({ objects: '["/b"]', context: '{"team":"west"}' }),
  'restrictions and what was read': lineOf({
    restrictions: '["own"]',
    read: '{"columns":["id","a b"],"rows":3,"version":4,"filter":"ab"}',
  }),
  'what was read without a filter': lineOf({
    read: '{"columns":[],"rows":0,"version":4,"filter":null}',
  }),
  'a column with escapes': lineOf({
    read: '{"columns":["\\"],\\"subject\\":"],"rows":3,"version":4,"filter":null}',
  }),
  'what was read, and a subject behind it': lineOf({
    read: '{"columns":[],"rows":0,"version":4,"filter":null},"subject":"user:eve"',
  }),
  'what was read without its rows': lineOf({ read: '{"columns":[],"version":4,"filter":null}' }),
  'credentials that end': lineOf({
    vended: '{"prefix":"s3://lake/a","access":"read","until":"2026-11-24T00:00:00.000Z"}',
  }),
  'credentials that do not end, after what was read': lineOf({
    read: '{"columns":[],"rows":0,"version":4,"filter":null}',
    vended: '{"prefix":"s3://lake/a","access":"all","until":null}',
  }),
  'credentials with escapes': lineOf({ vended: '{"prefix":"\\"","access":"all","until":null}' }),
  'a field given twice': lineOf({ subject: '"user:ann","subject":"user:eve"' }),
  'a principal that goes on': lineOf({
    principal: `${PRINCIPAL},"subject":"user:eve","extra":{"subject":"x"}`,
  }),
  'a principal that is no JSON': lineOf({ principal: '{"subject":"user:ann",}' }),
  'a principal without its groups': lineOf({ principal: '{"subject":"user:ann"}' }),
  'something after it': `${lineOf()}x`,
  'only a part of it': lineOf().slice(0, -9),
};

describe('a line that is read by its shape', () => {
  it.each(Object.keys(cases))('comes to the same as its JSON: %s', (name) => {
    const line = cases[name]!;
    expect(resultOf(line)).toEqual(resultOf(spaced(line)));
  });

  it('is read whole', () => {
    expect(decodeRecord(lineOf())).toMatchObject({
      sequence: 7n,
      phase: 'outcome',
      principal: { subject: 'user:ann', scopes: [{ action: 'read', pattern: '/a/**' }] },
      user_agent: null,
      status: 200,
      bytes_out: 811n,
      hash: 'h',
    });
  });
});
