import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import Schema from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { costOf, limitScopes } from '../../../src/policy/settings/limit.ts';
import { LimitBook } from '../../../src/policy/settings/limit-book.ts';
import { limitKeys, parseLimits } from '../../../src/policy/settings/limits.ts';
import { buildPolicy } from '../../../src/policy/load.ts';
import { RoleGraph } from '../../../src/policy/lines/role-graph.ts';
import { PolicyError } from '../../../src/policy/lines/policy-error.ts';
import type { OperationName } from '../../../src/protocol/operations/operation-name.ts';
import { principal, shippedModel } from '../support.ts';

const root = new URL('../../..', import.meta.url).pathname;
const example = await readFile(`${root}policies/examples/limits.yaml`, 'utf8');
const schema = JSON.parse(await readFile(`${root}docs/schemas/limits.schema.json`, 'utf8'));
const validator = Schema.Compile(schema);

/** What is wrong with a file of one limit that has these keys beside its name; each stands in a line of its own from the third on. */
function faults(...keys: readonly string[]): readonly string[] {
  return faultsOf(['limits:', '  - name: one', ...keys.map((key) => `    ${key}`)].join('\n'));
}

function faultsOf(text: string): readonly string[] {
  try {
    parseLimits(text);
    return [];
  } catch (error) {
    if (error instanceof PolicyError) return error.findings;
    throw error;
  }
}

function bookOf(...keys: readonly string[]): LimitBook {
  const text = ['limits:', '  - name: one', ...keys.map((key) => `    ${key}`)].join('\n');
  const roles = [
    { line: 1, member: 'group:data', role: 'role:analyst' },
    { line: 2, member: 'user:gus', role: 'group:data' },
  ];
  return new LimitBook(parseLimits(text), new RoleGraph(roles));
}

function applies(
  book: LimitBook,
  who: string,
  operation: OperationName,
  object: readonly string[],
): boolean {
  return book.on(principal(who), operation, object).limits.length > 0;
}

