import { Bool, DateDay, Field, Int32, Utf8, type DataType } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { lintPolicy } from '../../src/policy/lint.ts';
import { formatFinding } from '../../src/policy/lines/policy-error.ts';
import { buildPolicy } from '../../src/policy/load.ts';
import { closedTableFindings, unreachedFindings } from '../../src/policy/restriction-lint.ts';
import { shippedModel } from './support.ts';

const POLICY = `p, role:admin, /prod/**, *, allow
p, role:admin, /, manage, allow
p, *, /dev/*, read, allow
g, user:ann, role:boss
g, role:boss, role:admin
`;

/** A policy with one restriction that has these keys. */
const policyWith = (...keys: readonly string[]) =>
  buildPolicy({
    model: shippedModel,
    policy: POLICY,
    restrictions: `restrictions:\n  - ${['name: r', ...keys].join('\n    ')}\n`,
  });

const findingsOf = async (...keys: readonly string[]) =>
  lintPolicy(await policyWith('tables: [/prod/**]', ...keys)).findings.map(formatFinding);

describe('a restriction that binds nobody is a finding', () => {
  const nobody = 'restrictions.yaml:2: the restriction r binds nobody: all of its subjects are';

  it.each([
    ['subjects: [role:x]', 'except: [role:x]', `${nobody} exempt by role:x`],
    ['subjects: [user:ann, role:boss]', 'except: [role:admin]', `${nobody} exempt by role:admin`],
    ['subjects: [role:x]', 'except: ["*"]', `${nobody} exempt by *`],
    ['subjects: ["*"]', 'except: ["*", role:x]', `${nobody} exempt by *, role:x`],
  ])('%s, %s', async (subjects, except, text) => {
    expect(await findingsOf('columns: { a: hidden }', subjects, except)).toEqual([text]);
  });

  it.each([
    ['subjects: [role:x, user:bob]', 'except: [role:x]'],
    ['except: [role:admin]'],
    ['subjects: [role:admin]', 'except: [role:boss]'],
  ])('%s binds somebody', async (...keys) => {
    expect(await findingsOf('columns: { a: hidden }', ...keys)).toEqual([]);
  });
});

describe('a canary that no query can meet is a finding', () => {
  const place = 'restrictions.yaml:2: the canary of r';

  it.each([
    [
      'id > 5',
      `${place} has no key, so no query for it is found: compare a column with a literal, as in id = 999999`,
    ],
    ['1 = 1', `${place} is true for every row: it hides all`],
    ['1 = 2', `${place} is true for no row: it hides nothing`],
  ])('%s', async (canary, text) => {
    expect(await findingsOf(`canary: ${JSON.stringify(canary)}`)).toEqual([text]);
  });

  it('unlike one with a key, which binds more than its subjects', async () => {
    const exempt = ['subjects: [role:x]', 'except: [role:x]'];
    expect(await findingsOf('canary: id = 5', 'freeze: true', ...exempt)).toEqual([]);
  });
});

describe('a row filter that is the same for every row is a finding', () => {
  const place = 'restrictions.yaml:2: the row filter of r is';

  it.each([
    ["'a' = 'a' OR NULL", `${place} true for every row: it hides nothing`],
    ['TRUE', `${place} true for every row: it hides nothing`],
    ['1 + 1 = 2', `${place} true for every row: it hides nothing`],
    ['1 = 2', `${place} true for no row: it hides all`],
    ['NULL', `${place} true for no row: it hides all`],
    ['NOT (1 IN (1, 2))', `${place} true for no row: it hides all`],
    ["region = 'eu' OR TRUE", `${place} true for every row: it hides nothing`],
    [
      "region = ctx.region OR (1 = 1 AND 'a' = 'a')",
      `${place} true for every row: it hides nothing`,
    ],
    ["region = 'eu' AND (id > 5 AND 1 = 2)", `${place} true for no row: it hides all`],
    ["region = 'eu' AND NULL", `${place} true for no row: it hides all`],
    ['a = 1 AND a = 2', `${place} true for no row: it hides all`],
    ['a = 1 AND b = 5 AND (c = 2 AND A = 2)', `${place} true for no row: it hides all`],
    ["region = 'eu' AND region IN ('us', 'asia')", `${place} true for no row: it hides all`],
    ["region = 'eu' AND NOT (region = 'eu')", `${place} true for no row: it hides all`],
    ["region LIKE 'e%' AND region = 'us'", `${place} true for no row: it hides all`],
    ['region = ctx.region AND id > 5 AND id <= 5', `${place} true for no row: it hides all`],
    ['a BETWEEN 5 AND 1', `${place} true for no row: it hides all`],
    ['a IS NULL AND a > 3', `${place} true for no row: it hides all`],
    ['a < 0.5 AND a > 0.5', `${place} true for no row: it hides all`],
    ["day > '2030-01-01' AND day < '2020-01-01'", `${place} true for no row: it hides all`],
    ['a IS NULL OR a IS NOT NULL', `${place} true for every row: it hides nothing`],
    ['a IS NULL OR a < 5 OR a >= 5', `${place} true for every row: it hides nothing`],
    ["b = 1 OR (a = 'x') IS NOT TRUE OR a = 'x'", `${place} true for every row: it hides nothing`],
  ])('%s', async (rows, text) => {
    expect(await findingsOf(`rows: ${JSON.stringify(rows)}`)).toEqual([text]);
  });

  it.each([
    "region = 'eu'",
    "ctx.region = 'eu'",
    "'role:x' IN (principal.roles)",
    "now() < timestamp '2035-01-01 00:00:00'",
    '1 / 0 = 1',
    "region = 'eu' OR NULL",
    "region = 'eu' AND TRUE",
    "NOT (region = 'eu' AND NULL)",
    // Of whole numbers alone it is true for no row, and two texts may be one date.
    'a > 1 AND a < 2',
    "day = '2020-01-01' AND day = '2020-1-1'",
    'a = 1 AND b = 2',
    'a = 1 OR a = 2',
    'a < 5 OR a >= 5',
    'a = 1 AND a > b',
    "region LIKE 'e%' AND region = 'eu'",
    "region LIKE '%e%' AND region = 'eu'",
    'a >= 5 AND a <= 5',
    "array_has(tags, 'x') AND array_has(tags, 'y')",
    'address.city = ctx.city AND address.zip = 5',
  ])('%s is none', async (rows) => {
    expect(await findingsOf(`rows: ${JSON.stringify(rows)}`)).toEqual([]);
  });
});

