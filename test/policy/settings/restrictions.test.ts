import { readFile } from 'node:fs/promises';
import Schema from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { losesGuard } from '../../../src/policy/guards.ts';
import { buildPolicy, type LoadedPolicy } from '../../../src/policy/load.ts';
import { PolicyError } from '../../../src/policy/lines/policy-error.ts';
import { parseRestrictions } from '../../../src/policy/settings/restrictions.ts';
import { withRowValues, type RowValues } from '../../../src/policy/settings/row-values.ts';
import { principal, shippedFolder, shippedModel } from '../support.ts';

function findingsOf(text: string): readonly string[] {
  try {
    parseRestrictions(text);
  } catch (error) {
    if (error instanceof PolicyError) return error.findings;
    throw error;
  }
  return [];
}

/** One restriction with these keys beside its name and tables. */
const one = (...keys: readonly string[]) =>
  `restrictions:\n  - ${['name: r', 'tables: [/t]', ...keys].join('\n    ')}\n`;

const schema = JSON.parse(
  await readFile(`${shippedFolder}../docs/schemas/restrictions.schema.json`, 'utf8'),
);
const validator = Schema.Compile(schema);

describe('restrictions', () => {
  it('are read with what is not said', () => {
    const [read] = parseRestrictions(
      one(
        'rows: id > 5',
        'columns: { a: hidden, b: { mask: null }, c: { mask: first, n: 2 }, d: { mask: round, to: 0.5 }, e: { mask: constant, value: x } }',
      ),
    );
    expect(read).toEqual({
      name: 'r',
      line: 2,
      patterns: [{ segments: ['t'], below: false }],
      subjects: null,
      except: [],
      rows: 'id > 5',
      columns: [
        { column: 'a', as: 'hidden' },
        { column: 'b', as: { mask: 'null' } },
        { column: 'c', as: { mask: 'first', n: 2 } },
        { column: 'd', as: { mask: 'round', to: 0.5 } },
        { column: 'e', as: { mask: 'constant', value: 'x' } },
      ],
    });
  });

  it.each([
    [
      'restrictions: {}\n',
      1,
      'restrictions must be a list of at most 1000 restrictions, not an empty mapping',
    ],
    [one(), 2, 'the restriction r has neither rows, columns nor canary'],
    [
      one('canaries: id = 7'),
      4,
      'unknown key "canaries": there are name, tables, subjects, except, rows, canary, freeze, columns',
    ],
    [one('canary: id ='), 4, 'canary cannot be read: '],
    [
      one('canary: owner = principal.subject'),
      4,
      'the canary of r names values of the caller: it is the same for everyone',
    ],
    [one('rows: id > 5', 'freeze: true'), 5, 'the restriction r has no canary to freeze for'],
    [
      one('canary: id > 5', 'freeze: true'),
      5,
      'the canary of r has no key that a query could name: compare a column with a literal, as in id = 999999',
    ],
    [
      one(`canary: id IN (${Array.from({ length: 1001 }, (_, id) => id).join()})`),
      4,
      'the canary of r has more than 1000 keys',
    ],
    [one('rows: id >'), 4, 'rows cannot be read: '],
    [
      one('rows: id = 1 -- or so'),
      4,
      'rows cannot be read: expected an expression, found a comment, at position 8',
    ],
    [one('rows: owner = principal.groups'), 4, 'rows cannot be read: principal.groups is a list'],
    [
      one('rows: owner IN (1, principal.groups)'),
      4,
      'rows cannot be read: principal.groups is a list',
    ],
    [
      one('rows: owner = principal.name'),
      4,
      'rows cannot be read: principal has subject, groups, roles, not name',
    ],
    [one('rows: owner = principal'), 4, 'rows cannot be read: expected a name after principal'],
    [one('rows: owner = ctx.a.b'), 4, 'rows cannot be read: ctx.a has no parts'],
    [
      one('columns: {}'),
      4,
      'columns must be a mapping with at least one column, not an empty mapping',
    ],
    [
      one('columns: { a: masked }'),
      4,
      'a must be hidden, or a mapping with the key mask, not "masked"',
    ],
    [
      one('columns:', '  a: hidden', '  b: { mask: sha265 }'),
      6,
      'mask must be null, constant, sha256, first, last, alphanum, year, month or round, not "sha265"',
    ],
    [
      one('columns: { a: { mask: first, n: -1 } }'),
      4,
      'n must be a whole number from 0 to 1000, not -1',
    ],
    [
      one('columns: { a: { mask: round, too: 5 } }'),
      4,
      'unknown key "too": there are mask, value, n, to',
    ],
    [one('columns: { a: { n: 2 } }'), 4, 'an entry of a has no mask'],
    [one('columns: { a: { mask: first } }'), 4, 'the mask first of a has no n'],
    [one('columns: { a: { mask: "null", n: 1 } }'), 4, 'the mask null of a takes no n'],
    [one('rows: "true"', 'subjects: [analyst]'), 5, 'the subject "analyst" is none of'],
    [one('rows: "true"', 'except: [admin]'), 5, 'the subject "admin" is none of'],
    [one('rows: "true"').replace('/t', 't'), 3, 'the pattern "t" does not begin with "/"'],
    [
      `${one('rows: "true"')}${one('rows: "true"').split('\n').slice(1).join('\n')}`,
      5,
      'two restrictions have the name r',
    ],
  ])('refuses %j', (text, line, sentence) => {
    const [finding] = findingsOf(text);
    expect(finding).toContain(`restrictions.yaml:${line}: ${sentence}`);
  });

  it('has a schema that accepts what the program reads, and an example that loads', async () => {
    const example = await readFile(`${shippedFolder}examples/restrictions.yaml`, 'utf8');
    expect(parseRestrictions(example)).toHaveLength(1);
    expect(validator.Check(parse(example))).toBe(true);
    for (const keys of ['columns: { a: hidden, b: { mask: null } }', 'rows: "true"'])
      expect(validator.Check(parse(one(keys)))).toBe(true);
    for (const keys of ['columns: { a: masked }', 'canary: 7', 'rows: 1'])
      expect(validator.Check(parse(one(keys)))).toBe(false);
  });
});

