import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/cli/config/config.ts';
import { sentencesOf } from '../../src/cli/error-sentences.ts';
import { startGateway, type RunningGateway } from '../../src/cli/service/serve.ts';
import type { StartReport } from '../../src/cli/start-check.ts';
import { MODEL, POLICY } from '../gateway/harness.ts';
import { run } from './captured.ts';

const silent = {
  watched: false,
  line: () => undefined,
  bytes: async () => false,
  note: () => undefined,
};

let folder: string;
let flags: readonly string[];
let config: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-check-'));
  config = join(folder, 'arrowgate.yaml');
  await mkdir(join(folder, 'policies'));
  await put('policies/model.conf', MODEL);
  await put('policies/policy.csv', POLICY);
  await configure();
  flags = ['--config', config];
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const put = (name: string, text: string) => writeFile(join(folder, name), text);
const configure = (more = '', port = 0) =>
  put(
    'arrowgate.yaml',
    `data: ${folder}/data\npolicies: ${folder}/policies\nlisten: { port: ${port} }\n${more}`,
  );

async function check(
  ...words: readonly string[]
): Promise<StartReport & { readonly code: number }> {
  const { code, lines } = await run('check', '--json', ...flags, ...words);
  return { ...(JSON.parse(lines[0]!) as StartReport), code };
}

/** Starts a gateway as `serve` does; what keeps it from starting is thrown. */
function serve(): Promise<RunningGateway> {
  return startGateway(
    loadConfig({ config, values: new Map(), serving: true }, {}),
    pino({ level: 'silent' }),
    silent,
  );
}

/** Everything in a folder: sizes and times of files and folders. */
async function listing(): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  const lines = ['.', ...names].map(async (name) => {
    const { size, mode, ino, mtimeNs } = await stat(join(folder, name), { bigint: true });
    return [name, size, mode, ino, mtimeNs].join(' ');
  });
  return (await Promise.all(lines)).sort();
}

const failing =
  'cases:\n  - { subject: user:a, action: QueryTable, object: /prod/x, expect: allow }\n';
const webhook =
  'rules:\n  - name: judged\n    tables: [/**]\n    webhook: { url: "https://j.example.com/", secret_env: NO_SUCH_SECRET }\n';

/** What is broken, how, and what both the check and the start say of it. */
const refusals: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
  ['a line', () => put('policies/policy.csv', 'p, role:admin, /**, *, alow\n'), /^policy\.csv:1: /],
  ['a case', () => put('policies/cases.yaml', failing), /^cases\.yaml:2: /],
  ['the digest', () => put('policies/policy.sha256', ''), /^policy\.sha256: .* policy seal/],
  ['a limit', () => put('policies/limits.yaml', 'limits: 1\n'), /^limits\.yaml:1: /],
  ['a rule', () => put('policies/commits.yaml', webhook), /^commits\.yaml:2: .*NO_SUCH_SECRET/],
  ['the issuers', () => put('policies/issuers.yaml', 'issuer: []\n'), /^issuers\.yaml:1: /],
  ['the model', () => rm(join(folder, 'policies/model.conf')), /^model\.conf: /],
  ['the data folder', () => put('data', ''), /data is a file, but must be a folder$/],
  [
    'the place of Lance tables',
    async () => {
      await put('lance', '');
      await configure(`locations: { managed: ${folder}/lance }\n`);
    },
    /lance is a file, but must be a folder$/,
  ],
  [
    'the format',
    async () => {
      await mkdir(join(folder, 'data'));
      await put('data/FORMAT', '999\n');
    },
    /FORMAT says format 999; this program reads up to format/,
  ],
  [
    'the keys',
    async () => {
      await mkdir(join(folder, 'data/private'), { recursive: true });
      await put('data/private/keys.json', '{}\n');
    },
    /keys\.json has format undefined/,
  ],
  [
    'the signing key',
    async () => {
      await mkdir(join(folder, 'data/private'), { recursive: true });
      await put('data/private/audit-signing-key.pem', 'no key\n');
    },
    /audit-signing-key\.pem holds no key in PEM$/,
  ],
  [
    'a signing key elsewhere',
    () => configure(`audit: { signing_key: ${folder}/none.pem }\n`),
    /none\.pem cannot be read \(ENOENT\)$/,
  ],
  [
    'the certificate',
    () =>
      put(
        'arrowgate.yaml',
        `data: ${folder}/data\npolicies: ${folder}/policies\nlisten: { port: 0, tls: { cert: ${folder}/c.pem, key: ${folder}/k.pem } }\n`,
      ),
    /c\.pem/,
  ],
];

