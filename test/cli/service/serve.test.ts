import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MODEL } from '../../gateway/harness.ts';

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const ALL = 'p, role:admin, /**, *, allow\n';

let folder: string;
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-serve-'));
  children = [];
  await mkdir(join(folder, 'policies'));
  await writeFile(join(folder, 'policies', 'model.conf'), MODEL);
  await writeFile(join(folder, 'policies', 'policy.csv'), ALL);
});

afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  /** Lines of standard output. */
  readonly lines: AsyncIterator<string>;
  readonly errors: () => string;
}

/** Starts the program in the test's folder, as a user would. */
function launch(words: readonly string[], environment: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { child, lines, errors: () => errors };
}

async function listening(started: Started): Promise<{ url: string; pid: number }> {
  const line = await started.lines.next();
  if (line.done === true) throw new Error(`it did not start: ${started.errors()}`);
  const told = JSON.parse(line.value) as { event: string; url: string; pid: number };
  expect(told.event).toBe('listening');
  return told;
}

/** Runs the program to its end. */
async function finish(words: readonly string[], environment?: Record<string, string>) {
  const started = launch(words, environment);
  const [code] = (await once(started.child, 'close')) as [number | null];
  return { code, errors: started.errors() };
}

async function listTables(url: string, key: string): Promise<Response> {
  return fetch(`${url}/v1/table`, { headers: { 'x-api-key': key } });
}

async function auditText(): Promise<string> {
  const audit = join(folder, 'data', 'private', 'audit');
  const names = (await readdir(audit, { recursive: true })).filter((name) =>
    name.endsWith('.jsonl'),
  );
  const texts = await Promise.all(names.map((name) => readFile(join(audit, name), 'utf8')));
  return texts.join('');
}

describe('arrowgate serve', () => {
  it('makes the first administrator key, serves with it, and stops on SIGTERM with its records written', async () => {
    const started = launch(['serve', '--port', '0']);
    const { url, pid } = await listening(started);
    expect(pid).toBe(started.child.pid);
    const path = join(folder, 'data', 'private', 'initial-admin-key');
    const key = (await readFile(path, 'utf8')).trim();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'data', 'private'))).mode & 0o777).toBe(0o700);
    expect(started.errors()).not.toContain(key);
    const reply = await listTables(url, key);
    expect([reply.status, await reply.json()]).toEqual([200, { tables: [] }]);
    started.child.kill('SIGTERM');
    const [code] = (await once(started.child, 'exit')) as [number];
    expect(code).toBe(0);
    const audit = await auditText();
    expect(audit).toContain(reply.headers.get('x-arrowgate-decision-id'));
    expect(audit).not.toContain(key.slice(-43));
  });

  it('makes no further key when it starts again', async () => {
    const first = launch(['serve', '--port', '0']);
    await listening(first);
    first.child.kill('SIGINT');
    expect(await once(first.child, 'exit')).toEqual([0, null]);
    const keys = join(folder, 'data', 'private', 'keys.json');
    const before = await readFile(keys, 'utf8');
    const second = launch(['serve', '--port', '0']);
    const { url } = await listening(second);
    expect(await readFile(keys, 'utf8')).toBe(before);
    const key = (
      await readFile(join(folder, 'data', 'private', 'initial-admin-key'), 'utf8')
    ).trim();
    expect((await listTables(url, key)).status).toBe(200);
  });

  it('takes an administrator key for the process, and then makes none', async () => {
    const started = launch(['serve'], { ARROWGATE_PORT: '0', ARROWGATE_ADMIN_KEY: 'my own key' });
    const { url } = await listening(started);
    expect((await listTables(url, 'my own key')).status).toBe(200);
    expect((await listTables(url, 'another')).status).toBe(401);
    expect(await readdir(join(folder, 'data', 'private'))).not.toContain('initial-admin-key');
  });

  it('knows a key that is made and revoked while it runs', async () => {
    const { url } = await listening(launch(['serve', '--port', '0', '--admin-key', 'root']));
    const made = launch(['keys', 'create', '--subject', 'alice']);
    const key = String((await made.lines.next()).value);
    expect((await listTables(url, key)).status).toBe(200);
    expect((await finish(['keys', 'revoke', key.split('_')[1]!])).code).toBe(0);
    await expect.poll(async () => (await listTables(url, key)).status).toBe(401);
  });

  it('follows its policy files', async () => {
    const { url } = await listening(launch(['serve', '--port', '0', '--admin-key', 'root']));
    const describeRoot = async () =>
      (
        await fetch(`${url}/v1/namespace/a/describe`, {
          method: 'POST',
          headers: { 'x-api-key': 'root' },
        })
      ).status;
    expect(await describeRoot()).toBe(404);
    await writeFile(join(folder, 'policies', 'policy.csv'), `${ALL}p, user:admin, /a, *, deny\n`);
    await expect.poll(describeRoot).toBe(403);
    await writeFile(join(folder, 'policies', 'policy.csv'), 'nonsense\n');
    const ready = async () => (await fetch(`${url}/readyz`)).text();
    await expect.poll(ready).toBe('{"status":"degraded"}');
    expect(await describeRoot()).toBe(403);
  });

  it('warns when the policy gives administrators nothing', async () => {
    await writeFile(join(folder, 'policies', 'policy.csv'), 'p, user:bob, /**, *, allow\n');
    const started = launch(['serve', '--port', '0']);
    await listening(started);
    expect(started.errors()).toContain('the policy gives role:admin nothing');
  });

  it('warns of a variable that is misspelt', async () => {
    const started = launch(['serve', '--port', '0'], { ARROWGATE_PROT: '1' });
    await listening(started);
    expect(started.errors()).toContain('ARROWGATE_PROT');
  });
});

