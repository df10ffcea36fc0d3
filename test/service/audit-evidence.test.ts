import { createHash, generateKeyPairSync } from 'node:crypto';
import {
  appendFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestsText, parseDigests, signatureText } from '../../src/cli/evidence/digest-list.ts';
import { readSigningKey } from '../../src/audit/signing/keys.ts';
import { run } from '../cli/captured.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { testFolders } from '../support/folder.ts';
import { send } from './http.ts';
import { goodRows } from './table-bodies.ts';

/* An evidence folder of a real service's log, and what its check finds. */

const POLICY = `p, role:admin, /**, *, allow,
p, role:analyst, /prod/**, read, allow,
p, role:analyst, /prod/hr/**, *, deny,
p, user:bob, /prod/orders, read, allow, ip in 10.0.0.0/8
g, user:alice, role:analyst
`;
const RESTRICTIONS = `restrictions:
  - name: own-rows
    tables: ["/prod/orders"]
    except: ["role:admin"]
    rows: "id < 3"
`;

let service: Service;
let signingKey: string;
let signed: string;
let unsigned: string;
const newFolder = testFolders();

beforeAll(async () => {
  service = await Service.prepare({
    policy: POLICY,
    model: await readFile('examples/conditions/model.conf', 'utf8'),
  });
  signingKey = join(service.folder, 'audit.pem');
  await writeKey(signingKey);
  await writeFile(join(service.policies, 'restrictions.yaml'), RESTRICTIONS);
  await service.configure(`audit: { signing_key: ${signingKey} }\n`);
  await service.restart();
  const alice = await service.key('alice');
  for (const path of ['prod', 'prod$hr']) await ask(`POST /v1/namespace/${path}/create`);
  await ask('POST /v1/table/prod$hr$salaries/create', ADMIN_KEY, goodRows);
  await ask('POST /v1/table/prod$orders/create', ADMIN_KEY, goodRows);
  await ask('POST /v1/table/prod$orders/count_rows', alice);
  await ask('POST /v1/table/prod$hr$salaries/count_rows', alice);
  await ask('POST /v1/table/prod$orders/count_rows', 'agk_aaaaaaaaaaaa_' + 'x'.repeat(43));
  await service.keyByCommand('carol');
  await service.end();
  signed = join(service.folder, 'signed');
  expect(
    await service.command('audit', 'evidence', signed, '--policies', service.policies),
  ).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^wrote the evidence of \d+ requests to .*, signed by the key \S+$/m,
    ),
  });
  await service.configure('');
  unsigned = join(service.folder, 'unsigned');
  expect(await evidence(unsigned, '--public-key', signingKey)).toMatchObject({
    code: 0,
    out: expect.stringContaining('not signed: set audit.signing_key to sign it'),
  });
});

afterAll(() => service?.stop());

async function writeKey(path: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }));
}

async function ask(line: string, key: string = ADMIN_KEY, body: Uint8Array | object = {}) {
  const headers = { 'user-agent': '<script>alert(1)</script>', 'x-request-id': '=1+1' };
  return send(service.url, line, { key, body, headers });
}

/** In this process; the first folder is written by the program. */
function evidence(dir: string, ...words: readonly string[]) {
  return printed('audit', 'evidence', dir, '--policies', service.policies, ...words);
}

/** Flags of the caller come last, and count. */
async function printed(...words: readonly string[]) {
  const [group, name, ...flags] = words;
  const config = ['--config', join(service.folder, 'arrowgate.yaml'), '--data', service.data];
  const { code, lines, notes } = await run(group!, name!, ...config, ...flags);
  return { code, out: lines.join('\n'), err: notes.join('\n') };
}

function check(dir: string, ...words: readonly string[]) {
  return printed('audit', 'verify', '--evidence', dir, ...words);
}

async function text(...path: readonly string[]): Promise<string> {
  return readFile(join(signed, ...path), 'utf8');
}

/** Every entry of a folder with its bytes. */
async function contents(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length))
    .toSorted();
}

