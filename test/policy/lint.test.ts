import { describe, expect, it } from 'vitest';
import { lintPolicy } from '../../src/policy/lint.ts';
import { loadPolicyLines } from '../../src/policy/load.ts';
import { formatFinding } from '../../src/policy/policy-error.ts';
import { conditionalModel } from './conditions.ts';
import { policyOf, shippedFolder } from './support.ts';

const ADMIN = 'p, role:admin, /**, *, allow';

async function lint(lines: readonly string[], conditional = false) {
  const policy = await (conditional
    ? policyOf([`${ADMIN}, `, ...lines], conditionalModel)
    : policyOf([ADMIN, ...lines]));
  const { findings, warnings } = lintPolicy(policy);
  return { findings: findings.map(formatFinding), warnings: warnings.map(formatFinding) };
}

/** A line that can never decide anything, and what is said about it. */
const inert: readonly (readonly [string, string])[] = [
  [
    'p, role:x, /system/**, read, allow',
    'in the namespace system only audit allows anything: read allows nothing there',
  ],
  [
    'p, role:x, /system/audit, QueryTable, allow',
    'in the namespace system only audit allows anything: QueryTable allows nothing there',
  ],
  [
    'p, role:x, /prod/**, audit, allow',
    'audit is asked for in the namespace system alone, never on /prod/**',
  ],
  ['p, role:x, /, QueryTable, allow', 'the root is no table: QueryTable is never asked for on /'],
  ['p, role:x, /, append, deny', 'the root is no table: append is never asked for on /'],
  [
    'p, role:x, /prod/**, CreateFunction, allow',
    'CreateFunction concerns no object: it is asked for on / alone, never on /prod/**',
  ],
];

/** Lines that decide something, however odd. */
const effective: readonly string[] = [
  'p, role:x, /system/**, audit, allow',
  'p, role:x, /system/**, *, allow',
  'p, role:x, /system/audit, QueryTable, deny',
  'p, role:x, /**, audit, allow',
  'p, role:x, /*/audit, audit, allow',
  'p, role:x, /, CreateNamespace, allow',
  'p, role:x, /, *, allow',
  'p, role:x, /**, QueryTable, allow',
  'p, role:x, /**, CreateFunction, allow',
  'p, role:x, /prod/**, manage, allow',
  'p, role:x, /prod/**, ListAllTables, allow',
];

describe('a line that can never decide anything', () => {
  it.each(inert)('is a finding: %s', async (line, text) => {
    expect((await lint([line])).findings).toEqual([`policy.csv:2: ${text}`]);
  });

  it.each(effective)('is not %s', async (line) => {
    expect((await lint([line])).findings).toEqual([]);
  });

  it('may be one whose condition is about a branch that its action never has', async () => {
    const written = [
      'p, role:x, /a, CreateNamespace, allow, branch == dev',
      'p, role:x, /a, create, deny, ctx.a == x and branch != main',
      'p, role:x, /a, QueryTable, allow, branch == dev',
      'p, role:x, /a, branch, allow, branch == dev',
      'p, role:x, /a, drop, deny, branch == dev',
      'p, role:x, /a, *, allow, branch == dev',
    ];
    expect((await lint(written, true)).findings).toEqual([
      'policy.csv:2: CreateNamespace is about no branch, so it can never be decided by branch == dev',
      'policy.csv:3: create is about no branch, so it can never be decided by branch != main',
    ]);
  });

  it('is told of at the start and at each reload', async () => {
    const { snapshot } = await policyOf([ADMIN, 'p, role:x, /, QueryTable, allow']);
    expect(snapshot.remarks).toEqual([
      'policy.csv:2: the root is no table: QueryTable is never asked for on /',
    ]);
  });
});

