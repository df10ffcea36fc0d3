import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { updateKeys } from '../../../src/gateway/identity/key-file.ts';
import { KeyRing } from '../../../src/gateway/identity/key-ring.ts';
import { frozen } from '../../../src/gateway/identity/keys.ts';
import { identityBy } from '../../support/key-identity.ts';
import { run } from '../captured.ts';

let data: string;

beforeEach(async () => {
  data = join(await mkdtemp(join(tmpdir(), 'arrowgate-cli-')), 'data');
});

afterEach(async () => {
  await rm(join(data, '..'), { recursive: true, force: true });
});

interface Listed {
  readonly id: string;
  readonly subject: string;
  readonly roles: readonly string[];
  readonly scopes?: readonly object[];
  readonly expires: string | null;
  readonly state: string;
}

async function listed(): Promise<readonly Listed[]> {
  const { lines } = await run('keys', 'list', '--json', '--data', data);
  return JSON.parse(lines[0]!) as readonly Listed[];
}

const keysFile = (): string => join(data, 'private', 'keys.json');

function ring(): KeyRing {
  return new KeyRing(keysFile(), undefined, () => undefined);
}

async function create(...words: readonly string[]): Promise<string> {
  const { code, lines } = await run('keys', 'create', '--data', data, ...words);
  expect(code).toBe(0);
  return lines[0]!;
}

describe('keys create', () => {
  it('prints the key once and stores what it may do, in a folder that is private', async () => {
    const text = await create('--subject', 'alice', '--role', 'analyst', '--role', 'role:loader');
    expect(ring().identify(text)).toMatchObject({
      kind: 'known',
      principal: { subject: 'user:alice', roles: ['role:analyst', 'role:loader'] },
    });
    const path = join(data, 'private', 'keys.json');
    expect(await readFile(path, 'utf8')).not.toContain(text.slice(-43));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(data, 'private'))).mode & 0o777).toBe(0o700);
  });

  it('gives the key a context, which its successor has too', async () => {
    const words = ['--context', 'region=eu', '--context', 'team=a=b'];
    const id = (await create('--subject', 'alice', ...words)).split('_')[1]!;
    const { lines } = await run('keys', 'rotate', id, '--json', '--data', data);
    const successor = JSON.parse(lines[0]!) as { readonly key: string };
    const context = new Map([
      ['region', 'eu'],
      ['team', 'a=b'],
    ]);
    expect(ring().identify(successor.key)).toMatchObject({ principal: { context } });
    expect(await listed()).toMatchObject([
      { id, context: { region: 'eu', team: 'a=b' } },
      { context: { region: 'eu', team: 'a=b' } },
    ]);
    const table = (await run('keys', 'list', '--data', data)).lines[0]!;
    expect(table.split('\n')[1]).toContain('region=eu team=a=b');
  });

  it('takes scopes, a lifetime, and names of any letters', async () => {
    await create(
      '--subject',
      'Zoë B',
      '--scope',
      'read:/prod/**',
      '--scope',
      'QueryTable:/x',
      '--expires',
      '90d',
    );
    const [key] = await listed();
    expect(key).toMatchObject({
      subject: 'user:Zo%C3%AB%20B',
      scopes: [
        { action: 'read', pattern: '/prod/**' },
        { action: 'QueryTable', pattern: '/x' },
      ],
    });
    const days = (Date.parse(key!.expires!) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(89.9);
    expect(days).toBeLessThanOrEqual(90);
  });

  it.each([
    [['--subject', 'role:admin'], 'arrowgate: role:admin is a role, but a user is needed'],
    [['--subject', ''], 'arrowgate: a name is empty'],
    [
      ['--subject', 'user:a b'],
      'arrowgate: user:a b is not in its canonical spelling: write user:a%20b',
    ],
    [['--subject', 'a', '--role', 'user:b'], 'arrowgate: user:b is a user, but a role is needed'],
    [
      ['--subject', 'a', '--scope', 'read'],
      'arrowgate: the scope read is not written ACTION:PATTERN, such as read:/prod/**',
    ],
    [
      ['--subject', 'a', '--context', 'region'],
      'arrowgate: the context region is not written KEY=VALUE',
    ],
    [
      ['--subject', 'a', '--context', 'region='],
      'arrowgate: the context region= is not written KEY=VALUE',
    ],
    [
      ['--subject', 'a', '--context', 'Region=eu'],
      'arrowgate: the key Region of a context is not 1 to 64 lower-case letters, digits, dashes and underscores',
    ],
    [
      ['--subject', 'a', '--context', 'a=b', '--context', 'a=c'],
      'arrowgate: the context has two values of a',
    ],
    [
      ['--subject', 'a', '--scope', 'fly:/x'],
      'arrowgate: unknown action "fly" in a scope: write an operation or an access group, such as read',
    ],
    [
      ['--subject', 'a', '--scope', 'read:x/y'],
      'arrowgate: the pattern "x/y" does not begin with "/": write /x/y',
    ],
    [
      ['--subject', 'a', '--expires', '365251d'],
      'arrowgate: --expires is "365251d", but must be at most 365250d',
    ],
    [
      ['--subject', 'a', '--expires', 'soon'],
      'arrowgate: --expires is "soon", but must be a duration such as 24h or 90d',
    ],
    [[], "error: required option '--subject <name>' not specified"],
    [['--subject', 'a', '--frob'], "error: unknown option '--frob'"],
  ])('refuses %j', async (words, sentence) => {
    const { code, lines, notes } = await run('keys', 'create', '--data', data, ...words);
    expect({ code, lines, note: notes[0] }).toEqual({ code: 2, lines: [], note: sentence });
  });
});

