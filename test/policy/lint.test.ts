import { Field, Int32 } from 'apache-arrow';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lintFolder, lintPolicy } from '../../src/policy/lint.ts';
import { buildPolicy, loadPolicyLines } from '../../src/policy/load.ts';
import { formatFinding } from '../../src/policy/lines/policy-error.ts';
import type { KnownObjects } from '../../src/policy/reach-lint.ts';
import type { Callers } from '../../src/policy/strangers.ts';
import { conditionalModel } from './conditions.ts';
import { policyOf, shippedFolder, shippedModel } from './support.ts';

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
    'audit applies in the namespace system only, never on /prod/**',
  ],
  ['p, role:x, /, QueryTable, allow', 'the root is no table: QueryTable never applies to /'],
  ['p, role:x, /, append, deny', 'the root is no table: append never applies to /'],
  [
    'p, role:x, /prod/**, CreateFunction, allow',
    'CreateFunction concerns no object: it applies to / only, never to /prod/**',
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
      'policy.csv:2: the root is no table: QueryTable never applies to /',
    ]);
  });
});

function lockout(action: string, pattern: string, by = ' (through *)'): string {
  return `the deny reaches role:admin${by}: the administrator may not do ${action} on ${pattern} either`;
}

/** Lines after that of the administrator, and the warnings about them. */
const shadowed: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [
    'an allow that a deny of everyone covers',
    ['p, role:x, /a/b, read, allow', 'p, *, /a/**, *, deny'],
    [
      'policy.csv:2: it allows nothing: policy.csv:3 denies all of it',
      `policy.csv:3: ${lockout('*', '/a/**')}`,
    ],
  ],
  [
    'an allow that a deny of its own role covers',
    ['p, role:x, /a/*, QueryTable, allow', 'p, role:y, /*/*, read, deny', 'g, role:x, role:y'],
    ['policy.csv:2: it allows nothing: policy.csv:3 denies all of it'],
  ],
  [
    'an allow that is only partly denied: no warning',
    [
      'p, role:x, /a/**, read, allow',
      'p, role:y, /a/b, *, deny',
      'p, role:y, /a/**, QueryTable, deny',
      'g, role:x, role:y',
    ],
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
    [
      'policy.csv:2: it adds nothing: policy.csv:3 denies all of it',
      `policy.csv:3: ${lockout('read', '/a/**')}`,
    ],
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

describe('a deny that reaches the administrator', () => {
  it.each([
    ['p, role:admin, /a, drop, deny', [], ''],
    ['p, user:admin, /a, drop, deny', [], ' (through user:admin)'],
    ['p, role:out, /a, drop, deny', ['g, role:admin, role:out'], ' (through role:out)'],
  ])('is warned of: %s', async (line, more, by) => {
    const { warnings } = await lint([line, ...more]);
    expect(warnings).toContain(`policy.csv:2: ${lockout('drop', '/a', by)}`);
  });

  it('is not one of somebody else', async () => {
    const { warnings } = await lint(['p, role:x, /a, drop, deny', 'g, user:ann, role:x']);
    expect(warnings).toEqual([]);
  });
});

describe('a folder beside its callers and its objects', () => {
  let folder: string;
  const nobodySeen: Callers = { keys: undefined, certificates: false };
  const keys = [{ subject: 'user:ann', roles: ['role:ingest', 'role:analyst'] }];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'arrowgate-lint-'));
    await writeFile(join(folder, 'model.conf'), shippedModel);
  });

  afterEach(() => rm(folder, { recursive: true }));

  async function warnings(
    files: Readonly<Record<string, string>>,
    callers: Callers = nobodySeen,
    objects?: KnownObjects,
  ): Promise<readonly string[]> {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const found = await lintFolder(folder, await loadPolicyLines(folder), { callers, objects });
    return found.warnings.map(formatFinding);
  }

  const csv = (...lines: readonly string[]) => ({
    'policy.csv': [ADMIN, ...lines, ''].join('\n'),
  });
  const limits = (subject: string) => ({
    'limits.yaml': `limits:\n  - name: some\n    subjects: ["${subject}"]\n    rate: 1/s\n`,
  });
  const except = (name: string) => ({
    'commits.yaml': `rules:\n  - name: sane\n    tables: [/**]\n    except: ["${name}"]\n    require: { append_only: true }\n`,
  });
  const noRole = 'nobody has: no g line gives it and no key holds it';
  const noGroup = 'nobody is in: no g line and no issuer gives it';
  const noUser = 'nobody is: no key has this subject and no issuer gives it';
  const analyst = 'p, role:analyst, /a, read, allow';

  /** Files, whether keys were seen, and the warnings. */
  const names: readonly (readonly [string, Record<string, string>, boolean, readonly string[]])[] =
    [
      [
        'a role in a line that no key holds',
        csv(analyst, 'p, role:ingst, /a, append, allow'),
        true,
        [`policy.csv:3: it is about role:ingst, which ${noRole}: did you mean role:ingest?`],
      ],
      [
        'a role in a line, where no key was seen',
        csv(analyst, 'p, role:ingst, /a, append, allow'),
        false,
        [],
      ],
      [
        'a role that a case has',
        {
          ...csv('p, role:later, /a, append, allow'),
          'cases.yaml':
            'cases:\n  - { subject: user:bo, roles: [role:later], action: append, object: /a, expect: allow }\n',
        },
        true,
        [],
      ],
      [
        'a role of a limit that no line knows',
        { ...csv(analyst), ...limits('role:anlyst') },
        false,
        [
          `limits.yaml:2: the limit some is about role:anlyst, which ${noRole}: did you mean role:analyst?`,
        ],
      ],
      [
        'a role of a limit that a line knows',
        { ...csv(analyst), ...limits('role:analyst') },
        false,
        [],
      ],
      ['a role of a limit that a key has', { ...csv(analyst), ...limits('role:ingest') }, true, []],
      [
        'a role that a rule excepts',
        { ...csv(analyst), ...except('role:admn') },
        false,
        [
          `commits.yaml:2: the rule sane excepts role:admn, which ${noRole}: did you mean role:admin?`,
        ],
      ],
      [
        'a group without an issuer',
        csv('p, group:data, /a, read, allow'),
        false,
        [`policy.csv:2: it is about group:data, which ${noGroup}`],
      ],
      [
        'a group of a line',
        csv('p, group:data, /a, read, allow', 'g, user:ann, group:data'),
        true,
        [],
      ],
      [
        'a group with the prefix of an issuer, and one without',
        {
          ...csv('p, group:corp-data, /a, read, allow', 'p, group:data, /a, read, allow'),
          'issuers.yaml':
            'issuers:\n  - name: corp\n    issuer: https://idp.example.com\n    audience: catalog\n    algorithms: [RS256]\n    jwks_uri: https://idp.example.com/jwks\n    group_prefix: corp-\n    subject_prefix: corp-\n',
        },
        true,
        [`policy.csv:3: it is about group:data, which ${noGroup}`],
      ],
      [
        'a user whom no key names',
        csv(
          'p, user:anne, /a, read, allow',
          'g, user:bob, role:ingest',
          'p, role:ingest, /a, read, allow',
        ),
        true,
        [
          `policy.csv:2: it is about user:anne, which ${noUser}: did you mean user:ann?`,
          `policy.csv:3: it gives a role to user:bob, which ${noUser}`,
        ],
      ],
    ];

  it.each(names)('tells of %s', async (_, files, seen, found) => {
    expect(await warnings(files, seen ? { keys, certificates: false } : nobodySeen)).toEqual(found);
  });

  it('says nothing of users where certificates name them', async () => {
    const files = csv('p, user:anne, /a, read, allow');
    expect(await warnings(files, { keys, certificates: true })).toEqual([]);
  });

  it('tells of files that nothing reads, and which is meant', async () => {
    await mkdir(join(folder, 'shadwo'));
    await mkdir(join(folder, 'examples'));
    const files = {
      ...csv(),
      'limits.yml': '',
      'commit.yaml': '',
      'polices.csv': '',
      'case.yaml': '',
      'other.yaml': '',
      'README.md': '',
      notes: '',
    };
    expect(await warnings(files)).toEqual([
      'case.yaml: nothing reads this file: did you mean cases.yaml?',
      'commit.yaml: nothing reads this file: did you mean commits.yaml?',
      'limits.yml: nothing reads this file: did you mean limits.yaml?',
      'other.yaml: nothing reads this file',
      'polices.csv: nothing reads this file: did you mean policy.csv?',
      'shadwo: nothing reads this folder: did you mean shadow?',
    ]);
  });

  const shallow = 'p, role:analyst, /dev/*, read, allow';
  const known = (paths: readonly string[], namespaces: readonly string[]): KnownObjects => ({
    namespaces: namespaces.map((path) => path.split('/')),
    tables: paths.map((path) => ({
      path: path.split('/'),
      columns: async () => ['id', 'price'].map((name) => new Field(name, new Int32())),
    })),
  });

  it('tells of * over namespaces', async () => {
    const text = 'policy.csv:2: /dev/* does not reach /dev/x/t: write /dev/** for everything below';
    const namespaces = ['dev', 'dev/x'];
    expect(await warnings(csv(shallow), nobodySeen, known(['dev/x/t'], namespaces))).toEqual([
      text,
    ]);
    expect(
      await warnings(csv(shallow), nobodySeen, known(['dev/x/t', 'dev/t'], namespaces)),
    ).toEqual([]);
    expect(await warnings(csv(shallow), nobodySeen, known(['dev/t'], ['dev', 'dev/y']))).toEqual(
      [],
    );
    const drop = 'p, role:analyst, /dev/*, DropNamespace, allow';
    expect(await warnings(csv(drop), nobodySeen, known(['dev/x/t'], namespaces))).toEqual([]);
  });

  it('tells of * over namespaces by the other lines, where nobody has looked', async () => {
    expect(await warnings(csv(shallow, 'p, role:analyst, /dev/x/t, append, allow'))).toEqual([
      'policy.csv:2: /dev/* does not reach /dev/x/t, which policy.csv:3 is about: write /dev/** for everything below',
    ]);
    expect(await warnings(csv(shallow, 'p, role:analyst, /dev/x, append, allow'))).toEqual([]);
    expect(await warnings(csv(shallow, 'p, role:analyst, /prod/x/t, append, allow'))).toEqual([]);
  });

  it('tells of a check on a column that no table has', async () => {
    const rules = (check: string) => ({
      ...csv(),
      'commits.yaml': `rules:\n  - name: sane\n    tables: [/dev/**]\n    require: { check: "${check}" }\n`,
    });
    const tables = known(['dev/t', 'prod/t'], ['dev', 'prod']);
    expect(await warnings(rules('prize > 0 AND ID > 1'), nobodySeen, tables)).toEqual([
      'commits.yaml:2: the rule sane checks the column prize, which no table has that it covers: did you mean price?',
    ]);
    expect(await warnings(rules('price > 0'), nobodySeen, tables)).toEqual([]);
    expect(await warnings(rules('prize > 0'), nobodySeen, known([], []))).toEqual([]);
  });

  it.each([
    ['price >= 0 AND price < 0', 'true for no row: it refuses all'],
    ['price IS NULL OR price IS NOT NULL', 'true for every row: it refuses nothing'],
  ])('finds a check that is the same for every row: %s', async (check, text) => {
    const policy = await buildPolicy({
      model: shippedModel,
      policy: `${ADMIN}\n`,
      commits: `rules:\n  - name: sane\n    tables: [/**]\n    require: { check: "${check}" }\n`,
    });
    expect(lintPolicy(policy).findings.map(formatFinding)).toEqual([
      `commits.yaml:2: the check of the rule sane is ${text}`,
    ]);
  });
});