describe('limits.yaml', () => {
  it.each(['', '# nothing\n', 'limits:\n', 'limits: []\n'])('may say nothing: %j', (text) => {
    expect(parseLimits(text)).toEqual([]);
  });

  it('is understood in its documented form', () => {
    const [limit] = parseLimits(example);
    expect(limit).toMatchObject({
      name: 'analysts',
      subjects: new Set(['role:analyst']),
      per: 'subject',
      rate: { text: '100/s', intervalMicros: 10_000, burst: 200 },
      concurrency: 16,
      onStoreFailure: 'open',
    });
    expect([costOf(limit!, 'QueryTable'), costOf(limit!, 'DescribeTable')]).toEqual([5, 1]);
  });

  it('has defaults: anyone, everything, per subject, a burst of one unit of time, cost 1, open', () => {
    expect(parseLimits('limits: [{ name: a, rate: 90/m }]')).toMatchObject([
      {
        subjects: null,
        objects: [{ segments: [], below: true }],
        per: 'subject',
        rate: { burst: 90 },
        concurrency: null,
        onStoreFailure: 'open',
      },
    ]);
  });

  it('takes the cost of the nearest name', () => {
    const [limit] = parseLimits(
      'limits: [{ name: a, rate: 90/m, cost: { QueryTable: 7, read: 5, "*": 2 } }]',
    );
    const names = ['QueryTable', 'CountTableRows', 'DropTable'] as const;
    expect(names.map((name) => costOf(limit!, name))).toEqual([7, 5, 2]);
  });

  it.each<[readonly string[], readonly string[]]>([
    [
      ['rate: 1/s', 'rates: 2/s'],
      [`limits.yaml:4: unknown key "rates": there are ${limitKeys.join(', ')}`],
    ],
    [[], ['limits.yaml:2: the limit one has no rate, concurrency or budget']],
    [['per: subject'], ['limits.yaml:2: the limit one has no rate, concurrency or budget']],
    [['rate: 1/d'], ['limits.yaml:3: rate is "1/d", but must be 1 to 1000000 and /s, /m or /h']],
    [['rate: 0/s'], ['limits.yaml:3: rate is "0/s", but must be 1 to 1000000 and /s, /m or /h']],
    [['rate: 5'], ['limits.yaml:3: rate is 5, but must be 1 to 1000000 and /s, /m or /h']],
    [
      ['rate: 1/s', 'burst: 0'],
      ['limits.yaml:4: burst is 0, but must be a whole number from 1 to 1000000'],
    ],
    [
      ['rate: 1/h', 'burst: 9000'],
      ['limits.yaml:4: a burst of 9000 at 1/h takes more than a year to come back'],
    ],
    [
      ['concurrency: 1.5'],
      ['limits.yaml:3: concurrency is 1.5, but must be a whole number from 1 to 1000000'],
    ],
    [['concurrency: 1', 'burst: 3'], ['limits.yaml:4: burst does nothing without rate']],
    [['concurrency: 1', 'cost: { read: 3 }'], ['limits.yaml:4: cost does nothing without rate']],
    [
      ['rate: 1/s', 'per: user'],
      [`limits.yaml:4: per is "user", but must be one of ${limitScopes.join(', ')}`],
    ],
    [['rate: 1/s', 'network: /24'], ['limits.yaml:4: network does nothing without per: network']],
    [['rate: 1/s', 'per: network'], ['limits.yaml:4: per: network needs network, such as /24']],
    [
      ['rate: 1/s', 'per: network', 'network: /33'],
      [
        'limits.yaml:5: network is "/33", but must be /1 to /32, or a list of that and /1 to /128 for IPv6',
      ],
    ],
    [
      ['rate: 1/s', 'per: network', 'network: 24'],
      [
        'limits.yaml:5: network is 24, but must be /1 to /32, or a list of that and /1 to /128 for IPv6',
      ],
    ],
    [
      ['rate: 1/s', 'on_store_failure: maybe'],
      ['limits.yaml:4: on_store_failure is "maybe", but must be open or closed'],
    ],
    [
      ['rate: 1/s', 'subjects: []'],
      ['limits.yaml:4: subjects is empty: the limit could never act'],
    ],
    [
      ['rate: 1/s', 'subjects: alice'],
      ['limits.yaml:4: subjects is a list of user:NAME, group:NAME, role:NAME or *'],
    ],
    [
      ['rate: 1/s', 'subjects: [alice]'],
      ['limits.yaml:4: the subject "alice" is none of user:NAME, group:NAME, role:NAME and *'],
    ],
    [
      ['rate: 1/s', 'operations: []'],
      ['limits.yaml:4: operations is empty: the limit could never act'],
    ],
    [
      ['rate: 1/s', 'operations: [Read]'],
      ['limits.yaml:4: unknown operation or access group "Read": write read'],
    ],
    [
      ['rate: 1/s', 'operations: [audit]'],
      ['limits.yaml:4: audit has no operation: the limit could never act'],
    ],
    [['rate: 1/s', 'objects: []'], ['limits.yaml:4: objects is empty: the limit could never act']],
    [
      ['rate: 1/s', 'objects: [prod]'],
      ['limits.yaml:4: the pattern "prod" does not begin with "/": write /prod'],
    ],
    [
      ['rate: 1/s', 'operations: [QueryTable]', 'objects: [/]'],
      [
        'limits.yaml:4: QueryTable can be about none of the objects: its route names another, or none',
        'limits.yaml:5: none of the operations can be about /',
      ],
    ],
    [
      ['rate: 1/s', 'operations: [BatchCommitTables]', 'objects: [/prod/**]'],
      [
        'limits.yaml:4: BatchCommitTables can be about none of the objects: its route names another, or none',
        'limits.yaml:5: none of the operations can be about /prod/**',
      ],
    ],
    [
      ['rate: 1/s', 'cost: { "*": 0 }'],
      ['limits.yaml:4: everything costs 0: the rate could never act'],
    ],
    [
      ['rate: 1/s', 'operations: [read]', 'cost: { read: 0 }'],
      ['limits.yaml:5: everything costs 0: the rate could never act'],
    ],
    [
      ['rate: 1/s', 'operations: [read]', 'cost: { drop: 1 }'],
      ['limits.yaml:5: cost names drop, which the limit is not about'],
    ],
    [
      ['rate: 1/s', 'burst: 4', 'cost: { QueryTable: 5 }'],
      ['limits.yaml:5: QueryTable costs 5, more than the burst of 4: it could never pass'],
    ],
    [
      ['rate: 9/s', 'cost: { read: -1 }'],
      ['limits.yaml:4: the cost of read is -1, but must be a whole number from 0 to 1000000'],
    ],
    [
      ['rate: 9/s', 'cost: { reads: 1 }'],
      ['limits.yaml:4: unknown operation or access group "reads"'],
    ],
    [
      ['rate: 9/s', 'cost: 5'],
      ['limits.yaml:4: cost is a mapping from operations, access groups or "*" to numbers'],
    ],
  ])('is refused with %j', (keys, findings) => {
    expect(faults(...keys)).toEqual(findings);
  });

  it.each([
    ['limits: 3', 'limits.yaml:1: limits is a list'],
    ['- a', 'limits.yaml:1: the file has the one key limits'],
    ['limits:\n  - 3', 'limits.yaml:2: an entry of limits is a mapping'],
    ['limit: []', 'limits.yaml:1: unknown key "limit": there are limits'],
    [
      'limits:\n  - { rate: 1/s }',
      'limits.yaml:2: a limit has a name of 1 to 64 letters, digits, dots, dashes and underscores',
    ],
    [
      'limits:\n  - { name: "a\\"b", rate: 1/s }',
      'limits.yaml:2: a limit has a name of 1 to 64 letters, digits, dots, dashes and underscores',
    ],
    [
      'limits:\n  - { name: a, rate: 1/s }\n  - { name: a, rate: 2/s }',
      'limits.yaml:3: the name a is already that of the limit in line 2',
    ],
    [
      'limits: [',
      'limits.yaml:1: Flow sequence in block collection must be sufficiently indented and end with a ] at line 1, column 10:',
    ],
  ])('is refused as %j', (text, finding) => {
    expect(faultsOf(text)[0]).toBe(finding);
  });

  it('refuses a policy whole', async () => {
    const policy = 'p, role:a, /**, *, allow\n';
    const built = buildPolicy({ model: shippedModel, policy, limits: 'limits: [{ name: a }]\n' });
    await expect(built).rejects.toThrow(
      'limits.yaml:1: the limit a has no rate, concurrency or budget',
    );
  });
});

