import { chmod, mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadForService, loadPolicy } from '../../src/policy/load.ts';
import { readPolicyFolder, sealedFiles } from '../../src/policy/policy-folder.ts';
import { PolicyFollower } from '../../src/policy/policy-follower.ts';
import { PolicyError } from '../../src/policy/lines/policy-error.ts';
import { readPolicy } from '../../src/policy/policy-reading.ts';
import type { PolicySnapshot } from '../../src/policy/decide/snapshot.ts';
import { policySeal } from '../../src/policy/seal.ts';
import { watchPolicy, type PolicyWatch } from '../../src/policy/watch.ts';
import { principal, shippedModel } from './support.ts';
import { eventually } from '../support/eventually.ts';

const first = 'p, user:ann, /a, read, allow\n';
const second = 'p, user:ann, /b, read, allow\n';

let home: string;
let folder: string;
let watch: PolicyWatch;
let changes: PolicySnapshot[];
let refusals: (readonly string[])[];

async function fill(target: string, policy: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await writeFile(join(target, 'model.conf'), shippedModel);
  await writeFile(join(target, 'policy.csv'), policy);
}

async function start(): Promise<void> {
  changes = [];
  refusals = [];
  watch = watchPolicy(
    folder,
    await loadForService(folder),
    (snapshot) => changes.push(snapshot),
    (findings) => refusals.push(findings),
    { read: readPolicy },
  );
}

function readable(): readonly string[] {
  const ann = principal('user:ann');
  return ['a', 'b'].filter((name) => watch.current().decide(ann, 'QueryTable', [name]).allowed);
}

/** Far longer than a reload takes; what is waited for comes much earlier. */
const until = (check: () => void) => eventually(check);

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'arrowgate-policy-'));
  folder = join(home, 'policies');
  await fill(folder, first);
});

afterEach(async () => {
  watch.close();
  await rm(home, { recursive: true });
});

/** What is said of a file that is gone. */
function unreadable(folder: string): string {
  return `the file cannot be read in the folder ${folder} (ENOENT): start in the folder that \`arrowgate init DIR\` made, or name the policies with --policies`;
}

describe('a running policy', () => {
  it('follows its file', async () => {
    await start();
    expect(readable()).toEqual(['a']);
    await writeFile(join(folder, 'policy.csv'), second);
    await until(() => expect(readable()).toEqual(['b']));
    expect(changes).toEqual([watch.current()]);
    expect(changes[0]!.digest).toBe((await loadPolicy(folder)).digest);
    expect(watch.refused()).toBeUndefined();
  });

  it('swaps its limits with it, and keeps both when either is refused', async () => {
    await start();
    const limits = () => watch.current().limits.limits.map(({ name }) => name);
    expect(limits()).toEqual([]);
    await writeFile(join(folder, 'limits.yaml'), 'limits: [{ name: one, rate: 1/s }]\n');
    await until(() => expect(limits()).toEqual(['one']));
    const { digest } = watch.current();
    await writeFile(join(folder, 'limits.yaml'), 'limits: [{ name: two, rate: 1/s }]');
    const cut = 'limits.yaml:1: the file does not end with a newline: it may be cut short';
    await until(() => expect(watch.refused()).toBe(cut));
    await writeFile(join(folder, 'policy.csv'), second);
    await writeFile(join(folder, 'limits.yaml'), 'limits: [{ name: two }]\n');
    const inert = 'limits.yaml:1: the limit two has no rate, concurrency or budget';
    await until(() => expect(watch.refused()).toBe(inert));
    expect([limits(), readable(), watch.current().digest]).toEqual([['one'], ['a'], digest]);
    await unlink(join(folder, 'limits.yaml'));
    await until(() => expect([limits(), readable()]).toEqual([[], ['b']]));
  });

  it('stays as it is for holders that took it before the change', async () => {
    await start();
    const taken = watch.current();
    await writeFile(join(folder, 'policy.csv'), second);
    await until(() => expect(watch.current()).not.toBe(taken));
    expect(taken.decide(principal('user:ann'), 'QueryTable', ['a']).allowed).toBe(true);
  });

  it('follows its folder when another is renamed into its place', async () => {
    await start();
    await fill(join(home, 'next'), second);
    await rename(folder, join(home, 'old'));
    await rename(join(home, 'next'), folder);
    await until(() => expect(readable()).toEqual(['b']));
    expect(changes).toHaveLength(1);
  });

  it('follows its folder when it is a link that is pointed elsewhere', async () => {
    await rename(folder, join(home, 'one'));
    await symlink('one', folder);
    await start();
    await fill(join(home, 'two'), second);
    await symlink('two', join(home, 'link'));
    await rename(join(home, 'link'), folder);
    await until(() => expect(readable()).toEqual(['b']));
  });

  it('waits while the folder is being written to, and passes through nothing in between', async () => {
    await start();
    for (let line = 1; line <= 12; line++) {
      await writeFile(join(folder, 'policy.csv'), `p, user:n${line}, /b, read, allow\n`);
      await wait(60);
    }
    await writeFile(join(folder, 'policy.csv'), second);
    await until(() => expect(readable()).toEqual(['b']));
    expect(changes).toHaveLength(1);
    expect(refusals).toEqual([]);
  });

  it('is told of no change when only the time of its file is new', async () => {
    await start();
    await writeFile(join(folder, 'policy.csv'), first);
    await writeFile(join(folder, 'note.txt'), 'nothing of the policy\n');
    await wait(900);
    expect(changes).toEqual([]);
    expect(refusals).toEqual([]);
  });
});

