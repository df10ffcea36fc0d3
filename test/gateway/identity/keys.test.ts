import { describe, expect, it } from 'vitest';
import {
  credentialHash,
  keyId,
  keyState,
  makeKey,
  revoked,
  rotated,
} from '../../../src/gateway/identity/keys.ts';

const now = new Date('2026-03-01T00:00:00.000Z');
const details = { subject: 'user:alice', roles: ['role:analyst'], expires: null };

describe('a key', () => {
  it('has the documented shape, and only its hash is stored', () => {
    const { text, stored } = makeKey(details, now);
    expect(text).toMatch(/^agk_[a-z0-9]{8,16}_[A-Za-z0-9_-]{43}$/);
    expect(keyId(text)).toBe(stored.id);
    expect(JSON.stringify(stored)).not.toContain(text.split('_').slice(2).join('_'));
    expect(stored.hash).toBe(credentialHash(text).toString('base64url'));
  });

  it('is made anew each time', () => {
    const texts = Array.from({ length: 200 }, () => makeKey(details, now).text);
    expect(new Set(texts).size).toBe(200);
  });

  it.each([
    ['agk_abcdefgh_' + 'x'.repeat(43), 'abcdefgh'],
    ['agk_abcdefg_' + 'x'.repeat(43), undefined],
    ['agk_abcdefghabcdefghi_' + 'x'.repeat(43), undefined],
    ['agk_ABCDEFGH_' + 'x'.repeat(43), undefined],
    ['agk_abcdefgh_' + 'x'.repeat(42), undefined],
    ['agk_abcdefgh_' + 'x'.repeat(44), undefined],
    ['agk_abcdefgh_' + 'x'.repeat(42) + '+', undefined],
    [' agk_abcdefgh_' + 'x'.repeat(43), undefined],
    ['', undefined],
  ])('has the id that its text shows: %s', (text, id) => {
    expect(keyId(text)).toBe(id);
  });

  it('ends at the moment of its expiry', () => {
    const expires = new Date(now.getTime() + 1000);
    const { stored } = makeKey({ ...details, expires }, now);
    expect(keyState(stored, new Date(expires.getTime() - 1))).toBe('active');
    expect(keyState(stored, expires)).toBe('expired');
  });

  it('stays revoked, even after its expiry', () => {
    const { stored } = makeKey({ ...details, expires: new Date(now.getTime() + 1000) }, now);
    const ended = revoked(stored, now);
    expect(keyState(ended, now)).toBe('revoked');
    expect(keyState(ended, new Date(now.getTime() + 5000))).toBe('revoked');
  });
});

describe('rotation', () => {
  const hour = 3_600_000;

  it('gives a successor with the same rights, and both work during the overlap', () => {
    const scopes = [{ action: 'read', pattern: '/prod/**' }];
    const { stored } = makeKey({ ...details, scopes }, now);
    const { old, made } = rotated(stored, hour, now);
    expect(made.stored).toMatchObject({ subject: 'user:alice', roles: ['role:analyst'], scopes });
    expect(made.stored.id).not.toBe(stored.id);
    const during = new Date(now.getTime() + hour - 1);
    expect([keyState(old, during), keyState(made.stored, during)]).toEqual(['active', 'active']);
    const after = new Date(now.getTime() + hour);
    expect([keyState(old, after), keyState(made.stored, after)]).toEqual(['expired', 'active']);
  });

  it('never makes the old key live longer', () => {
    const expires = new Date(now.getTime() + hour / 2);
    const { stored } = makeKey({ ...details, expires }, now);
    expect(rotated(stored, hour, now).old.expires).toBe(expires.toISOString());
  });

  it('gives the successor as long a life as the old key had', () => {
    const { stored } = makeKey({ ...details, expires: new Date(now.getTime() + 10 * hour) }, now);
    const later = new Date(now.getTime() + 4 * hour);
    const { made } = rotated(stored, hour, later);
    expect(made.stored.expires).toBe(new Date(later.getTime() + 10 * hour).toISOString());
  });
});