describe('keys list', () => {
  it('shows no hash, and a state for each', async () => {
    const text = await create('--subject', 'alice');
    await create('--subject', 'bob', '--role', 'analyst');
    await run('keys', 'revoke', text.split('_')[1]!, '--data', data);
    const keys = await listed();
    expect(keys.map((key) => [key.subject, key.state])).toEqual([
      ['user:alice', 'revoked'],
      ['user:bob', 'active'],
    ]);
    expect(JSON.stringify(keys)).not.toContain('hash');
    const { lines } = await run('keys', 'list', '--data', data);
    expect(lines[0]!.split('\n').map((line) => line.split(/ {2,}/).length)).toEqual([9, 9, 9]);
  });
});

describe('keys revoke and rotate', () => {
  it('end a key, at once or after an overlap', async () => {
    const text = await create('--subject', 'alice', '--role', 'analyst');
    const id = text.split('_')[1]!;
    const rotated = await run('keys', 'rotate', id, '--overlap', '1h', '--json', '--data', data);
    const successor = JSON.parse(rotated.lines[0]!) as { readonly key: string };
    const keys = ring();
    expect([identityBy(keys, text).kind, identityBy(keys, successor.key).kind]).toEqual([
      'known',
      'known',
    ]);
    expect((await run('keys', 'revoke', id, '--data', data)).lines).toEqual([`revoked ${id}`]);
    expect(ring().identify(text)).toMatchObject({ kind: 'ended', state: 'revoked' });
  });

  it('leave a frozen key frozen until it is thawed', async () => {
    const text = await create('--subject', 'alice');
    const id = text.split('_')[1]!;
    const refused = async (...words: readonly string[]) => {
      const { code, notes } = await run('keys', ...words, '--data', data);
      return [code, ...notes];
    };
    expect(await refused('thaw', id)).toEqual([
      2,
      `arrowgate: the key ${id} is not frozen, but active`,
    ]);
    expect(await refused('thaw', 'nothere1')).toEqual([
      2,
      'arrowgate: there is no key nothere1: `arrowgate keys list` has all of them',
    ]);
    await updateKeys(keysFile(), (keys) => keys.map((key) => frozen(key, new Date())));
    expect(ring().identify(text)).toMatchObject({ kind: 'ended', state: 'frozen' });
    expect((await listed()).map(({ state }) => state)).toEqual(['frozen']);
    const sentence = `the key ${id} is frozen: an administrator can thaw it with arrowgate keys thaw ${id}`;
    expect(await refused('rotate', id)).toEqual([2, `arrowgate: ${sentence}`]);
    expect((await run('keys', 'thaw', id, '--data', data)).lines).toEqual([`thawed ${id}`]);
    expect(identityBy(ring(), text).kind).toBe('known');
    await updateKeys(keysFile(), (keys) => keys.map((key) => frozen(key, new Date())));
    expect((await run('keys', 'revoke', id, '--data', data)).lines).toEqual([`revoked ${id}`]);
    expect(await refused('thaw', id)).toEqual([
      2,
      `arrowgate: the key ${id} is not frozen, but revoked`,
    ]);
  });

  it('take the id from a whole key, so that no log has its secret', async () => {
    const text = await create('--subject', 'alice');
    const id = text.split('_')[1]!;
    await updateKeys(keysFile(), (keys) => keys.map((key) => frozen(key, new Date())));
    expect((await run('keys', 'thaw', text, '--data', data)).lines).toEqual([`thawed ${id}`]);
    const cut = text.slice(0, -3);
    expect((await run('keys', 'revoke', cut, '--data', data)).lines).toEqual([`revoked ${id}`]);
    expect((await run('keys', 'rotate', text, '--data', data)).notes).toEqual([
      `arrowgate: the key ${id} is revoked already`,
    ]);
    const log = join(data, 'private', 'audit');
    const files = (await readdir(log, { recursive: true })).filter((name) =>
      name.endsWith('.jsonl'),
    );
    const texts = await Promise.all(files.map((name) => readFile(join(log, name), 'utf8')));
    expect(texts.join('')).toContain(id);
    expect(texts.join('')).not.toContain(text.slice(-20, -5));
  });

  it('refuse a key that is not there, or has ended', async () => {
    const text = await create('--subject', 'alice');
    const id = text.split('_')[1]!;
    await run('keys', 'revoke', id, '--data', data);
    expect(await run('keys', 'revoke', id, '--data', data)).toMatchObject({
      code: 2,
      notes: [`arrowgate: the key ${id} is revoked already`],
    });
    expect(await run('keys', 'rotate', 'nothere1', '--data', data)).toMatchObject({
      code: 2,
      notes: ['arrowgate: there is no key nothere1: `arrowgate keys list` has all of them'],
    });
  });
});