describe('arrowgate check', () => {
  it.each(refusals)(
    'refuses what serve refuses, in its words: %s',
    async (_, breakIt, sentence) => {
      await breakIt();
      const before = await listing();
      const { code, refusals: found } = await check();
      expect([code, found[0]]).toEqual([2, expect.stringMatching(sentence)]);
      expect(await listing()).toEqual(before);
      const error = await serve().then(
        (running) => running.stop(),
        (reason: unknown) => reason,
      );
      expect(sentencesOf(error)).toEqual(found);
    },
  );

  it('refuses a configuration that serve refuses', async () => {
    await configure('frob: 1\n');
    const { code, refusals: found } = await check();
    expect([code, found]).toEqual([2, [expect.stringContaining('frob')]]);
    expect(() => loadConfig({ config, values: new Map() }, {})).toThrow(found[0]);
    await configure(
      'backends:\n  - { name: west, type: http, url: "https://w", namespaces: ["/**"], credential_env: NO_SUCH_KEY }\n',
    );
    expect((await check()).refusals).toEqual([expect.stringContaining('NO_SUCH_KEY is not set')]);
  });

  it('refuses a port that another program has', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await configure('', port);
    const { code, refusals: found } = await check();
    expect([code, found]).toEqual([2, [`port ${port} of 127.0.0.1 is in use by another program`]]);
    const error: unknown = await serve().catch((reason: unknown) => reason);
    expect(sentencesOf(error)).toEqual(found);
    other.close();
    await once(other, 'close');
  });

  it('tells of everything at once', async () => {
    await put('policies/policy.csv', 'p, role:admin, /**, *, alow\n');
    await put('data', '');
    expect((await check()).refusals).toHaveLength(2);
  });

  it('counts what a start would load, and makes nothing before the first start', async () => {
    const before = await listing();
    const { code, loaded, notes, refusals: none, warnings } = await check();
    expect([code, none, warnings]).toEqual([0, [], []]);
    expect(loaded).toMatchObject({
      certificate: { certificates: 0 },
      policies: { lines: 4, memberships: 0, cases: 0, issuers: 0, limits: 0, commit_rules: 0 },
      data: { folder: 'new' },
      keys: { active: 0, ended: 0 },
      audit: { signing_key: 'new' },
      store: { kind: 'embedded', state: 'new' },
      backends: { backends: 1, remote: 0 },
      addresses: { addresses: 1 },
    });
    expect(notes.join('\n')).toContain('the first start makes it');
    expect(await listing()).toEqual(before);
    const { lines } = await run('check', ...flags);
    expect(lines.at(-1)).toBe('a start would succeed: 0 warnings');
  });

  it('writes nothing beside a gateway, and takes its port for its own', async () => {
    const running = await serve();
    await running.stop();
    const other = await serve();
    try {
      await run('keys', 'create', '--subject', 'a', '--role', 'analyst', ...flags);
      await configure('', Number(new URL(other.url).port));
      await quiet();
      const before = await listing();
      const { code, loaded, notes, refusals: none } = await check();
      expect([code, none]).toEqual([0, []]);
      expect(loaded).toMatchObject({
        keys: { active: 2 },
        store: { kind: 'embedded', state: 'there' },
      });
      expect(notes.join('\n')).toContain('a gateway runs on this data folder');
      await quiet();
      const paths = (lines: readonly string[]) => lines.map((line) => line.split(' ')[0]);
      expect(paths(await listing())).toEqual(paths(before));
    } finally {
      await other.stop();
    }
    await configure();
    const before = await listing();
    expect((await check()).code).toBe(0);
    expect((await run('policy', 'check', ...flags)).code).toBe(0);
    expect(await listing()).toEqual(before);
  });

  it('warns of what serve warns of and of what nothing reads, and --strict makes that 1', async () => {
    await put('policies/policy.csv', 'p, role:admin, /a/**, read, allow\n');
    await put('policies/limit.yaml', '');
    await mkdir(join(folder, 'policies/shadow'));
    const { code, warnings } = await check();
    expect(code).toBe(0);
    expect(warnings).toEqual(
      expect.arrayContaining([
        'the policy does not let role:admin manage everything',
        'limit.yaml: nothing reads this file: did you mean limits.yaml?',
        expect.stringMatching(/^shadow\/model\.conf: the file cannot be read/),
      ]),
    );
    expect((await check('--strict')).code).toBe(1);
  });

  it('warns of a role of a key that no line names, as keys create does', async () => {
    const create = ['keys', 'create', '--subject', 'a', '--role', 'analist', ...flags];
    const { code, notes } = await run(...create);
    const warning =
      /the key \w+ has role:analist, which no line of the policy names: did you mean role:analyst\?$/;
    expect([code, notes]).toEqual([0, [expect.stringMatching(warning)]]);
    expect((await check()).warnings).toContainEqual(expect.stringMatching(warning));
    const good = ['keys', 'create', '--subject', 'a', '--role', 'analyst', ...flags];
    expect((await run(...good)).notes).toEqual([]);
  });

  it('warns of a store that is gone, and of a Redis that is away', async () => {
    await (await serve()).stop();
    await rm(join(folder, 'data/private/store'), { recursive: true });
    expect((await check()).warnings).toContainEqual(expect.stringContaining('catalog rebuild'));
    const away = createServer().listen(0, '127.0.0.1');
    await once(away, 'listening');
    const { port } = away.address() as AddressInfo;
    away.close();
    await once(away, 'close');
    await configure(`coordination: { redis: "redis://127.0.0.1:${port}" }\n`);
    const { code, warnings } = await check();
    expect([code, warnings]).toEqual([
      0,
      expect.arrayContaining([expect.stringContaining('Redis')]),
    ]);
  });

  it('warns of a remote backend that does not answer', async () => {
    await configure(
      'backends:\n  - { name: west, type: http, url: "http://127.0.0.1:1", namespaces: ["/**"] }\n',
    );
    expect((await check()).warnings).toEqual([
      'the backend west: a backend is unavailable: cannot be reached (ECONNREFUSED)',
    ]);
  });
});

/** Gives what a gateway writes by itself after its start some time. */
function quiet(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 300);
  });
}
