import { describe, expect, it } from 'vitest';
import { OverBudget } from '../../src/protocol/budget.ts';
import { ownStatement } from '../../src/engine/base/statement.ts';
import type { LanceStatement } from '../../src/engine/versions/managed/lance-library.ts';
import { StoreLooks } from '../../src/lance/store-looks.ts';
import type { LibraryTask } from '../../src/lance/wire/messages.ts';
import { StorageUnavailable } from '../../src/storage/storage-error.ts';

const away = new StorageUnavailable('the object store lake is unavailable', 1);
const overTime = new OverBudget('time', 5000);
const LONG = 60_000;

const access = { name: 'lake', uri: 's3://lake/t', folder: 't', options: {} };

function taskOn(store: typeof access | undefined): LibraryTask {
  const at = { version: 1, manifest: '_versions/1.manifest' };
  const place = { id: 't', location: '/s3:/lake/t', branch: 'main', at, main: at };
  const table = store === undefined ? place : { ...place, store };
  return { kind: 'count', name: '/t', table, predicate: null };
}

type Run = (signal: AbortSignal) => AsyncGenerator<Uint8Array>;

/** The error that a task fails with, on a store that answers or on one that does not. */
async function errorOf(run: Run, isAway: boolean, millis = LONG, store = true): Promise<unknown> {
  const pool = {
    reuse: () => undefined,
    renew: () => undefined,
    rowBytes: 1,
    run: async (_: LibraryTask, { signal }: LanceStatement) => run(signal()),
  };
  const look = async (): Promise<void> => {
    if (isAway) throw away;
  };
  const looks = new StoreLooks(pool, { look, access: async () => access }, millis);
  try {
    const pieces = await looks.run(taskOn(store ? access : undefined), ownStatement(), {});
    for await (const piece of pieces) expect(piece.byteLength).toBe(1);
    return undefined;
  } catch (error) {
    return error;
  }
}

async function* spends(): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(1);
  throw overTime;
}

async function* waits(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(1);
  await new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the request was aborted')));
  });
}

describe('looks at the object store of a task', () => {
  it('replace the error of spent time if the store does not answer', async () => {
    expect(await errorOf(spends, true)).toBe(away);
    expect(await errorOf(spends, false)).toBe(overTime);
    expect(await errorOf(spends, true, LONG, false)).toBe(overTime);
  });

  it('end a task that waits for a store that does not answer', async () => {
    expect(await errorOf(waits, true, 1)).toBe(away);
  });

  it('leave other errors as they are', async () => {
    const other = new Error('no column x');
    const fails: Run = async function* () {
      yield Uint8Array.of(1);
      throw other;
    };
    expect(await errorOf(fails, true)).toBe(other);
  });

  it('hand on the credentials that a task gets while it runs, each once', async () => {
    const next = { ...access, options: { expires_at_millis: '2' } };
    let asked = 0;
    const given: unknown[] = [];
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const pool = {
      reuse: () => undefined,
      renew: (location: string, store: object) => void given.push([location, store]),
      rowBytes: 1,
      run: async () =>
        (async function* () {
          yield Uint8Array.of(1);
          await ended;
        })(),
    };
    const answers = [access, new Error('the token service is away'), next, next];
    const stores = {
      look: async () => undefined,
      access: async () => {
        const answer = answers[Math.min(asked, answers.length - 1)]!;
        if (++asked > answers.length) end();
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
    const pieces = await new StoreLooks(pool, stores, 1).run(taskOn(access), ownStatement(), {});
    for await (const piece of pieces) expect(piece.byteLength).toBe(1);
    expect(given).toEqual([['/s3:/lake/t', next]]);
  });
});