describe('keys move', () => {
  it('is refused with the embedded store, and where no data folder is', async () => {
    await create('--subject', 'alice');
    const embedded = await run('keys', 'move', '--data', data);
    expect([embedded.code, embedded.notes]).toEqual([
      2,
      [
        'arrowgate: keys are shared through Redis: name it with --redis; with the embedded store they stay in the data folder',
      ],
    ]);
    const nowhere = join(data, 'nowhere');
    const words = ['keys', 'move', '--data', nowhere, '--redis', 'redis://127.0.0.1:1'];
    const { code, notes } = await run(...words);
    expect([code, notes.join()]).toEqual([2, expect.stringContaining('is not a data folder')]);
  });

  it('needs a secret of the right form', async () => {
    await create('--subject', 'alice');
    const path = join(data, 'private', 'key-secret');
    await writeFile(path, 'short\n');
    const words = ['keys', 'list', '--data', data, '--redis', 'redis://127.0.0.1:1'];
    expect((await run(...words)).notes).toEqual([
      `arrowgate: ${path} has no key secret: it must be 32 random bytes in base64url, 43 characters`,
    ]);
    await writeFile(path, `${'a'.repeat(43)}\n`);
    expect((await run(...words)).notes).toEqual([
      `arrowgate: ${keysFile()} holds keys of its own, but the gateways of this catalog share their keys: arrowgate keys move adds the keys of the file to them`,
    ]);
  });
});