const ann: RowValues = {
  subject: "user:o'brien",
  groups: ['group:eu', 'group:us'],
  roles: [],
  context: new Map([['region', "e'u"]]),
};

describe('the SQL of a row filter', () => {
  it.each([
    ['region = ctx.region', "region = 'e''u' "],
    ['region = CTX."Region" AND true', "region = 'e''u' AND true"],
    ['ctx.team = team', 'NULL = team'],
    ['owner in (principal.groups)', "owner in ('group:eu', 'group:us' )"],
    ['owner NOT IN ( principal.roles )', 'owner NOT IN ( NULL )'],
    ["a = '😀' AND owner = principal.subject", "a = '😀' AND owner = 'user:o''brien' "],
    // Names of columns, and texts, are none of the caller's values.
    ['"ctx".region = 1', '"ctx".region = 1'],
    ['a.ctx.region = 1', 'a.ctx.region = 1'],
    ["a = 'ctx.region'", "a = 'ctx.region'"],
  ])('%s has the values of the caller', (sql, expected) => {
    expect(withRowValues(sql, ann)).toBe(expected);
  });
});

const lines = 'p, user:ann, /**, *, allow\ng, user:ann, role:analyst\ng, user:bea, role:admin\n';

async function policyOf(restrictions?: string): Promise<LoadedPolicy> {
  return buildPolicy({ model: shippedModel, policy: lines, restrictions });
}

const two = `restrictions:
  - name: first
    tables: ['/prod/**']
    subjects: ['role:analyst']
    rows: region = ctx.region
    columns: { email: { mask: sha256 }, ssn: { mask: "null" } }
  - name: second
    tables: ['/prod/a', '/dev/*']
    except: ['role:admin']
    rows: owner = principal.subject
    columns: { email: { mask: "null" }, ssn: hidden }
`;