const refused: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'an error in a line',
    `${second}p, user:ann, /b, reed, allow\n`,
    ['policy.csv:2: unknown action "reed": it is no operation, no access group and not *'],
  ],
  [
    'no final newline',
    `${second}p, user:ann, /c, read, allow`,
    ['policy.csv:2: the file does not end with a newline: it may be cut short'],
  ],
  ['no text at all', '', ['policy.csv: the file is empty']],
  [
    'none of its lines left',
    '# nothing\n',
    ['policy.csv: the policy has no p line: nobody could do anything'],
  ],
  [
    'a cycle',
    `${second}g, role:a, role:b\ng, role:b, role:a\n`,
    ['policy.csv:3: the roles form a cycle: role:a -> role:b -> role:a'],
  ],
];

describe('a reload is refused, the last good policy stays and a better one is taken', () => {
  it.each(refused)('with %s', async (_, text, findings) => {
    await start();
    const good = watch.current();
    await writeFile(join(folder, 'policy.csv'), text);
    await until(() => expect(refusals).toEqual([findings]));
    expect(watch.refused()).toBe(findings.join('\n'));
    expect(watch.current()).toBe(good);
    await writeFile(join(folder, 'policy.csv'), second);
    await until(() => expect(readable()).toEqual(['b']));
    expect(watch.refused()).toBeUndefined();
    expect(changes).toHaveLength(1);
  });

  it('with a file that is gone', async () => {
    await start();
    await unlink(join(folder, 'policy.csv'));
    const finding = `policy.csv: ${unreadable(folder)}`;
    await until(() => expect(refusals).toEqual([[finding]]));
    expect(readable()).toEqual(['a']);
  });

  it('with a folder that is gone, and the old one back is the policy in force again', async () => {
    await start();
    await rename(folder, join(home, 'away'));
    const finding = `model.conf: ${unreadable(folder)}`;
    await until(() => expect(watch.refused()).toBe(finding));
    await rename(join(home, 'away'), folder);
    await until(() => expect(watch.refused()).toBeUndefined());
    expect(changes).toEqual([]);
  });

  it('with commit rules that are refused', async () => {
    await start();
    await writeFile(join(folder, 'commits.yaml'), 'rules: []\nlimits: []\n');
    const finding = 'commits.yaml:2: unknown key "limits": there are rules';
    await until(() => expect(refusals).toEqual([[finding]]));
    await writeFile(join(folder, 'commits.yaml'), 'rules: []');
    const cut = 'commits.yaml:1: the file does not end with a newline: it may be cut short';
    await until(() => expect(watch.refused()).toBe(cut));
    expect(changes).toEqual([]);
    await rm(join(folder, 'commits.yaml'));
    await until(() => expect(watch.refused()).toBeUndefined());
  });

  it('with issuers that are refused', async () => {
    await start();
    await writeFile(join(folder, 'issuers.yaml'), 'issuers: []\nlimits: []\n');
    const finding = 'issuers.yaml:2: unknown key "limits": there are issuers';
    await until(() => expect(refusals).toEqual([[finding]]));
    await writeFile(join(folder, 'issuers.yaml'), 'issuers: []');
    const cut = 'issuers.yaml:1: the file does not end with a newline: it may be cut short';
    await until(() => expect(watch.refused()).toBe(cut));
    expect(changes).toEqual([]);
    await rm(join(folder, 'issuers.yaml'));
    await until(() => expect(watch.refused()).toBeUndefined());
  });

  it('until the key set is there that it names, though nothing changes in its folder', async () => {
    await start();
    const keys = join(home, 'keys.json');
    const issuer = [
      'name: corp',
      'issuer: https://idp.example.com',
      'audience: catalog',
      `jwks_file: ${keys}`,
      'algorithms: [RS256]',
    ].join('\n    ');
    await writeFile(join(folder, 'issuers.yaml'), `issuers:\n  - ${issuer}\n`);
    const finding = `issuers.yaml: the jwks_file of corp, ${keys}, cannot be read (ENOENT)`;
    await until(() => expect(refusals).toEqual([[finding]]));
    await writeFile(keys, '{"keys":[{"kty":"RSA"}]}');
    await until(() => expect(watch.current().issuers.map(({ name }) => name)).toEqual(['corp']));
    expect(refusals).toHaveLength(1);
    expect(watch.refused()).toBeUndefined();
  });

  it('with bytes that are no UTF-8', async () => {
    await start();
    await writeFile(join(folder, 'policy.csv'), Buffer.from([0x70, 0xff, 0x0a]));
    await until(() => expect(refusals).toEqual([['policy.csv: the file is not valid UTF-8']]));
  });
});

