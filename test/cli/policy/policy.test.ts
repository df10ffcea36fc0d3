import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MODEL, POLICY } from '../../gateway/harness.ts';
import { run } from '../captured.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-policy-'));
  await writeFile(join(folder, 'model.conf'), MODEL);
  await writeFile(join(folder, 'policy.csv'), POLICY);
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('policy check', () => {
  it('says yes to a policy whose cases come out', async () => {
    await writeFile(
      join(folder, 'cases.yaml'),
      'cases:\n  - { subject: user:a, roles: [role:analyst], action: QueryTable, object: /prod/x, expect: allow }\n',
    );
    expect(await run('policy', 'check', '--policies', folder)).toEqual({
      code: 0,
      lines: ['the policy can be used; 1 cases come out as expected'],
      notes: [
        expect.stringMatching(
          /^note: the keys of .*keys\.json were not seen.*name one with --data$/,
        ),
        expect.stringMatching(/^note: patterns and checks were not compared with namespaces/),
      ],
    });
  });

  it('finds a case that does not', async () => {
    await writeFile(
      join(folder, 'cases.yaml'),
      'cases:\n  - { subject: user:a, action: QueryTable, object: /prod/x, expect: allow, because: all read }\n',
    );
    const { code, lines } = await run('policy', 'check', '--policies', folder, '--json');
    expect(code).toBe(1);
    expect(JSON.parse(lines[0]!)).toEqual({
      cases: 1,
      findings: [
        'cases.yaml:2: user:a QueryTable /prod/x is denied (no line decides), expected allow: all read',
      ],
      warnings: [],
      notes: [expect.any(String), expect.any(String)],
    });
  });

  it('finds what is wrong with the files', async () => {
    await writeFile(join(folder, 'policy.csv'), 'p, role:admin, /**, *, alow\n');
    const { code, lines } = await run('policy', 'check', '--policies', folder);
    expect(code).toBe(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^policy\.csv:1: /);
  });
});

describe('policy explain', () => {
  const question = ['--action', 'QueryTable', '--object', '/prod/x'];

  it('names the line that allows', async () => {
    const words = ['--subject', 'alice', '--role', 'analyst', ...question];
    expect(await run('policy', 'explain', '--policies', folder, ...words)).toMatchObject({
      code: 0,
      lines: [
        'allow: the policy allows QueryTable (policy.csv:2)\nwith no stored key of user:alice: allow (policy.csv:2)\n  role:analyst from --role',
      ],
    });
  });

  it('names the nearest line to a denial', async () => {
    const words = ['--subject', 'alice', '--role', 'loader', ...question];
    const { code, lines } = await run('policy', 'explain', '--policies', folder, ...words);
    expect(code).toBe(1);
    expect(lines[0]).toMatch(
      /^deny: the policy does not allow QueryTable\nnearest: policy\.csv:\d: /,
    );
  });

  it.each([
    [
      ['--action', 'Fly', '--object', '/'],
      'arrowgate: "Fly" is neither an operation nor an access group: write one such as QueryTable or read',
    ],
    [
      ['--action', 'QueryTabel', '--object', '/'],
      'arrowgate: "QueryTabel" is neither an operation nor an access group: did you mean QueryTable?',
    ],
    [
      ['--action', 'read', '--object', 'prod'],
      'arrowgate: "prod" is not a canonical path such as /prod/sales',
    ],
  ])('refuses %j', async (words, sentence) => {
    const all = ['policy', 'explain', '--policies', folder, '--subject', 'a', ...words];
    expect(await run(...all)).toEqual({ code: 2, lines: [], notes: [sentence] });
  });
});