describe('the restrictions of a policy', () => {
  it('bind callers by their roles and tables by their paths', async () => {
    const { restrictions } = (await policyOf(two)).snapshot;
    const names = (name: string, ...object: string[]) =>
      restrictions.binding(principal(name), object).map((each) => each.name);
    expect(names('user:ann', 'prod', 'a')).toEqual(['first', 'second']);
    expect(names('user:ann', 'prod', 'b', 'c')).toEqual(['first']);
    expect(names('user:ann', 'dev')).toEqual([]);
    expect(names('user:carl', 'dev', 'x')).toEqual(['second']);
    expect(names('user:bea', 'prod', 'a')).toEqual([]);
    expect(names('user:ann')).toEqual([]);
    const below = (...object: string[]) => restrictions.bindsBelow(principal('user:carl'), object);
    expect([below(), below('dev'), below('prod', 'a'), below('prod', 'b')]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it('add up: all row filters, hidden before masks, the first of several masks', async () => {
    const { restrictions } = (await policyOf(two)).snapshot;
    const caller = principal('user:ann');
    expect(restrictions.meaning(caller, ['prod', 'a'], () => new Map())).toEqual({
      names: ['first', 'second'],
      rows: [
        { restriction: 'first', sql: 'region = NULL ' },
        { restriction: 'second', sql: "owner = 'user:ann' " },
      ],
      columns: [
        { restriction: 'first', column: 'email', as: { mask: 'sha256' } },
        { restriction: 'second', column: 'ssn', as: 'hidden' },
      ],
    });
  });

  it('mean the same object for equal callers, tables and contexts, and another for others', async () => {
    const { restrictions } = (await policyOf(two)).snapshot;
    const meaning = (name: string, path: readonly string[], region?: string) =>
      restrictions.meaning(
        principal(name),
        path,
        () => new Map(region === undefined ? [] : [['region', region]]),
      );
    const found = meaning('user:ann', ['prod', 'a'], 'eu');
    expect(meaning('user:ann', ['prod', 'a'], 'eu')).toBe(found);
    expect(found?.rows[0]?.sql).toBe("region = 'eu' ");
    expect(meaning('user:ann', ['prod', 'a'], 'us')?.rows[0]?.sql).toBe("region = 'us' ");
    expect(meaning('user:ann', ['prod', 'a'])?.rows[0]?.sql).toBe('region = NULL ');
    expect(meaning('user:ann', ['prod', 'b'], 'eu')?.names).toEqual(['first']);
    expect(meaning('user:carl', ['dev', 'x'], 'eu')?.rows[0]?.sql).toBe("owner = 'user:carl' ");
    expect(meaning('user:dora', ['dev', 'x'], 'eu')?.rows[0]?.sql).toBe("owner = 'user:dora' ");
    expect(meaning('user:bea', ['prod', 'a'], 'eu')).toBe(null);
    expect(restrictions.namesOn(principal('user:ann'), ['prod', 'a'])).toEqual(['first', 'second']);
    expect(restrictions.namesOn(principal('user:bea'), ['prod', 'a'])).toEqual([]);
  });

  it('hide canaries from everyone but those who are excepted, and bind only their subjects else', async () => {
    const text = one(
      'subjects: [role:analyst]',
      'except: [role:boss]',
      'rows: region = 1',
      'columns: { ssn: hidden }',
      'canary: id = 7 OR id = 8',
      'freeze: true',
    );
    const { restrictions } = (await policyOf(text)).snapshot;
    const bound = (...roles: readonly string[]) => {
      const caller = { ...principal('user:bob'), roles };
      return restrictions.meaning(caller, ['t'], () => new Map());
    };
    const hides = { restriction: 'r', sql: '(id = 7 OR id = 8) IS NOT TRUE' };
    const keys = ['7e0', '8e0'].map((value) => [{ column: 'id', value }]);
    const canaries = [{ restriction: 'r', keys, freeze: true }];
    expect(bound('role:boss')).toBe(null);
    expect(bound()).toEqual({ names: ['r'], rows: [hides], columns: [], canaries });
    expect(bound('role:analyst')).toEqual({
      names: ['r'],
      rows: [{ restriction: 'r', sql: 'region = 1' }, hides],
      columns: [{ restriction: 'r', column: 'ssn', as: 'hidden' }],
      canaries,
    });
  });

  it('are part of the digest, and a reload that lacks one of them waits', async () => {
    const [with2, without, less] = await Promise.all([
      policyOf(two),
      policyOf(),
      policyOf(two.replace('    rows: region = ctx.region\n', '')),
    ]);
    expect(new Set([with2, without, less].map(({ snapshot }) => snapshot.digest)).size).toBe(3);
    expect(losesGuard(with2.guards, without.guards)).toBe(true);
    expect(losesGuard(with2.guards, less.guards)).toBe(true);
    expect(losesGuard(without.guards, with2.guards)).toBe(false);
    const fewer = await buildPolicy({
      model: shippedModel,
      policy: lines.replace('g, user:ann, role:analyst\n', ''),
      restrictions: two,
    });
    expect(losesGuard(with2.guards, fewer.guards)).toBe(true);
  });
});