/** Lines after that of the administrator, and the warnings about them. */
const shadowed: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [
    'an allow that a deny of everyone covers',
    ['p, role:x, /a/b, read, allow', 'p, *, /a/**, *, deny'],
    ['policy.csv:2: it allows nothing: policy.csv:3 denies all of it'],
  ],
  [
    'an allow that a deny of its own role covers',
    ['p, role:x, /a/*, QueryTable, allow', 'p, role:y, /*/*, read, deny', 'g, role:x, role:y'],
    ['policy.csv:2: it allows nothing: policy.csv:3 denies all of it'],
  ],
  [
    'an allow that is only partly denied: no warning',
    ['p, role:x, /a/**, read, allow', 'p, *, /a/b, *, deny', 'p, *, /a/**, QueryTable, deny'],
    [],
  ],
  [
    'the same line again',
    ['p, role:x, /a, read, allow', 'p, role:x, /a, read, allow'],
    ['policy.csv:3: it adds nothing: policy.csv:2 allows all of it'],
  ],
  [
    'an allow that a broader one covers, before it or after it',
    [
      'p, role:x, /a/b, QueryTable, allow',
      'p, role:x, /a/**, read, allow',
      'p, role:x, /a/c/*, read, allow',
    ],
    [
      'policy.csv:2: it adds nothing: policy.csv:3 allows all of it',
      'policy.csv:4: it adds nothing: policy.csv:3 allows all of it',
    ],
  ],
  [
    'a deny that a broader one covers',
    ['p, role:x, /a/b, read, deny', 'p, *, /a/**, read, deny'],
    ['policy.csv:2: it adds nothing: policy.csv:3 denies all of it'],
  ],
  [
    'an allow that a role of the subject has already',
    ['p, user:ann, /a, QueryTable, allow', 'p, role:x, /**, read, allow', 'g, user:ann, role:x'],
    ['policy.csv:2: it adds nothing: policy.csv:3 allows all of it'],
  ],
  [
    'patterns that only look alike: no warning',
    [
      'p, role:x, /*, read, allow',
      'p, role:x, /a/*, read, allow',
      'p, role:x, /a/b/**, read, allow',
      'p, role:x, /c, read, allow',
      'p, role:y, /a, read, allow',
    ],
    ['policy.csv:5: it adds nothing: policy.csv:2 allows all of it'],
  ],
  [
    'a role that no line is about',
    ['g, user:ann, role:lost', 'g, role:lost, role:more'],
    [
      'policy.csv:2: it gives nothing: no line is about role:lost',
      'policy.csv:3: it gives nothing: no line is about role:more',
    ],
  ],
];

describe('a warning', () => {
  it.each(shadowed)('is given of %s', async (_, lines, warnings) => {
    expect(await lint(lines)).toEqual({ findings: [], warnings });
  });

  it('takes conditions into account: what applies at times covers only what applies then', async () => {
    const written = [
      'p, role:x, /a, read, allow, ip in 10.0.0.0/8',
      'p, role:x, /a/**, read, allow, ip in 192.168.0.0/16',
      'p, role:x, /a/b, read, allow, ip in 192.168.0.0/16',
      'p, role:x, /a/c, read, allow, ctx.a == x',
      'p, role:x, /a/c, *, allow, ',
      'p, role:x, /a/c, append, deny, ctx.a == x',
    ];
    expect((await lint(written, true)).warnings).toEqual([
      'policy.csv:4: it adds nothing: policy.csv:3 allows all of it',
      'policy.csv:5: it adds nothing: policy.csv:6 allows all of it',
    ]);
  });

  it.each([
    [['p, role:admin, /**, read, allow']],
    [['p, role:admin, /**, *, allow', 'p, *, /**, manage, deny']],
    [['p, role:root, /**, *, allow']],
  ])('is given when role:admin may not manage: %j', async (lines) => {
    const { warnings } = lintPolicy(await policyOf(lines));
    expect(warnings.map(formatFinding)).toContain(
      'policy.csv: role:admin may not manage everything: nobody may be able to repair what goes wrong',
    );
  });

  it('is given of a chain of roles that is longer than casbin by itself follows', async () => {
    const chain = (steps: number) =>
      Array.from({ length: steps }, (_, n) => `g, role:r${n}, role:r${n + 1}`);
    const warningsOf = async (steps: number) =>
      (await lint([`p, role:r${steps}, /a, read, allow`, ...chain(steps)])).warnings;
    expect(await warningsOf(10)).toEqual([]);
    expect(await warningsOf(3000)).toEqual([
      'policy.csv:3: the roles of role:r0 are a chain of 3000 steps: casbin by itself would follow 10 of them',
    ]);
  });

  it('is given of nothing in the shipped policy', async () => {
    expect(lintPolicy(await loadPolicyLines(shippedFolder))).toEqual({
      findings: [],
      warnings: [],
    });
  });
});
