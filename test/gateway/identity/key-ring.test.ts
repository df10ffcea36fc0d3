import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { updateKeys } from '../../../src/gateway/identity/key-file.ts';
import { KeyRing } from '../../../src/gateway/identity/key-ring.ts';
import { makeKey, revoked } from '../../../src/gateway/identity/keys.ts';
import { PATIENCE_MILLIS } from '../../support/eventually.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-ring-'));
  path = join(folder, 'keys.json');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const alice = { subject: 'user:alice', roles: ['role:analyst'], expires: null };

describe('the keys in force', () => {
  it('identify the holder of a key, with its roles and scopes', async () => {
    const scopes = [{ action: 'read', pattern: '/**' }];
    const made = makeKey({ ...alice, scopes }, new Date());
    await updateKeys(path, () => [made.stored]);
    expect(new KeyRing(path, undefined, () => undefined).identify(made.text)).toEqual({
      kind: 'known',
      principal: {
        subject: 'user:alice',
        groups: [],
        roles: ['role:analyst'],
        credential: { kind: 'key', id: made.stored.id },
        scopes,
      },
    });
  });

  it('know neither a wrong secret, nor an unknown id, nor any other text', async () => {
    const made = makeKey(alice, new Date());
    await updateKeys(path, () => [made.stored]);
    const ring = new KeyRing(path, undefined, () => undefined);
    const wrong = `agk_${made.stored.id}_${'A'.repeat(43)}`;
    const others = [wrong, makeKey(alice, new Date()).text, made.stored.id, made.stored.hash, ''];
    expect(others.map((text) => ring.identify(text).kind)).toEqual(others.map(() => 'unknown'));
  });

  it('say of an ended key that it has ended, but only to its holder', async () => {
    const gone = makeKey({ ...alice, expires: new Date(0) }, new Date(0));
    const stopped = makeKey(alice, new Date());
    await updateKeys(path, () => [gone.stored, revoked(stopped.stored, new Date())]);
    const ring = new KeyRing(path, undefined, () => undefined);
    expect(ring.identify(gone.text)).toMatchObject({ kind: 'ended', state: 'expired' });
    expect(ring.identify(stopped.text)).toMatchObject({ kind: 'ended', state: 'revoked' });
    const guess = `agk_${gone.stored.id}_${'A'.repeat(43)}`;
    expect(ring.identify(guess)).toEqual({ kind: 'unknown' });
  });

  it('take any text as the administrator key of the process', () => {
    const ring = new KeyRing(path, 'open sesame', () => undefined);
    expect(ring.identify('open sesame')).toMatchObject({
      kind: 'known',
      principal: { subject: 'user:admin', roles: ['role:admin'] },
    });
    expect(ring.identify('open sesam').kind).toBe('unknown');
    expect(new KeyRing(path, undefined, () => undefined).identify('').kind).toBe('unknown');
  });

  it('follow the file: a new key at once, a revoked one soon', async () => {
    const ring = new KeyRing(path, undefined, () => undefined);
    const made = makeKey(alice, new Date());
    await updateKeys(path, () => [made.stored]);
    expect(ring.identify(made.text).kind).toBe('known');
    await updateKeys(path, (keys) => keys.map((key) => revoked(key, new Date())));
    await vi.waitFor(() => expect(ring.identify(made.text).kind).toBe('ended'), {
      timeout: PATIENCE_MILLIS,
    });
    await rm(path);
    await vi.waitFor(() => expect(ring.identify(made.text).kind).toBe('unknown'), {
      timeout: PATIENCE_MILLIS,
    });
  });

  it('end at their time, also for who was known a moment before', async () => {
    const now = new Date();
    const made = makeKey({ ...alice, expires: new Date(now.getTime() + 3_600_000) }, now);
    await updateKeys(path, () => [made.stored]);
    const ring = new KeyRing(path, undefined, () => undefined);
    expect([1, 2].map(() => ring.identify(made.text).kind)).toEqual(['known', 'known']);
    vi.useFakeTimers({ toFake: ['Date'], now: now.getTime() + 3_600_001 });
    try {
      expect(ring.identify(made.text)).toMatchObject({ kind: 'ended', state: 'expired' });
    } finally {
      vi.useRealTimers();
    }
    expect(ring.identify(made.text).kind).toBe('known');
  });

  it('have the roles of the file as it is now, also for who was known before', async () => {
    const made = makeKey(alice, new Date());
    await updateKeys(path, () => [made.stored]);
    const ring = new KeyRing(path, undefined, () => undefined);
    const roles = () => {
      const identity = ring.identify(made.text);
      return identity.kind === 'known' ? identity.principal.roles : [];
    };
    expect([roles(), roles()]).toEqual([['role:analyst'], ['role:analyst']]);
    await updateKeys(path, (keys) => keys.map((key) => ({ ...key, roles: ['role:guest'] })));
    await vi.waitFor(() => expect(roles()).toEqual(['role:guest']), { timeout: PATIENCE_MILLIS });
  });

  it('stay those of the last good file while a bad one lies there', async () => {
    const made = makeKey(alice, new Date());
    await updateKeys(path, () => [made.stored]);
    const ring = new KeyRing(path, undefined, () => undefined);
    await writeFile(path, '{');
    const other = makeKey(alice, new Date());
    expect(ring.identify(other.text).kind).toBe('unknown');
    expect(ring.fault).toBe(`${path} is not valid JSON`);
    expect(ring.identify(made.text).kind).toBe('known');
    await updateKeysOver(path, [other.stored]);
    await vi.waitFor(() => expect(ring.identify(other.text).kind).toBe('known'), {
      timeout: PATIENCE_MILLIS,
    });
    expect(ring.fault).toBeUndefined();
  });

  it('stay while nothing can be said about their file', async () => {
    const inner = join(folder, 'inner');
    await mkdir(inner);
    const made = makeKey(alice, new Date());
    await updateKeys(join(inner, 'keys.json'), () => [made.stored]);
    const faults: string[] = [];
    const ring = new KeyRing(join(inner, 'keys.json'), undefined, (fault) => faults.push(fault));
    await rename(inner, join(folder, 'aside'));
    await symlink('inner', inner);
    const guesses = [1, 2].map(() => ring.identify(makeKey(alice, new Date()).text).kind);
    expect(guesses).toEqual(['unknown', 'unknown']);
    expect(ring.identify(made.text).kind).toBe('known');
    expect(faults).toEqual([`${join(inner, 'keys.json')} cannot be read (ELOOP)`]);
    expect(ring.fault).toBe(faults[0]);
  });
});

async function updateKeysOver(target: string, keys: readonly object[]): Promise<void> {
  await writeFile(target, JSON.stringify({ format: 1, keys }));
}