describe('policy explain and policy who beside keys', () => {
  const question = ['--action', 'QueryTable', '--object', '/prod/x'];
  let data: string;

  beforeEach(async () => {
    data = join(folder, 'data');
    await writeFile(
      join(folder, 'policy.csv'),
      `${POLICY}g, role:ingest, role:analyst\ng, user:bob, role:analyst\n`,
    );
  });

  async function key(...words: readonly string[]): Promise<string> {
    const made = await run('keys', 'create', '--data', data, '--json', ...words);
    return String(JSON.parse(made.lines[0]!).id);
  }

  const ask = (command: string, ...words: readonly string[]) =>
    run('policy', command, '--policies', folder, '--data', data, ...question, ...words);

  it('counts the roles of the keys of a subject, and says where each comes from', async () => {
    const id = await key('--subject', 'alice', '--role', 'ingest');
    const { code, lines } = await ask('explain', '--subject', 'alice');
    expect([code, ...lines[0]!.split('\n')]).toEqual([
      0,
      'allow: the policy allows QueryTable (policy.csv:2)',
      `with key ${id} of user:alice: allow (policy.csv:2)`,
      `  role:ingest from key ${id}`,
      '  role:analyst from policy.csv:5 (role:ingest)',
    ]);
    expect(await ask('explain', '--key', id)).toMatchObject({ code: 0, lines });
  });

  it('counts the scopes of a key, and what another key may', async () => {
    const narrow = await key('--subject', 'bob', '--scope', 'read:/other/**');
    expect((await ask('explain', '--subject', 'bob')).code).toBe(1);
    const { lines } = await ask('explain', '--key', narrow);
    expect(lines[0]).toContain(
      `with key ${narrow} of user:bob: deny\n  role:analyst from policy.csv:6 (user:bob)\n  within the scopes read:/other/**`,
    );
    const wide = await key('--subject', 'bob');
    const both = await ask('explain', '--subject', 'bob', '--json');
    expect(both.code).toBe(0);
    const json = JSON.parse(both.lines[0]!);
    expect(json.verdict).toMatchObject({ allowed: true, rule: 'policy.csv:2' });
    expect(json.keys_not_seen).toBeNull();
    const found = json.credentials as readonly Record<string, unknown>[];
    expect(found.map(({ credential, verdict }) => [credential, verdict])).toEqual([
      [`key ${narrow}`, expect.objectContaining({ allowed: false })],
      [`key ${wide}`, expect.objectContaining({ allowed: true })],
    ]);
  });

  it('decides by the context of a key, whatever a request says', async () => {
    await writeFile(
      join(folder, 'model.conf'),
      (await readFile(join(folder, 'model.conf'), 'utf8'))
        .replace('p = sub, obj, act, eft', 'p = sub, obj, act, eft, cond')
        .replace('covers(p.act, r.act)', 'covers(p.act, r.act) && holds(p.cond)'),
    );
    await writeFile(
      join(folder, 'policy.csv'),
      'p, user:cleo, /prod/**, read, allow, ctx.region == eu\n',
    );
    const [eu, us] = [
      await key('--subject', 'cleo', '--context', 'region=eu'),
      await key('--subject', 'cleo', '--context', 'region=us'),
    ];
    const { code, lines } = await ask('explain', '--key', eu, '--ctx', 'region=us');
    expect([code, lines[0]!.split('\n').at(-1)]).toEqual([0, '  with the context region=eu']);
    expect((await ask('explain', '--key', us, '--ctx', 'region=eu')).code).toBe(1);
  });

  it('denies what is asked with a key that has ended', async () => {
    const id = await key('--subject', 'bob');
    await run('keys', 'revoke', id, '--data', data);
    const { code, lines } = await ask('explain', '--key', id);
    expect([code, lines[0]!.split('\n')[0]]).toEqual([1, `deny: the key ${id} is revoked`]);
  });

  it('asks about no stored key where the flags describe one', async () => {
    await key('--subject', 'alice', '--role', 'ingest');
    const { code, notes } = await ask('explain', '--subject', 'alice', '--role', 'nothing');
    expect([code, notes]).toEqual([1, []]);
  });

  it('names every key that may, beside the subjects of the policy', async () => {
    const id = await key('--subject', 'alice', '--role', 'ingest');
    const { lines } = await ask('who');
    expect(lines.map((line) => line.trim().split(/ {2,}/))).toContainEqual([
      'user:alice',
      'policy.csv:2',
      id,
      `role:ingest from key ${id}; role:analyst from policy.csv:5 (role:ingest)`,
    ]);
    const json = JSON.parse((await ask('who', '--json')).lines[0]!);
    expect(json).toContainEqual({
      subject: 'user:bob',
      rule: 'policy.csv:2',
      key: null,
      roles: [{ name: 'role:analyst', from: ['policy.csv:6 (user:bob)'] }],
      restrictions: [],
    });
  });

  it.each([
    [
      ['--key', 'nosuchkey1'],
      'arrowgate: there is no key nosuchkey1: `arrowgate keys list` has all of them',
    ],
    [
      ['--key', 'nosuchkey1', '--role', 'x'],
      'arrowgate: --key has roles of its own: give no --role, no --group',
    ],
    [[], 'arrowgate: give --subject or --key, --action and --object, or --decision-id'],
  ])('refuses %j', async (words, sentence) => {
    await key('--subject', 'alice');
    expect(await ask('explain', ...words)).toEqual({ code: 2, lines: [], notes: [sentence] });
  });

  it('refuses the key of somebody else, and a folder that holds no data', async () => {
    const id = await key('--subject', 'alice');
    expect(await ask('explain', '--subject', 'bob', '--key', id)).toMatchObject({
      code: 2,
      notes: [`arrowgate: the key ${id} is one of user:alice, not of user:bob`],
    });
    const typo = join(folder, 'typo');
    const words = ['--policies', folder, '--data', typo, ...question];
    for (const command of [['explain', '--subject', 'bob'], ['who']]) {
      const { code, notes } = await run('policy', ...command, ...words);
      expect([code, notes[0]]).toEqual([
        2,
        expect.stringContaining(`${typo} is not a data folder`),
      ]);
    }
    await expect(readdir(typo)).rejects.toThrow('ENOENT');
  });

  it('says which keys it did not see', async () => {
    const words = ['policy', 'explain', '--policies', folder, '--subject', 'alice', ...question];
    const { code, notes } = await run(...words);
    expect([code, notes]).toEqual([
      1,
      [expect.stringMatching(/data\/private\/keys\.json were not seen/)],
    ]);
  });
});

