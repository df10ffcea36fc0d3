import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { updateKeys } from '../../../src/gateway/identity/key-file.ts';
import { KeyRing } from '../../../src/gateway/identity/key-ring.ts';
import { makeKey, revoked } from '../../../src/gateway/identity/keys.ts';
import { identityBy } from '../../support/key-identity.ts';
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
    expect(identityBy(new KeyRing(path, undefined, () => undefined), made.text)).toEqual({
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
    expect(others.map((text) => identityBy(ring, text).kind)).toEqual(others.map(() => 'unknown'));
  });

  it('judge each credential of a connection by itself, also after its key has ended', async () => {
    const [first, second] = [makeKey(alice, new Date()), makeKey(alice, new Date())];
    await updateKeys(path, () => [first.stored, second.stored]);
    const ring = new KeyRing(path, undefined, () => undefined);
    const connection = {};
    const found = (text: string) => {
      const identity = identityBy(ring, text, connection);
      return identity.kind === 'known' ? identity.principal.credential : identity.kind;
    };
    const last = first.text.at(-1) === 'A' ? 'B' : 'A';
    const texts = [first.text, first.text, first.text.slice(0, -1) + last, second.text, first.text];
    const [one, other] = [first, second].map(({ stored: { id } }) => ({ kind: 'key', id }));
    expect(texts.map(found)).toEqual([one, one, 'unknown', other, one]);
    await updateKeys(path, () => [revoked(first.stored, new Date()), second.stored]);
    await vi.waitFor(() => expect(found(first.text)).toBe('ended'), { timeout: PATIENCE_MILLIS });
    expect(found(second.text)).toEqual(other);
  });

  it('say of an ended key that it has ended, but only to its holder', async () => {
    const gone = makeKey({ ...alice, expires: new Date(0) }, new Date(0));
    const stopped = makeKey(alice, new Date());
    await updateKeys(path, () => [gone.stored, revoked(stopped.stored, new Date())]);
    const ring = new KeyRing(path, undefined, () => undefined);
    expect(identityBy(ring, gone.text)).toMatchObject({ kind: 'ended', state: 'expired' });
    expect(identityBy(ring, stopped.text)).toMatchObject({ kind: 'ended', state: 'revoked' });
    const guess = `agk_${gone.stored.id}_${'A'.repeat(43)}`;
    expect(identityBy(ring, guess)).toEqual({ kind: 'unknown' });
  });

  it('tell when the next of them expires, of those that are not revoked', async () => {
    const ring = new KeyRing(path, undefined, () => undefined);
    expect(ring.nextExpiry).toBeUndefined();
    const [past, soon, later] = [-60_000, 3_600_000, 7_200_000].map(
      (millis) => new Date(Date.now() + millis),
    );
    const keys = [later!, past!, soon!].map(
      (expires) => makeKey({ ...alice, expires }, new Date(0)).stored,
    );
    const sooner = makeKey({ ...alice, expires: new Date(Date.now() + 1_800_000) }, new Date());
    await updateKeys(path, () => [...keys, revoked(sooner.stored, new Date())]);
    expect(ring.nextExpiry).toBe(soon!.getTime());
  });

  it('take any text as the administrator key of the process', () => {
    const ring = new KeyRing(path, 'open sesame', () => undefined);
    expect(identityBy(ring, 'open sesame')).toMatchObject({
      kind: 'known',
      principal: { subject: 'user:admin', roles: ['role:admin'] },
    });
    expect(identityBy(ring, 'open sesam').kind).toBe('unknown');
    expect(identityBy(new KeyRing(path, undefined, () => undefined), '').kind).toBe('unknown');
  });

  it('follow the file: a new key at once, a revoked one soon', async () => {
    const ring = new KeyRing(path, undefined, () => undefined);
    const made = makeKey(alice, new Date());
    await updateKeys(path, () => [made.stored]);
    expect(identityBy(ring, made.text).kind).toBe('known');
    await updateKeys(path, (keys) => keys.map((key) => revoked(key, new Date())));
    await vi.waitFor(() => expect(identityBy(ring, made.text).kind).toBe('ended'), {
      timeout: PATIENCE_MILLIS,
    });
    await rm(path);
    await vi.waitFor(() => expect(identityBy(ring, made.text).kind).toBe('unknown'), {
      timeout: PATIENCE_MILLIS,
    });
  });

  it('end at their time, also for who was known a moment before', async () => {
    const now = new Date();
    const made = makeKey({ ...alice, expires: new Date(now.getTime() + 3_600_000) }, now);
    await updateKeys(path, () => [made.stored]);
    const ring = new KeyRing(path, undefined, () => undefined);
    expect([1, 2].map(() => identityBy(ring, made.text).kind)).toEqual(['known', 'known']);
    vi.useFakeTimers({ toFake: ['Date'], now: now.getTime() + 3_600_001 });
    try {
      expect(identityBy(ring, made.text)).toMatchObject({ kind: 'ended', state: 'expired' });
    } finally {
      vi.useRealTimers();
    }
    expect(identityBy(ring, made.text).kind).toBe('known');
  });

  it('have the roles of the file as it is now, also for who was known before', async () => {
    const made = makeKey(alice, new Date());
    await updateKeys(path, () => [made.stored]);
    const ring = new KeyRing(path, undefined, () => undefined);
    const roles = () => {
      const identity = identityBy(ring, made.text);
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
    expect(identityBy(ring, other.text).kind).toBe('unknown');
    expect(ring.fault).toBe(`${path} is not valid JSON`);
    expect(identityBy(ring, made.text).kind).toBe('known');
    await updateKeysOver(path, [other.stored]);
    await vi.waitFor(() => expect(identityBy(ring, other.text).kind).toBe('known'), {
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
    const guesses = [1, 2].map(() => identityBy(ring, makeKey(alice, new Date()).text).kind);
    expect(guesses).toEqual(['unknown', 'unknown']);
    expect(identityBy(ring, made.text).kind).toBe('known');
    expect(faults).toEqual([`${join(inner, 'keys.json')} cannot be read (ELOOP)`]);
    expect(ring.fault).toBe(faults[0]);
  });

  it('are read on a thread when they are many: unknown keys wait, known ones do not', async () => {
    const many = Array.from({ length: 2000 }, () => makeKey(alice, new Date()));
    await updateKeys(path, () => many.map(({ stored }) => stored));
    const ring = new KeyRing(path, undefined, () => undefined);
    const first = ring.identify(many[1999]!.text);
    expect(first).toBeInstanceOf(Promise);
    expect((await first).kind).toBe('known');
    const added = makeKey(alice, new Date());
    await updateKeys(path, (keys) => [...keys, added.stored]);
    const found = ring.identify(added.text);
    expect(found).toBeInstanceOf(Promise);
    expect(identityBy(ring, many[0]!.text).kind).toBe('known');
    expect((await found).kind).toBe('known');
    expect(identityBy(ring, makeKey(alice, new Date()).text).kind).toBe('unknown');
    await writeFile(path, `{${' '.repeat(2 ** 19)}`);
    expect((await ring.identify(makeKey(alice, new Date()).text)).kind).toBe('unknown');
    expect(ring.fault).toBe(`${path} is not valid JSON`);
    expect(identityBy(ring, many[5]!.text).kind).toBe('known');
  });
});

async function updateKeysOver(target: string, keys: readonly object[]): Promise<void> {
  await writeFile(target, JSON.stringify({ format: 1, keys }));
}
