import { describe, expect, it } from 'vitest';
import type { VendRequest } from '../../../src/storage/vending/credential-vendor.ts';
import { sessionCredentials } from '../../../src/storage/vending/session-credentials.ts';
import type { NewSession } from '../../../src/storage/vending/sts-client.ts';

const DURATION = 900_000;
const request: VendRequest = {
  location: '/s3:/lake/t.lance',
  table: 'id /t',
  subject: 'user:ann/ü b',
  access: 'read',
};

/** Sessions with a clock of their own, and the calls that begin them. */
function sessions(more: { readonly most?: number } = {}) {
  const begun: NewSession[] = [];
  const state = { now: 1_000_000, fault: undefined as Error | undefined };
  const issue = sessionCredentials({
    ...more,
    clock: () => state.now,
    assume: async (session) => {
      begun.push(session);
      if (state.fault !== undefined) throw state.fault;
      const id = `id-${begun.length}`;
      return { id, secret: 's', token: 't', untilMillis: state.now + DURATION };
    },
    optionsOf: ({ id }) => ({ aws_access_key_id: id }),
  });
  const idOf = async (change: Partial<VendRequest> = {}) =>
    (await issue({ ...request, ...change })).options['aws_access_key_id'];
  return { begun, state, issue, idOf };
}

describe('sessions', () => {
  it('are given until a third of their duration is left', async () => {
    const { state, idOf } = sessions();
    expect(await idOf()).toBe('id-1');
    state.now += (DURATION * 2) / 3 - 1;
    expect(await idOf()).toBe('id-1');
    state.now += 1;
    expect(await idOf()).toBe('id-2');
    expect(await idOf()).toBe('id-2');
  });

  it('differ between subjects, tables, names, places and accesses', async () => {
    const { begun, idOf } = sessions();
    const changes: readonly Partial<VendRequest>[] = [
      {},
      { subject: 'user:bob' },
      { table: 'id /other' },
      { table: 'other /t' },
      { location: '/s3:/lake/u.lance' },
      { access: 'read and commit' },
    ];
    const ids = [];
    for (const change of [...changes, ...changes]) ids.push(await idOf(change));
    expect(new Set(ids).size).toBe(changes.length);
    expect(begun).toHaveLength(changes.length);
    expect(begun[0]).toMatchObject({
      name: 'arrowgate-user-ann---b',
      policy: expect.stringContaining('"arn:aws:s3:::lake/t.lance/*"'),
    });
  });

  it('begin once for concurrent requests, and anew after a fault', async () => {
    const { begun, state, idOf } = sessions();
    state.fault = new Error('away');
    await expect(Promise.all([idOf(), idOf()])).rejects.toThrow('away');
    expect(begun).toHaveLength(1);
    state.fault = undefined;
    expect(await Promise.all([idOf(), idOf(), idOf()])).toEqual(['id-2', 'id-2', 'id-2']);
  });

  it('are kept in bounded numbers', async () => {
    const { begun, idOf } = sessions({ most: 2 });
    for (const subject of ['a', 'b', 'c', 'a']) await idOf({ subject });
    expect(begun).toHaveLength(4);
  });

  it('say when they end, and when a client asks for the next one', async () => {
    const { issue, state } = sessions();
    const untilMillis = state.now + DURATION;
    expect(await issue(request)).toEqual({
      untilMillis,
      options: {
        aws_access_key_id: 'id-1',
        expires_at_millis: String(untilMillis),
        refresh_offset_millis: '60000',
      },
    });
  });
});