describe('policy explain and policy who of a restricted table', () => {
  const question = ['--action', 'QueryTable', '--object', '/prod/x'];
  const ask = (...words: readonly string[]) => run('policy', ...words, '--policies', folder);

  beforeEach(() =>
    writeFile(
      join(folder, 'restrictions.yaml'),
      `restrictions:
  - name: own
    tables: [/prod/**]
    except: [role:admin]
    rows: region = ctx.region
    columns: { phone: { mask: last, n: 3 }, ssn: hidden }
`,
    ),
  );

  const own = {
    name: 'own',
    rule: 'restrictions.yaml:2',
    rows: 'region = ctx.region',
    columns: { phone: 'last (3)', ssn: 'hidden' },
  };
  const bound = 'own (restrictions.yaml:2): rows region = ctx.region, phone last (3), ssn hidden';

  it('say which restrictions bind', async () => {
    const words = ['explain', '--subject', 'alice', '--role', 'analyst', ...question];
    const { code, lines } = await ask(...words);
    expect([code, lines[0]!.split('\n').slice(0, 2)]).toEqual([
      0,
      ['allow: the policy allows QueryTable (policy.csv:2)', `bound by ${bound}`],
    ]);
    expect(JSON.parse((await ask(...words, '--json')).lines[0]!)).toMatchObject({
      verdict: { allowed: true, rule: 'policy.csv:2' },
      restrictions: [own],
      credentials: [{ restrictions: [own] }],
    });
    expect((await ask('who', ...question, '--columns', 'caller,line')).lines).toEqual([
      'CALLER        LINE',
      'role:admin    policy.csv:1',
      'role:analyst  policy.csv:2',
      `  bound by ${bound}`,
    ]);
    expect(JSON.parse((await ask('who', '--json', ...question)).lines[0]!)).toMatchObject([
      { subject: 'role:admin', restrictions: [] },
      { subject: 'role:analyst', restrictions: [own] },
    ]);
  });

  it('deny what cannot be done under them', async () => {
    await writeFile(
      join(folder, 'policy.csv'),
      `${POLICY}p, role:analyst, /prod/**, drop, allow\n`,
    );
    const dropped = ['--action', 'DropTable', '--object', '/prod/x'];
    const words = ['explain', '--subject', 'alice', '--role', 'analyst', ...dropped];
    const { code, lines } = await ask(...words);
    expect([code, lines[0]!.split('\n').slice(0, 2)]).toEqual([
      1,
      ['deny: a restriction cannot be applied to it (restrictions.yaml:2)', `bound by ${bound}`],
    ]);
    expect((await ask('who', ...dropped, '--no-header')).lines).toEqual([
      'role:admin  policy.csv:1  -  -',
    ]);
  });
});

