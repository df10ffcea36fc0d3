import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts';
import { WriteLock } from '../../../src/store/embedded/write-lock.ts';
import { WriteTurn } from '../../../src/store/embedded/write-turn.ts';
import { eventually } from '../../support/eventually.ts';
import { testFolders } from '../../support/folder.ts';

const newFolder = testFolders();
const always = () => true;
const WAIT_MILLIS = 40;

let folder: string;
let path: string;
let turns: WriteTurn[];

beforeEach(async () => {
  folder = await newFolder();
  path = join(folder, 'write.lock');
  turns = [];
});

afterEach(() => {
  for (const turn of turns) turn.close();
});

/** A turn as another process has it: each opens the file for itself. */
function newTurn(waitMillis = WAIT_MILLIS): WriteTurn {
  const turn = new WriteTurn(folder, waitMillis);
  turns.push(turn);
  return turn;
}

/** What a wait that ended says. */
function sentence(holder = `the process ${process.pid}`): string {
  return `${holder} has not let others write to the embedded store for 0.04 s (coordination.wait); continue or end that process, then try again`;
}

describe('the turn to write', () => {
  it('belongs to one at a time, and to the next when it ends', async () => {
    const [first, second] = [newTurn(), newTurn()];
    await first.take(always);
    let taken = false;
    const taking = second.take(always).then(() => {
      taken = true;
    });
    await eventually(() => expect(second.presentMillis).toBeGreaterThan(2 * WAIT_MILLIS));
    expect([taken, first.presentMillis]).toEqual([false, 0]);
    first.release();
    await taking;
    expect(second.presentMillis).toBe(0);
    // Who waits for it in the same process waits like others.
    await expect(second.during(() => undefined)).rejects.toMatchObject({ kind: 'busy' });
    second.release();
    expect(await first.during(() => 'done')).toBe('done');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('is refused in time with the holder, counted, and a fault until there is one again', async () => {
    const [first, second] = [newTurn(), newTurn()];
    await first.take(always);
    await expect(second.during(() => undefined)).rejects.toMatchObject({
      kind: 'busy',
      message: `nothing was written: ${sentence()}`,
    });
    expect([second.timeouts, second.fault()]).toEqual([1, sentence()]);
    expect([first.timeouts, first.fault()]).toEqual([0, undefined]);
    first.release();
    await second.during(() => undefined);
    expect([second.timeouts, second.fault()]).toEqual([1, undefined]);
  });

  it('passes from one that writes again and again to one that waits', async () => {
    const [busy, other] = [newTurn(), newTurn()];
    const over = new AbortController();
    const writing = (async () => {
      while (!over.signal.aborted) {
        await busy.take(always);
        await setImmediate();
        busy.release();
      }
    })();
    for (let turn = 0; turn < 20; turn++) {
      await other.take(always);
      other.release();
    }
    over.abort();
    await writing;
  });

  it('is not kept free for one that waits no longer', async () => {
    const [first, gone] = [newTurn(), newTurn()];
    await first.take(always);
    await expect(gone.during(() => undefined)).rejects.toMatchObject({ kind: 'busy' });
    gone.close();
    for (let turn = 0; turn < 3; turn++) {
      first.release();
      await first.take(always);
    }
  });

  it.each(['', 'x'.repeat(500), 'holder 1x\nwaiting\n', `holder ${'9'.repeat(60)}`])(
    'does not depend on the lines of the file: %j',
    async (text) => {
      const [first, second] = [newTurn(), newTurn()];
      await writeFile(path, text);
      await first.take(always);
      await writeFile(path, text);
      const refused = second.during(() => undefined).catch((error: Error) => error.message);
      expect(await refused).toBe(`nothing was written: ${sentence('another process')}`);
      first.release();
      await second.take(always);
    },
  );

  it('is that of the file that the folder holds', async () => {
    const [first, second] = [newTurn(), newTurn()];
    await first.take(always);
    await rm(path);
    second.renew();
    await second.take(always);
    first.release();
    second.release();
  });

  it('ends its wait when it is closed and no commit needs it', async () => {
    const [first, second] = [newTurn(), newTurn()];
    await first.take(always);
    let needed = true;
    const taking = second.take(() => needed).catch((error: Error) => error.message);
    await eventually(() => expect(second.presentMillis).toBeGreaterThan(WAIT_MILLIS));
    second.stop();
    needed = false;
    expect(await taking).toBe('the store is closed');
  });
});

describe('the embedded store beside a process that does not end its write', () => {
  /** Longer than a commit takes on a machine that does other work. */
  const PATIENT_MILLIS = 3000;

  it('refuses commits one by one, answers reads, and commits again after it', async () => {
    const store = await openEmbeddedStore(folder, { waitMillis: PATIENT_MILLIS });
    const put = (key: string) => store.commit([], [{ key, value: Buffer.from(key) }]);
    await put('a');
    const lock = new WriteLock(folder);
    await eventually(() => expect(lock.tryTake()).toBe(true));
    const refusals = await Promise.allSettled([put('b'), put('c'), store.forget([1n])]);
    expect(refusals).toEqual(
      refusals.map(() => ({
        status: 'rejected',
        reason: expect.objectContaining({ kind: 'busy', message: expect.any(String) }),
      })),
    );
    expect(store.writeWaits?.timeouts).toBe(3);
    expect(Buffer.from((await store.get('a'))!).toString()).toBe('a');
    await expect(openEmbeddedStore(folder, { waitMillis: PATIENT_MILLIS })).rejects.toMatchObject({
      kind: 'busy',
    });
    lock.release();
    await eventually(() => expect(store.writeWaits?.fault()).toBeUndefined());
    expect(await put('d')).toEqual({ kind: 'committed', sequence: 2n });
    expect(await store.getMany(['b', 'c'])).toEqual([undefined, undefined]);
    expect(await store.sequence()).toBe(2n);
    lock.close();
    await store.close();
  });

  it('closes while the other holds the turn', async () => {
    const store = await openEmbeddedStore(folder, { waitMillis: PATIENT_MILLIS });
    const lock = new WriteLock(folder);
    await eventually(() => expect(lock.tryTake()).toBe(true));
    const refused = store.commit([], [{ key: 'a', value: null }]).catch((error: Error) => error);
    await store.close();
    expect(await refused).toMatchObject({ kind: 'busy' });
    lock.close();
  });
});
