import { expect, it } from 'vitest';
import { Sessions } from '../../src/console/sessions/sessions.ts';
import { openNotes } from '../../src/store/open/open-store.ts';
import { testFolders } from '../support/folder.ts';

/** Sessions of the console on the notes of an embedded store. */

const newFolder = testFolders();
const MOST = 5;
const HOUR = 3_600_000;
const credential = { kind: 'key', text: 'agk_aaaaaaaaaaaa_secret' } as const;

interface Clocked {
  readonly sessions: Sessions;
  readonly clock: { now: number };
  readonly stored: () => Promise<number>;
}

async function newSessions(): Promise<Clocked> {
  const folder = await newFolder();
  const clock = { now: Date.parse('2026-01-01T00:00:00Z') };
  const open = () => openNotes({ redis: null, catalog: 'default', folder }, 'sessions');
  const sessions = new Sessions(open, { now: () => clock.now, most: MOST });
  return { sessions, clock, stored: async () => (await (await open()).all()).length };
}

it('ends a session after half an hour without a request', async () => {
  const { sessions, clock, stored } = await newSessions();
  const cookie = await sessions.begin(credential);
  for (let round = 0; round < 3; round++) {
    clock.now += HOUR / 2 - 1;
    expect(await sessions.find(cookie)).toEqual(credential);
  }
  clock.now += HOUR / 2;
  expect(await sessions.find(cookie)).toBeUndefined();
  expect(await stored()).toBe(0);
});

it('ends a session after eight hours, however busy it is', async () => {
  const { sessions, clock } = await newSessions();
  const cookie = await sessions.begin(credential);
  for (let quarter = 1; quarter < 32; quarter++) {
    clock.now += HOUR / 4;
    expect(await sessions.find(cookie)).toEqual(credential);
  }
  clock.now += HOUR / 4;
  expect(await sessions.find(cookie)).toBeUndefined();
});

it('has a maximum, beyond which the longest idle session ends', async () => {
  const { sessions, clock, stored } = await newSessions();
  const first = await sessions.begin(credential);
  clock.now += 1;
  const second = await sessions.begin(credential);
  clock.now += HOUR / 4;
  expect(await sessions.find(first)).toEqual(credential);
  for (let count = 2; count <= MOST; count++) await sessions.begin(credential);
  expect(await stored()).toBe(MOST);
  expect(await sessions.find(first)).toEqual(credential);
  expect(await sessions.find(second)).toBeUndefined();
});

it.each(['', 'x', '../../keys.json', 'A'.repeat(43), `${'A'.repeat(42)}/`])(
  'knows no session %j',
  async (cookie) => {
    const { sessions } = await newSessions();
    await sessions.begin(credential);
    expect(await sessions.find(cookie)).toBeUndefined();
  },
);

it('says what to do while sessions cannot be stored, and recovers', async () => {
  const folder = await newFolder();
  let isAway = true;
  const sessions = new Sessions(async () => {
    if (isAway) throw new Error('EROFS');
    return openNotes({ redis: null, catalog: 'default', folder }, 'sessions');
  });
  await expect(sessions.begin(credential)).rejects.toMatchObject({
    row: { code: 17 },
    message: expect.stringContaining('use a key in the header x-api-key'),
  });
  isAway = false;
  expect(await sessions.find(await sessions.begin(credential))).toEqual(credential);
});
