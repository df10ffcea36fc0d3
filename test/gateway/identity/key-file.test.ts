import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyFileError, parseKeys } from '../../../src/gateway/identity/key-document.ts';
import { readKeys, updateKeys } from '../../../src/gateway/identity/key-file.ts';
import { makeKey } from '../../../src/gateway/identity/keys.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-keys-'));
  path = join(folder, 'keys.json');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function someKey(name: string) {
  return makeKey({ subject: `user:${name}`, roles: [], expires: null }, new Date()).stored;
}

describe('the keys file', () => {
  it('does not have to exist', async () => {
    expect(await readKeys(path)).toEqual([]);
  });

  it('keeps what was stored, for its owner alone, and leaves nothing beside it', async () => {
    const scoped = { ...someKey('alice'), scopes: [{ action: 'read', pattern: '/a/*' }] };
    await updateKeys(path, () => [scoped]);
    expect(await readKeys(path)).toEqual([scoped]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  it('loses none of many changes made at once', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => someKey(`u${index}`));
    await Promise.all(keys.map((key) => updateKeys(path, (before) => [...before, key])));
    const ids = (await readKeys(path)).map((key) => key.id);
    expect(ids.toSorted()).toEqual(keys.map((key) => key.id).toSorted());
  });

  it('is left as it was when a change fails, and can be changed again', async () => {
    await updateKeys(path, () => [someKey('alice')]);
    const before = await readFile(path, 'utf8');
    const failing = updateKeys(path, () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await readFile(path, 'utf8')).toBe(before);
    await updateKeys(path, () => []);
    expect(await readKeys(path)).toEqual([]);
  });

  it('can be changed though a process has left its lock that was killed, each change once', async () => {
    await writeFile(`${path}.lock`, '');
    const then = new Date(Date.now() - 3_600_000);
    await utimes(`${path}.lock`, then, then);
    const keys = Array.from({ length: 8 }, (_, index) => someKey(`u${index}`));
    await Promise.all(keys.map((key) => updateKeys(path, (before) => [...before, key])));
    expect(await readKeys(path)).toHaveLength(keys.length);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  it('says who is in the way when the lock is never given back', async () => {
    await writeFile(`${path}.lock`, '');
    await expect(updateKeys(path, () => [])).rejects.toThrow(
      `${path}.lock is held; if no other command is changing keys, remove it`,
    );
  });
});

const good = {
  id: 'abcdefgh',
  subject: 'user:alice',
  roles: ['role:a'],
  hash: 'x'.repeat(43),
  created: '2026-03-01T00:00:00.000Z',
  expires: null,
  revoked: null,
};

function file(...keys: object[]): string {
  return JSON.stringify({ format: 1, keys });
}

describe('a keys file that is not understood is refused whole', () => {
  it.each([
    ['{', 'k is not valid JSON'],
    ['[]', 'k is not a JSON object'],
    ['{"format":2,"keys":[]}', 'k has format 2; this version reads 1'],
    ['{"format":1}', 'k has no list "keys"'],
    [file(good, good), 'k holds two keys with one id'],
    ['{"format":1,"keys":[7]}', 'k: key 1 is not an object'],
    [file(good, { ...good, id: 'x' }), 'k: key 2 has no valid "id"'],
    [file({ ...good, subject: 'alice' }), 'k: key 1 has no valid "subject"'],
    [file({ ...good, roles: ['analyst'] }), 'k: key 1 has no valid "roles"'],
    [file({ ...good, scopes: [{ action: 'read' }] }), 'k: key 1 has no valid "scopes"'],
    [file({ ...good, hash: 'short' }), 'k: key 1 has no valid "hash"'],
    [file({ ...good, created: 'soon' }), 'k: key 1 has no valid "created"'],
    [file({ ...good, expires: undefined }), 'k: key 1 has no valid "expires"'],
    [file({ ...good, revoked: 'never' }), 'k: key 1 has no valid "revoked"'],
  ])('%s', (text, sentence) => {
    expect(() => parseKeys(text, 'k')).toThrow(new KeyFileError(sentence));
  });

  it('and a good one is not', () => {
    expect(parseKeys(file(good), 'k')).toEqual([good]);
  });
});