describe('a start', () => {
  it('takes a file without final newline, and the reload has nothing against it', async () => {
    await writeFile(join(folder, 'policy.csv'), first.trimEnd());
    await start();
    expect(readable()).toEqual(['a']);
    await wait(900);
    expect(refusals).toEqual([]);
  });

  it('is refused where it cannot be seen whether there are limits and rules', async () => {
    await start();
    await chmod(home, 0o711);
    await chmod(folder, 0o311);
    // Root may list everything.
    if (process.geteuid?.() === 0) process.seteuid?.(65_534);
    const load = await loadPolicy(folder).catch((error: unknown) => error);
    if (process.getuid?.() === 0) process.seteuid?.(0);
    await chmod(folder, 0o755);
    expect(load).toMatchObject({
      findings: ['limits.yaml', 'issuers.yaml', 'commits.yaml', 'restrictions.yaml'].map(
        (file) =>
          `${file}: whether there is such a file cannot be seen in the folder ${folder} (EACCES)`,
      ),
    });
  });

  it('is refused with an error that names file and line', async () => {
    await start();
    await writeFile(join(folder, 'policy.csv'), `${first}p, ann, /a, read, allow\n`);
    const load = loadPolicy(folder);
    await expect(load).rejects.toBeInstanceOf(PolicyError);
    await expect(load).rejects.toMatchObject({
      findings: [
        'policy.csv:2: the subject "ann" is none of user:NAME, group:NAME, role:NAME and *',
      ],
    });
  });
});

