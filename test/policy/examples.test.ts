import { readFile } from 'node:fs/promises';
import Schema from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseCases, runCases } from '../../src/policy/cases.ts';
import { lintPolicy } from '../../src/policy/lint.ts';
import { loadPolicyLines } from '../../src/policy/load.ts';

const root = new URL('../../', import.meta.url).pathname;
const schema = JSON.parse(await readFile(`${root}docs/schemas/cases.schema.json`, 'utf8'));
const validator = Schema.Compile(schema);

/** Each folder, and the warnings that are meant. */
const folders: readonly (readonly [string, readonly string[]])[] = [
  ['policies', []],
  [
    'examples/conditions',
    [
      'the deny reaches role:admin (through *): the administrator may not do read on /prod/salaries/** either, where its condition holds',
    ],
  ],
];

describe.each(folders)('the policy in %s', (folder, meant) => {
  it('loads, is compiled, comes out as its cases say and has nothing odd about it that is not meant', async () => {
    const loaded = await loadPolicyLines(`${root}${folder}`);
    expect(loaded.snapshot.slow).toBe(false);
    const { cases } = loaded;
    expect(cases.length).toBeGreaterThan(5);
    expect(await runCases(loaded.snapshot, cases)).toEqual([]);
    const { findings, warnings } = lintPolicy(loaded);
    expect(findings).toEqual([]);
    expect(warnings.map(({ text }) => text)).toEqual(meant);
  });

  it('has cases that the schema accepts', async () => {
    expect(validator.Check(parse(await readFile(`${root}${folder}/cases.yaml`, 'utf8')))).toBe(
      true,
    );
  });
});

/** What schema and program both refuse in a case. */
const wrong: readonly string[] = [
  'because: ""',
  'why: x',
  'ip: 7',
  'time: tomorrow',
  'ctx: x',
  'ctx: { Team: x }',
  'ctx: { team: 7 }',
  'branch: ""',
  'groups: [role:x]',
  'roles: x',
  'rows: 7',
  'rows: [""]',
  'columns: [ssn]',
  'columns: { ssn: gone }',
  'columns: { ssn: last }',
];

describe('the schema of cases.yaml', () => {
  it.each(wrong)('refuses %s, as the program does', (said) => {
    const good =
      'cases:\n  - subject: user:ann\n    action: read\n    object: /a\n    expect: allow\n';
    expect(validator.Check(parse(good))).toBe(true);
    expect(validator.Check(parse(`${good}    ${said}\n`))).toBe(false);
    expect(parseCases(good)).toHaveLength(1);
    expect(() => parseCases(`${good}    ${said}\n`)).toThrow('cases.yaml:');
  });

  it.each(['subject', 'action', 'object', 'expect'])('asks for %s, as the program does', (key) => {
    const keys = ['subject: user:ann', 'action: read', 'object: /a', 'expect: allow'];
    const left = keys.filter((text) => !text.startsWith(key));
    const text = `cases:\n  - { ${left.join(', ')} }\n`;
    expect(validator.Check(parse(text))).toBe(false);
    expect(() => parseCases(text)).toThrow('cases.yaml:2');
  });
});