describe('arrowgate audit evidence', () => {
  it('writes every file for its owner alone, and leaves nothing beside the folder', async () => {
    const names = await contents(signed);
    const archive = names.find((name) => /^\/policies\/[0-9a-f]{64}$/.test(name)) ?? 'none';
    expect(names).toEqual([
      '/SHA256SUMS',
      '/SHA256SUMS.sig.json',
      '/keys.json',
      '/policies',
      archive,
      `${archive}/model.conf`,
      `${archive}/policy.csv`,
      `${archive}/restrictions.yaml`,
      '/records.csv',
      '/report.html',
      '/signing-key.pub.pem',
      '/verification.json',
      '/who-can-read.csv',
    ]);
    expect((await stat(join(signed, 'records.csv'))).mode & 0o777).toBe(0o600);
    expect((await stat(signed)).mode & 0o777).toBe(0o700);
    expect((await readdir(service.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(await readFile(join(signed, `.${archive}/policy.csv`), 'utf8')).toBe(POLICY);
  });

  it('has each request once, with what a spreadsheet would run as text', async () => {
    const [heading, ...lines] = (await text('records.csv')).trimEnd().split('\r\n');
    const columns = heading!.split(',');
    expect(columns).toEqual(
      expect.arrayContaining(['began', 'subject', 'object', 'decision', 'restrictions', 'hash']),
    );
    const ids = lines.map((line) =>
      line.split(',').at(columns.indexOf('decision_id') - columns.length),
    );
    expect(new Set(ids).size).toBe(lines.length);
    const counted = lines.filter((line) => line.includes('CountTableRows'));
    expect(counted.length).toBe(3);
    expect(counted[0]).toContain("'=1+1");
    expect(counted[0]).toContain(',own-rows,200,');
    expect(counted[1]).toContain(',deny,policy.csv:3,');
  });

  it('verifies the chain, lists keys without secrets, and says who can read what', async () => {
    expect(JSON.parse(await text('verification.json'))).toMatchObject({ findings: [] });
    const keys = JSON.parse(await text('keys.json')) as readonly object[];
    expect(keys).toMatchObject([
      { subject: 'user:alice', state: 'active', last_used: expect.any(String) },
      { subject: 'user:carol', state: 'active', last_used: null },
    ]);
    for (const key of keys) expect(key).not.toHaveProperty('hash');
    const matrix = (await text('who-can-read.csv')).trimEnd().split('\r\n');
    expect(matrix).toEqual(
      expect.arrayContaining([
        'table,subject,key,access,line,restrictions',
        '/prod/orders,role:admin,,yes,policy.csv:1,',
        '/prod/orders,user:alice,,restricted,policy.csv:2,own-rows (restrictions.yaml:2)',
        '/prod/orders,user:bob,,conditional,policy.csv:4,own-rows (restrictions.yaml:2)',
        '/prod/hr/salaries,user:alice,,no,policy.csv:3,',
      ]),
    );
  });

  it('makes a page that needs no other file and runs nothing of a client', async () => {
    const page = await text('report.html');
    expect(page).not.toMatch(/<script|<link|<img|@import|url\(|https?:|javascript:/i);
    expect(page).toContain("default-src 'none'");
    for (const part of [
      '<svg',
      'prefers-color-scheme: dark',
      '@media print',
      'Nothing is wrong with the audit log.',
      '<h2>Denials</h2>',
      'policy.csv:3',
      'KeysCreate',
      '◐',
      '◇',
    ]) {
      expect(page).toContain(part);
    }
    expect(await readFile(join(unsigned, 'report.html'), 'utf8')).toContain('is not signed');
  });

  it('rests on the restrictions that bound a request, by which a report counts too', async () => {
    const { out } = await printed('audit', 'report', '--by', 'restriction', '--json');
    const rows = JSON.parse(out) as readonly { readonly restriction: string | null }[];
    expect(rows.map(({ restriction }) => restriction)).toEqual([null, 'own-rows']);
    expect(rows[1]).toMatchObject({ requests: 1, decisions: { allow: 1 } });
  });

  it('takes the requests of the period alone', async () => {
    const dir = join(await newFolder(), 'none');
    const found = await evidence(
      dir,
      '--until',
      '2020-01-01',
      '--json',
      '--public-key',
      signingKey,
    );
    expect(JSON.parse(found.out)).toMatchObject({
      since: null,
      until: '2020-01-01T00:00:00.000000Z',
      requests: 0,
      findings: [],
      signer: null,
    });
    expect(await readFile(join(dir, 'report.html'), 'utf8')).toContain('No request in this period');
  });

  it.each<[string, (dir: string) => Promise<readonly string[]>, string]>([
    [
      'a folder with something in it',
      async (dir) => {
        await writeFile(join(dir, 'mine'), '');
        return [dir];
      },
      'is not empty: name a new or an empty folder',
    ],
    [
      'a file',
      async (dir) => {
        await writeFile(join(dir, 'mine'), '');
        return [join(dir, 'mine')];
      },
      'is not a folder: name a new or an empty one',
    ],
    ['a folder in none', async (dir) => [join(dir, 'a', 'b')], 'is to be made, is no folder'],
    [
      'the data folder',
      async () => [join(service.data, 'evidence')],
      'is in the data folder, which this command only reads: name a folder elsewhere',
    ],
    [
      'a period that ends before it begins',
      async (dir) => [join(dir, 'a'), '--since', '2026-02-01', '--until', '2026-01-01'],
      '--since 2026-02-01 is not before --until 2026-01-01',
    ],
    [
      'a key that is none',
      async (dir) => [join(dir, 'a'), '--public-key', join(service.data, 'FORMAT')],
      'holds no key in PEM',
    ],
  ])('refuses %s, and writes nothing', async (_, prepare, sentence) => {
    const dir = await newFolder();
    const [target, ...words] = await prepare(dir);
    const before = await contents(dir);
    const { code, out, err } = await evidence(target!, ...words);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(sentence);
    expect(err.trimEnd().split('\n').length).toBe(1);
    expect(await contents(dir)).toEqual(before);
    expect(await readdir(service.data)).not.toContain('evidence');
  });

  it('tells of a log that was changed, in its exit code and on the page', async () => {
    const data = join(await newFolder(), 'data');
    await cp(service.data, data, { recursive: true });
    const folder = join(data, 'private', 'audit');
    const names = await readdir(folder, { recursive: true });
    const log = join(
      folder,
      names.find((name) => name.endsWith('.jsonl'))!,
    );
    const lines = (await readFile(log, 'utf8')).split('\n');
    await writeFile(log, lines.toSpliced(1, 1, '{"half').join('\n'));
    const dir = join(data, '..', 'evidence');
    const found = await evidence(dir, '--data', data, '--public-key', signingKey);
    expect(found).toMatchObject({ code: 1, out: expect.stringContaining('wrong: ') });
    expect(await readFile(join(dir, 'report.html'), 'utf8')).toContain(
      'The audit log has findings',
    );
    expect(await check(dir)).toMatchObject({ code: 0 });
  });
});

describe('arrowgate audit verify --evidence', () => {
  it('holds for a folder as it was written, moved and read elsewhere', async () => {
    const dir = join(await newFolder(), 'moved');
    await cp(signed, dir, { recursive: true });
    const shown = await check(dir, '--public-key', signingKey);
    expect(shown).toMatchObject({ code: 0, err: '' });
    expect(shown.out).toMatch(/^signed at \S+ by the key \S+$/m);
    expect(shown.out).toMatch(/^compared \d+ files of .* with their digests: nothing is wrong$/m);
    expect(shown.out).not.toContain('cannot be known');
  });

  it('says what a check without a key, and one of an unsigned folder, cannot know', async () => {
    expect(await check(signed)).toMatchObject({
      code: 0,
      out: expect.stringContaining('cannot be known: the key was taken from the folder itself'),
    });
    expect(await check(unsigned)).toMatchObject({
      code: 0,
      out: expect.stringContaining('cannot be known: the list of digests is not signed'),
    });
  });

  it.each<[string, (dir: string) => Promise<unknown>, string, string]>([
    [
      'a changed byte',
      (dir) => appendFile(join(dir, 'records.csv'), 'x'),
      'records.csv',
      'changed',
    ],
    ['a missing file', (dir) => rm(join(dir, 'keys.json')), 'keys.json', 'missing'],
    [
      'an additional file',
      (dir) => writeFile(join(dir, 'policies/a'), ''),
      'policies/a',
      'additional',
    ],
    [
      'a file that became a link',
      async (dir) => {
        await cp(join(dir, 'keys.json'), join(dir, '..', 'keys'));
        await rm(join(dir, 'keys.json'));
        await symlink('../keys', join(dir, 'keys.json'));
      },
      'keys.json',
      'changed',
    ],
    [
      'a line of the list that is none',
      (dir) => appendFile(join(dir, 'SHA256SUMS'), `${'0'.repeat(64)}  ../outside\n`),
      'SHA256SUMS',
      'changed',
    ],
    [
      'a list that was made again',
      async (dir) => {
        const path = join(dir, 'SHA256SUMS');
        const { digests } = parseDigests(await readFile(path, 'utf8'));
        await rm(join(dir, 'keys.json'));
        await writeFile(
          path,
          digestsText(new Map([...digests].filter(([name]) => name !== 'keys.json'))),
        );
      },
      'SHA256SUMS.sig.json',
      'wrong signature',
    ],
    [
      'a wrong signature',
      async (dir) => {
        const path = join(dir, 'SHA256SUMS.sig.json');
        await writeFile(
          path,
          (await readFile(path, 'utf8')).replace(/"time":"\d{4}/, '"time":"1999'),
        );
      },
      'SHA256SUMS.sig.json',
      'wrong signature',
    ],
    [
      'a signature that is none',
      (dir) => writeFile(join(dir, 'SHA256SUMS.sig.json'), 'yes'),
      'SHA256SUMS.sig.json',
      'wrong signature',
    ],
    [
      'a signature that was removed',
      (dir) => rm(join(dir, 'SHA256SUMS.sig.json')),
      'SHA256SUMS',
      'unsigned',
    ],
    ['a swapped key', (dir) => signAgain(dir), 'SHA256SUMS.sig.json', 'unknown key'],
    [
      'a swapped public key',
      (dir) => writeKey(join(dir, 'signing-key.pub.pem')),
      'signing-key.pub.pem',
      'unknown key',
    ],
  ])('names %s', async (_, change, file, kind) => {
    const dir = join(await newFolder(), 'evidence');
    await mkdir(dir);
    await cp(signed, dir, { recursive: true });
    await change(dir);
    const { code, out } = await check(dir, '--public-key', signingKey, '--json');
    expect(code).toBe(1);
    const { findings } = JSON.parse(out);
    expect(findings).toContainEqual({ kind, file, text: expect.stringMatching(/\w/) });
    const shown = await check(dir, '--public-key', signingKey);
    expect(shown.out).toContain(`${file}: ${kind}: `);
  });

  it('finds a swapped key by the configured one', async () => {
    const dir = join(await newFolder(), 'evidence');
    await cp(signed, dir, { recursive: true });
    await signAgain(dir);
    expect(await check(dir)).toMatchObject({ code: 0 });
    await service.configure(`audit: { signing_key: ${signingKey} }\n`);
    expect(await check(dir)).toMatchObject({
      code: 1,
      out: expect.stringContaining('unknown key'),
    });
    expect(await check(signed)).toMatchObject({ code: 0 });
    await service.configure('');
  });

  it.each<[string, (dir: string) => readonly string[], string]>([
    [
      'a folder that is not there',
      (dir) => [join(dir, 'none')],
      'is not a folder that `arrowgate audit evidence` wrote',
    ],
    ['a folder of something else', (dir) => [dir], 'has no file SHA256SUMS: name a folder'],
    ['an anchor', (dir) => [dir, '--anchor', 'a'], '--anchor is about the log: leave it out'],
  ])('refuses %s', async (_, words, sentence) => {
    const [dir, ...flags] = words(await newFolder());
    const { code, out, err } = await check(dir!, ...flags);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(sentence);
  });
});

/** Signs a folder with another key, which is put in place of its own. */
async function signAgain(dir: string): Promise<void> {
  const other = join(dir, '..', 'other.pem');
  await writeKey(other);
  const key = await readSigningKey(other);
  const path = join(dir, 'SHA256SUMS');
  await writeFile(join(dir, 'signing-key.pub.pem'), key.public.pem);
  const { digests } = parseDigests(await readFile(path, 'utf8'));
  const digest = createHash('sha256').update(key.public.pem).digest('hex');
  const list = digestsText(new Map([...digests, ['signing-key.pub.pem', digest]]));
  await writeFile(path, list);
  await writeFile(
    join(dir, 'SHA256SUMS.sig.json'),
    signatureText(key, list, '2026-01-01T00:00:00Z'),
  );
}