describe('a policy that has lost what kept something out', () => {
  const stillHides = () =>
    !watch.current().decide(principal('user:ann'), 'QueryTable', ['b']).allowed;
  const open = 'p, *, /**, read, allow\n';
  const limit = (more: string) => `limits:\n  - name: one\n    rate: 1/s\n${more}`;
  const rule = (more: string) =>
    `rules:\n  - name: sane\n    tables: [/**]\n    require:\n      append_only: true\n${more}`;
  const issuer = (more: string) =>
    `issuers:\n  - name: corp\n    issuer: https://idp.example.com\n    audience: catalog\n    algorithms: [RS256]\n    jwks_uri: https://idp.example.com/jwks\n${more}`;

  /** A file, its text, and the half of it that a slow writer may leave for a while. */
  const halves: readonly (readonly [string, string, string, string])[] = [
    ['a deny line', 'policy.csv', `${open}p, *, /b, *, deny\n`, open],
    [
      'a membership in what a deny is about',
      'policy.csv',
      `${open}p, role:out, /b, *, deny\ng, user:ann, role:in\ng, role:in, role:out\n`,
      `${open}p, role:out, /b, *, deny\ng, user:ann, role:in\n`,
    ],
    ['a limit', 'limits.yaml', `${limit('')}  - name: two\n    rate: 2/s\n`, limit('')],
    ['a key of a limit', 'limits.yaml', limit('    concurrency: 2\n'), limit('')],
    [
      'a commit rule',
      'commits.yaml',
      `${rule('')}  - name: kept\n    tables: [/a]\n    require: { no_drop: true }\n`,
      rule(''),
    ],
    ['a demand of a rule', 'commits.yaml', rule('      no_drop: true\n'), rule('')],
    [
      'the end of a check',
      'commits.yaml',
      rule('      check: >-\n        a > 0\n        AND b > 0\n'),
      rule('      check: >-\n        a > 0\n'),
    ],
    ['a prefix of an issuer', 'issuers.yaml', issuer('    subject_prefix: corp-\n'), issuer('')],
  ];

  it.each(halves)('%s is not believed before two still seconds', async (_, name, whole, half) => {
    await writeFile(join(folder, 'policy.csv'), open);
    await writeFile(join(folder, name), whole);
    const before = await loadForService(folder);
    const follower = new PolicyFollower(folder, { read: readPolicy });
    await writeFile(join(folder, name), half);
    expect(await follower.next(before, 300)).toBe(2000);
    expect(await follower.next(before, 1999)).toBe(2000);
    expect(await follower.next(before, 2000)).toMatchObject({
      texts: { policy: expect.anything() },
    });
    await writeFile(join(folder, name), `${whole}# nothing is lost\n`);
    expect(await follower.next(before, 300)).not.toBe(2000);
  });

  it('is believed at once when its digest file says that it is whole', async () => {
    await writeFile(join(folder, 'policy.csv'), `${open}p, *, /b, *, deny\n`);
    const before = await loadForService(folder);
    const follower = new PolicyFollower(folder, { read: readPolicy });
    await writeFile(join(folder, 'policy.csv'), open);
    expect(await follower.next(before, 300)).toBe(2000);
    await writeFile(
      join(folder, 'policy.sha256'),
      policySeal(sealedFiles(await readPolicyFolder(folder))),
    );
    expect(await follower.next(before, 300)).not.toBe(2000);
  });

  it('that only gives less is believed at once', async () => {
    await writeFile(join(folder, 'policy.csv'), `${open}g, user:ann, role:in\n`);
    await writeFile(join(folder, 'commits.yaml'), rule('    except: [role:in]\n'));
    await writeFile(join(folder, 'limits.yaml'), limit(''));
    const before = await loadForService(folder);
    await writeFile(join(folder, 'policy.csv'), `${open}p, *, /b, *, deny\n`);
    await writeFile(join(folder, 'commits.yaml'), rule(''));
    await writeFile(join(folder, 'limits.yaml'), limit('').replace('1/s', '3/s'));
    expect(await new PolicyFollower(folder, { read: readPolicy }).next(before, 300)).not.toBe(2000);
  });

  it('is in force after two still seconds', async () => {
    await writeFile(join(folder, 'policy.csv'), `${open}p, *, /b, *, deny\n`);
    await start();
    expect(stillHides()).toBe(true);
    const written = performance.now();
    await writeFile(join(folder, 'policy.csv'), open);
    await until(() => expect(stillHides()).toBe(false));
    expect(performance.now() - written).toBeGreaterThan(1999);
    expect(changes).toHaveLength(1);
  });
});