describe('policy seal', () => {
  it('writes a digest file that sha256sum can check, and what is then changed is refused', async () => {
    const file = join(folder, 'policy.sha256');
    expect(await run('policy', 'seal', '--policies', folder)).toEqual({
      code: 0,
      lines: [`sealed model.conf, policy.csv in ${file}`],
      notes: [],
    });
    const { stdout } = spawnSync('sha256sum', ['--check', 'policy.sha256'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stdout).toBe('model.conf: OK\npolicy.csv: OK\n');
    expect((await run('policy', 'check', '--policies', folder)).code).toBe(0);
    await writeFile(join(folder, 'policy.csv'), `${POLICY}# more\n`);
    const { code, lines } = await run('policy', 'check', '--policies', folder);
    expect([code, lines]).toEqual([
      1,
      [expect.stringContaining('policy.sha256: the folder does not match its digest file')],
    ]);
    expect((await run('policy', 'seal', '--policies', folder, '--json')).code).toBe(0);
    expect((await run('policy', 'check', '--policies', folder)).code).toBe(0);
    expect((await readdir(folder)).sort()).toEqual(['model.conf', 'policy.csv', 'policy.sha256']);
  });

  it('writes nothing for a policy that would be refused', async () => {
    await writeFile(
      join(folder, 'cases.yaml'),
      'cases:\n  - { subject: user:a, action: QueryTable, object: /prod/x, expect: allow }\n',
    );
    const { code, notes } = await run('policy', 'seal', '--policies', folder);
    expect([code, notes]).toEqual([
      2,
      [expect.stringContaining('cases.yaml:2: '), expect.stringContaining('1 of 1 cases fail')],
    ]);
    expect(await readdir(folder)).not.toContain('policy.sha256');
  });
});

describe('policy who', () => {
  it('lists those who may', async () => {
    const words = ['--action', 'QueryTable', '--object', '/prod/x'];
    expect(await run('policy', 'who', '--policies', folder, ...words)).toMatchObject({
      code: 0,
      lines: [
        'CALLER        LINE          KEY  ROLES',
        'role:admin    policy.csv:1  -    -',
        'role:analyst  policy.csv:2  -    -',
      ],
    });
  });
});

describe('the command line', () => {
  it('shows its help and its version', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, notes: [] });
    expect((await run('serve', '--help')).lines.join('\n')).toContain('--admin-key');
    expect((await run('--version')).lines).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
  });

  it('refuses a command that it does not know', async () => {
    expect(await run('frob')).toEqual({
      code: 2,
      lines: [],
      notes: ["error: unknown command 'frob'", '--help lists what the command takes'],
    });
  });

  it('checks a configuration, and hides what is secret', async () => {
    const hidden = ['--admin-key', 'hush', '--redis', 'redis://:hush@h'];
    const good = await run('config', 'check', '--json', '--port', '7', ...hidden);
    expect(good.code).toBe(0);
    expect(JSON.parse(good.lines[0]!)).toMatchObject({
      'listen.port': 7,
      'cache.bytes': 268_435_456,
      'coordination.redis': '(hidden)',
    });
    expect(good.lines.join('')).not.toContain('hush');
    expect(await run('config', 'check', '--port', 'x')).toEqual({
      code: 2,
      lines: [],
      notes: ['arrowgate: --port is "x", but must be a whole number from 0 to 65535'],
    });
  });

  it('describes every key of the configuration', async () => {
    const { lines } = await run('config', 'keys', '--json');
    const rows = JSON.parse(lines[0]!) as readonly Record<string, string>[];
    expect(rows).toContainEqual({
      key: 'listen.port',
      flag: '--port',
      variable: 'ARROWGATE_PORT',
      kind: 'number',
      default: '2333',
      meaning: 'port to listen on; 0 takes any free one',
    });
  });
});