describe('a restriction beside the rest', () => {
  const table = (path: string, columns?: readonly string[], type: DataType = new Utf8()) => ({
    path: path.slice(1).split('/'),
    columns: async () => columns?.map((name) => new Field(name, type, true)),
  });

  it('is warned of where no line allows anything', async () => {
    const policy = await policyWith(
      'tables: [/prod/a, /dev/**, /old/**, /dev/a/b]',
      'columns: { a: hidden }',
    );
    expect(unreachedFindings(policy).map(formatFinding)).toEqual([
      'restrictions.yaml:2: the restriction r binds nobody on /old/**: no line allows anything there',
      'restrictions.yaml:2: the restriction r binds nobody on /dev/a/b: no line allows anything there',
    ]);
  });

  it('is warned of for tables without its columns', async () => {
    const policy = await policyWith(
      'tables: [/prod/**]',
      'rows: REGION = ctx.region AND owner IN (principal.groups)',
      'columns: { emial: hidden, Phone: hidden, owner: hidden }',
    );
    const found = await closedTableFindings(policy.snapshot.restrictions.restrictions, {
      namespaces: [],
      tables: [
        table('/prod/a', ['region', 'owner', 'email', 'Phone']),
        table('/prod/b', ['region', 'email', 'phone']),
        table('/prod/c', ['region', 'email', 'Phone']),
        table('/prod/lance'),
        table('/dev/a', ['emial']),
      ],
    });
    expect(found.map(formatFinding)).toEqual([
      'restrictions.yaml:2: the restriction r closes /prod/b and 1 more, without the column owner',
      'restrictions.yaml:2: the restriction r names the column emial, which no table has that it covers: did you mean email?',
      'restrictions.yaml:2: the restriction r closes /prod/b, without the column Phone',
    ]);
  });

  it('is warned of where a type does not take its masks or its SQL', async () => {
    const policy = await policyWith(
      'tables: [/prod/**]',
      "rows: region = 'eu' AND region IN (principal.groups)",
      'columns:',
      '  email: { mask: sha256 }',
      '  born: { mask: year }',
      '  name: { mask: constant, value: x }',
      '  phone: hidden',
      'canary: region = 5',
    );
    const columns = ['region', 'email', 'born', 'name', 'phone'];
    const found = await closedTableFindings(policy.snapshot.restrictions.restrictions, {
      namespaces: [],
      tables: [
        table('/prod/a', columns),
        table('/prod/b', columns, new Int32()),
        table('/prod/c', columns, new Bool()),
        table('/prod/d', columns, new DateDay()),
      ],
    });
    const closes = 'restrictions.yaml:2: the restriction r closes';
    expect(found.map(formatFinding)).toEqual([
      `${closes} /prod/b and 2 more: the mask sha256 has no value for email, which is int32`,
      `${closes} /prod/a and 2 more: the mask year has no value for born, which is string`,
      `${closes} /prod/b and 2 more: the mask constant ("x") has no value for name, which is int32`,
      `${closes} /prod/b and 2 more: the row filter cannot be applied: expected two values that compare with each other, found int32 and string, at position 8`,
      `${closes} /prod/a and 2 more: the canary cannot be applied: expected two values that compare with each other, found string and int64, at position 8`,
    ]);
  });
});