describe('a policy whose cases fail', () => {
  const cases = (expected: string) =>
    `cases:\n  - { subject: user:ann, action: QueryTable, object: /a, expect: ${expected}, because: ann reads }\n`;
  const failed = [
    'cases.yaml:2: user:ann QueryTable /a is denied (no line decides), expected allow: ann reads',
    'cases.yaml: 1 of 1 cases fail: correct policy.csv, or the cases that no longer hold',
  ];

  it('does not start, and is refused by a reload', async () => {
    await writeFile(join(folder, 'cases.yaml'), cases('allow'));
    await start();
    await writeFile(join(folder, 'policy.csv'), second);
    await until(() => expect(refusals).toEqual([failed]));
    expect(readable()).toEqual(['a']);
    await expect(loadPolicy(folder)).rejects.toMatchObject({ findings: failed });
    await writeFile(join(folder, 'cases.yaml'), cases('deny'));
    await until(() => expect(readable()).toEqual(['b']));
    expect(watch.refused()).toBeUndefined();
  });

  it('is told of as well when only the cases are new', async () => {
    await start();
    await writeFile(join(folder, 'cases.yaml'), cases('deny'));
    const finding =
      'cases.yaml:2: user:ann QueryTable /a is allowed (by policy.csv:1), expected deny: ann reads';
    await until(() => expect(watch.refused()).toContain(finding));
    expect(readable()).toEqual(['a']);
  });

  it('is refused when the cases may be cut short', async () => {
    await start();
    await writeFile(join(folder, 'cases.yaml'), 'cases: []');
    await writeFile(join(folder, 'policy.csv'), second);
    const cut = 'cases.yaml:1: the file does not end with a newline: it may be cut short';
    await until(() => expect(refusals).toEqual([[cut]]));
  });
});

describe('a folder with a digest file', () => {
  const seal = async () =>
    writeFile(
      join(folder, 'policy.sha256'),
      policySeal(sealedFiles(await readPolicyFolder(folder))),
    );
  const advice =
    'when every file is written, run "arrowgate policy seal" on the folder, or remove the digest file';
  const mismatch = (what: string) =>
    `policy.sha256: the folder does not match its digest file: ${what}; ${advice}`;

  it('is refused until it matches, at the start and at a reload', async () => {
    await seal();
    await start();
    await writeFile(join(folder, 'policy.csv'), second);
    const other = mismatch('policy.csv has another digest');
    await until(() => expect(refusals).toEqual([[other]]));
    expect(readable()).toEqual(['a']);
    await expect(loadPolicy(folder)).rejects.toMatchObject({ findings: [other] });
    await seal();
    await until(() => expect(readable()).toEqual(['b']));
  });

  it.each([
    ['a file too many', 'limits.yaml', 'limits: []\n', mismatch('limits.yaml is not in it')],
    [
      'cases of which it does not know',
      'cases.yaml',
      'cases: []\n',
      mismatch('cases.yaml is not in it'),
    ],
    [
      'a line of something else',
      'policy.sha256',
      'hello\n',
      `policy.sha256:1: this is not a line of sha256sum: ${advice}`,
    ],
    [
      'nothing in it',
      'policy.sha256',
      '',
      mismatch('model.conf is not in it, policy.csv is not in it'),
    ],
  ])('is refused with %s', async (_, name, text, finding) => {
    await seal();
    await start();
    await writeFile(join(folder, name), text);
    await expect(loadPolicy(folder)).rejects.toMatchObject({ findings: [finding] });
  });

  it('is refused without a file that it names', async () => {
    await writeFile(join(folder, 'limits.yaml'), 'limits: []\n');
    await seal();
    await start();
    await unlink(join(folder, 'limits.yaml'));
    const finding = mismatch('limits.yaml is in it, but is no policy file of the folder');
    await expect(loadPolicy(folder)).rejects.toMatchObject({ findings: [finding] });
  });
});
