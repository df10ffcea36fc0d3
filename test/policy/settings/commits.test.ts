import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseCommits } from '../../../src/policy/settings/commits.ts';
import { loadForService, loadPolicy } from '../../../src/policy/load.ts';
import { parsePattern } from '../../../src/policy/lines/pattern.ts';
import { PolicyError } from '../../../src/policy/lines/policy-error.ts';
import { remoteFindings } from '../../../src/policy/settings/remote-rules.ts';
import { shippedFolder } from '../support.ts';

function findingsOf(text: string): readonly string[] {
  try {
    parseCommits(text);
  } catch (error) {
    if (error instanceof PolicyError) return error.findings;
    throw error;
  }
  return [];
}

/** One rule with these keys beside its name and tables. */
const rule = (...keys: readonly string[]) =>
  `rules:\n  - ${['name: r', 'tables: [/t]', ...keys].join('\n    ')}\n`;

const demand = (text: string) => rule(`require: { ${text} }`);
const webhook = (text: string) => rule(`webhook: { ${text} }`);

describe('commit rules', () => {
  it('are read with what is not said', () => {
    const [read] = parseCommits(
      rule(
        'operations: [append, DropTable]',
        'require: { max_rows: 5, context: [Ticket], columns: [{ name: id, type: int64 }] }',
      ),
    );
    expect(read).toMatchObject({
      name: 'r',
      line: 2,
      enforced: true,
      webhook: null,
      except: [],
      require: {
        max_rows: 5n,
        context: ['ticket'],
        columns: [{ name: 'id', type: { type: 'int64' } }],
      },
    });
    expect([...read!.actions!]).toEqual(
      expect.arrayContaining(['append', 'InsertIntoTable', 'DropTable']),
    );
    expect([read!.covers(['t']), read!.covers(['u'])]).toEqual([true, false]);
  });

  it.each([
    [
      'rules: {}\n',
      'commits.yaml:1: rules must be a list of at most 1000 rules, not an empty mapping',
    ],
    [rule(), 'commits.yaml:2: the rule r has neither require nor webhook'],
    [
      rule('requires: {}'),
      'commits.yaml:4: unknown key "requires": there are name, tables, operations, except, mode, require, webhook',
    ],
    [
      rule('mode: deny', 'require: { no_drop: true }'),
      'commits.yaml:4: mode must be enforce or warn, not "deny"',
    ],
    [demand('no_drop: false'), 'commits.yaml:4: no_drop must be true, or left out, not false'],
    [demand('keep_versions: 5'), 'commits.yaml:4: keep_versions must be true, or left out, not 5'],
    [
      demand('min_rows: 1'),
      'commits.yaml:4: unknown key "min_rows": there are append_only, schema, columns, check, unique, max_rows, max_bytes, max_removed_share, no_drop, keep_versions, protected_tags, protected_branches, locations, context, freeze',
    ],
    [demand('schema: fixed'), 'commits.yaml:4: schema must be additive or locked, not "fixed"'],
    [
      demand('max_rows: -1'),
      'commits.yaml:4: max_rows must be a whole number of at least 0, not -1',
    ],
    [
      demand('max_removed_share: 2'),
      'commits.yaml:4: max_removed_share must be a number from 0 to 1, not 2',
    ],
    [
      demand('check: "price >="'),
      'commits.yaml:4: the check cannot be read: expected an expression, found the end of the text, at position 9',
    ],
    [
      demand('columns: [{ name: id, type: integer }]'),
      'commits.yaml:4: the type of "id" is no type of the namespace vocabulary',
    ],
    [
      demand('locations: [data]'),
      'commits.yaml:4: the location "data" is no absolute path, file URL or s3 URI',
    ],
    [
      demand('freeze: [{ days: someday, from: "1:00", to: "2:00" }]'),
      'commits.yaml:4: days must be of mon, tue, wed, thu, fri, sat, sun, such as fri..sun',
    ],
    [
      demand('freeze: [{ from: "25:00", to: "2:00" }]'),
      'commits.yaml:4: from must be a time such as 22:00',
    ],
    [
      demand('freeze: [{ from: "1:00", to: "2:00", zone: Mars }]'),
      'commits.yaml:4: "Mars" is no time zone that is known',
    ],
    [
      rule('operations: [insert]', 'require: { no_drop: true }'),
      'commits.yaml:4: unknown operation "insert"',
    ],
    [
      rule('operations: [read]', 'require: { no_drop: true }'),
      'commits.yaml:4: read changes nothing: the rule could never act',
    ],
    [
      rule('except: [admin]', 'require: { no_drop: true }'),
      'commits.yaml:4: the subject "admin" is none of user:NAME, group:NAME, role:NAME and *',
    ],
    [
      rule().replace('/t', 'prod/**') + '    require: { no_drop: true }\n',
      'commits.yaml:3: the pattern "prod/**" does not begin with "/": write /prod/**',
    ],
    [
      webhook('url: "http://judge.example.com/", secret_env: S'),
      'commits.yaml:4: the url of the webhook must begin https:// unless it is on this machine: otherwise the verdict could be changed in transit',
    ],
    [
      webhook('url: "https://judge.example.com/"'),
      'commits.yaml:4: an entry of webhook has no secret_env',
    ],
    [
      webhook('url: "https://judge.example.com/", secret_env: "open sesame!"'),
      'commits.yaml:4: secret_env must be the name of a variable of the environment, not what it is',
    ],
    [
      webhook('url: "https://a:b@judge.example.com/", secret_env: S'),
      'commits.yaml:4: the url of the webhook holds a user or a password: it is signed by a key instead',
    ],
    [
      webhook('url: "https://judge.example.com/", secret_env: S, timeout: 31s'),
      'commits.yaml:4: timeout must be at most 30s, not "31s"',
    ],
    [
      `${demand('no_drop: true')}  - { name: r, tables: [/u], require: { no_drop: true } }\n`,
      'commits.yaml:5: two rules have the name r',
    ],
  ])('are refused whole with file and line: %j', (text, finding) => {
    expect(findingsOf(text)).toEqual([finding]);
  });

  it('are shipped as an example that loads', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'commits-'));
    try {
      await cp(shippedFolder, folder, { recursive: true });
      await cp(join(folder, 'examples', 'commits.yaml'), join(folder, 'commits.yaml'));
      const { commits } = await loadPolicy(folder);
      expect(commits.rules.map(({ name }) => name)).toContain('sales-are-sane');
      const finding = { file: 'commits.yaml', line: 1, text: 'not here' };
      await expect(loadForService(folder, () => [finding])).rejects.toThrow(
        'commits.yaml:1: not here',
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('rules that meet remote tables', () => {
  const served = (name: string, remote: boolean, text: string) => {
    const result = parsePattern(text);
    const trust = new Set(name === 'east' ? (['RenameTable', 'DropNamespace'] as const) : []);
    return { name, remote, patterns: 'pattern' in result ? [result.pattern] : [], trust };
  };
  const backends = [served('own', false, '/own/**'), served('west', true, '/west/**')];
  const east = served('east', true, '/east/**');
  const on = (tables: string, require: string) =>
    parseCommits(`rules:\n  - { name: r, tables: ["${tables}"], require: { ${require} } }\n`);

  it.each([
    ['/own/**', 'check: "id > 0"', []],
    ['/**', 'no_drop: true, max_bytes: 5, context: [a]', []],
    [
      '/**',
      'check: "id > 0", unique: [id]',
      [
        'r demands check, unique of /**, which can be a table of the remote backend west, where that cannot be judged',
      ],
    ],
    [
      '/*/sales',
      'append_only: true',
      [
        'r demands append_only of /*/sales, which can be a table of the remote backend west, where that cannot be judged',
      ],
    ],
  ])('on %s by %s', (tables, require, texts) => {
    expect(remoteFindings(on(tables, require), backends).map(({ text }) => text)).toEqual(texts);
  });

  it.each([
    ['/east/**', 'no_drop: true', 'RenameTable, DropNamespace'],
    ['/**', 'no_drop: true', 'RenameTable, DropNamespace'],
    ['/east/t', 'context: [a]', 'DropNamespace'],
    ['/west/**', 'no_drop: true', null],
  ])('on %s by %s where a backend is trusted with bodies', (tables, require, operations) => {
    const found = remoteFindings(on(tables, require), [...backends, east]);
    expect(found.map(({ text }) => text)).toEqual(
      operations === null
        ? []
        : [
            `r is about ${tables}, which can be a table of the remote backend east: that is trusted with ${operations}, of which only it reads what the body does`,
          ],
    );
  });
});