describe('a start that cannot be', () => {
  it('says so in one sentence when the port is taken', async () => {
    const taken = createServer();
    taken.listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const result = await finish(['serve', '--port', String(port)]);
    taken.close();
    expect(result).toEqual({
      code: 2,
      errors: `arrowgate: port ${port} of 127.0.0.1 is in use by another program\n`,
    });
  });

  it('names the lines of a refused policy', async () => {
    await writeFile(join(folder, 'policies', 'policy.csv'), 'p, role:admin, /**, *, alow\n');
    const result = await finish(['serve', '--port', '0']);
    expect(result.code).toBe(2);
    expect(result.errors).toMatch(/^policy\.csv:1: .*\n$/);
    expect(await readdir(folder)).toEqual(['policies']);
  });

  it('names the file and the line of a refused configuration', async () => {
    await writeFile(join(folder, 'arrowgate.yaml'), 'listen:\n  prot: 1\n');
    expect(await finish(['serve'])).toEqual({
      code: 2,
      errors: 'arrowgate: arrowgate.yaml:2: listen.prot is not a key of the configuration\n',
    });
  });

  it('names the keys file that is not understood', async () => {
    await mkdir(join(folder, 'data', 'private'), { recursive: true });
    const keys = join(folder, 'data', 'private', 'keys.json');
    await writeFile(keys, '{}');
    expect(await finish(['serve', '--port', '0'])).toEqual({
      code: 2,
      errors: `arrowgate: ${keys} has format undefined; this version reads 1\n`,
    });
  });

  it('names a data folder that is none', async () => {
    await writeFile(join(folder, 'data'), '');
    const result = await finish(['serve', '--port', '0']);
    expect(result.code).toBe(2);
    expect(result.errors).toMatch(/^arrowgate: .*data is a file, but must be a folder\n$/);
  });

  it('names a case of the policy that fails, and a folder that does not match its digest file', async () => {
    const cases = join(folder, 'policies', 'cases.yaml');
    await writeFile(
      cases,
      'cases:\n  - { subject: user:a, action: QueryTable, object: /x, expect: allow, because: all read }\n',
    );
    expect(await finish(['serve', '--port', '0'])).toEqual({
      code: 2,
      errors: [
        'cases.yaml:2: user:a QueryTable /x is denied (no line decides), expected allow: all read',
        'cases.yaml: 1 of 1 cases fail: correct policy.csv, or the cases that no longer hold',
        '',
      ].join('\n'),
    });
    await rm(cases);
    expect((await finish(['policy', 'seal'])).code).toBe(0);
    await writeFile(join(folder, 'policies', 'policy.csv'), `${ALL}# more\n`);
    const { code, errors } = await finish(['serve', '--port', '0']);
    expect([code, errors]).toEqual([
      2,
      'policy.sha256: the folder does not match its digest file: policy.csv has another digest; when every file is written, run "arrowgate policy seal" on the folder, or remove the digest file\n',
    ]);
    expect(await readdir(folder)).toEqual(['policies']);
  });
});