describe('the budget of a limit', () => {
  it('is read in the units of the configuration', () => {
    const text =
      'limits: [{ name: a, budget: { time: 5s, memory: 64MiB, result: 1000, decompressed: 1GiB, rows: 7 } }]';
    expect(parseLimits(text)).toMatchObject([
      {
        rate: null,
        concurrency: null,
        budget: { time: 5000, memory: 2 ** 26, result: 1000, decompressed: 2 ** 30, rows: 7 },
      },
    ]);
    expect(validator.Check(parse(text))).toBe(true);
  });

  it.each([
    ['budget: 5s', 'budget is a mapping with any of time, memory, result, decompressed, rows'],
    ['budget: {}', 'budget is a mapping with any of time, memory, result, decompressed, rows'],
    [
      'budget: { cpu: 5s }',
      'unknown key "cpu": there are time, memory, result, decompressed, rows',
    ],
    ['budget: { time: 5 }', 'budget.time is 5, but must be a duration such as 5s'],
    ['budget: { time: 0s }', 'budget.time is "0s", but must be a duration such as 5s'],
    ['budget: { memory: much }', 'budget.memory is "much", but must be a size such as 64MiB'],
    ['budget: { rows: 1.5 }', 'budget.rows is 1.5, but must be a whole number from 1 on'],
  ])('is refused as %s', (key, finding) => {
    expect(faults(key)[0]).toMatch(/^limits\.yaml:\d+: /);
    expect(faults(key)[0]).toContain(finding);
  });
});

describe('the schema of limits.yaml', () => {
  it('knows the same keys and scopes as the reader', () => {
    const { properties } = schema.$defs.limit;
    expect(Object.keys(properties)).toEqual(limitKeys);
    expect(properties.per.enum).toEqual(limitScopes);
  });

  it('accepts the example, which loads', () => {
    expect(validator.Check(parse(example))).toBe(true);
    expect(parseLimits(example).map(({ name }) => name)).toEqual([
      'analysts',
      'networks',
      'writers',
      'small-requests',
      'drops',
    ]);
  });

  it.each([
    'limits: [{ name: a }]',
    'limits: [{ name: a, budget: {} }]',
    'limits: [{ name: a, budget: { cpu: 5s } }]',
    'limits: [{ name: a, budget: { time: 5 } }]',
    'limits: [{ name: a, rate: 1/d }]',
    'limits: [{ name: a, concurrency: 1, burst: 2 }]',
    'limits: [{ name: a, rate: 1/s, unknown: 2 }]',
    'limits: [{ name: a, rate: 1/s, per: user }]',
    'limits: [{ name: a, rate: 1/s, subjects: [] }]',
    'limits: [{ rate: 1/s }]',
    'rules: []',
  ])('refuses what the reader refuses: %s', (text) => {
    expect(validator.Check(parse(text))).toBe(false);
    expect(faultsOf(text)).not.toEqual([]);
  });
});

describe('a limit', () => {
  it('is about those that reach one of its subjects, over any number of roles', () => {
    const book = bookOf('rate: 1/s', 'subjects: ["role:analyst", "user:zoe"]');
    const who = ['user:gus', 'user:zoe', 'user:ann'];
    expect(who.map((one) => applies(book, one, 'QueryTable', ['t']))).toEqual([true, true, false]);
    expect(book.on(principal('user:gus'), 'QueryTable', ['t']).groups).toEqual(['group:data']);
    expect(book.on(principal('user:x', ['role:analyst']), 'QueryTable', []).limits).toHaveLength(1);
  });

  it('is about its operations on its objects', () => {
    const book = bookOf('rate: 1/s', 'operations: [read]', 'objects: ["/prod/**", "/x"]');
    expect(applies(book, 'user:a', 'QueryTable', ['prod', 'sales'])).toBe(true);
    expect(applies(book, 'user:a', 'QueryTable', ['x'])).toBe(true);
    expect(applies(book, 'user:a', 'QueryTable', ['x', 'y'])).toBe(false);
    expect(applies(book, 'user:a', 'DropTable', ['prod', 'sales'])).toBe(false);
  });
});
