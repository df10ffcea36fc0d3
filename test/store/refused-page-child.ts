import { execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { openEmbeddedStore } from '../../src/store/embedded/store.ts';
import type { CommitResult, Store } from '../../src/store/store.ts';

/**
 * Commits a value so large that it lies on pages that were not there before, and has the system
 * refuse every write from the moment on at which all of it is written, but not flushed: what is
 * refused then is the page that makes the commit count. Prints what became of the commit, what the
 * store says of a key that was there before, and what became of a commit after it, as JSON.
 * Arguments: folder, how many stores are made in it, each for one such commit.
 */
const VALUE_BYTES = 32 * 2 ** 20;

const [folder = '', count = '0'] = process.argv.slice(2);
process.on('SIGXFSZ', () => undefined);
for (let index = 0; index < Number(count); index++) {
  const own = join(folder, String(index));
  const store = await openEmbeddedStore(own);
  await store.commit([], [{ key: 'kept', value: Buffer.from('kept') }]);
  const large = await refused(store, join(own, 'data.mdb'));
  const kept = Buffer.from((await store.get('kept')) ?? []).toString();
  const after = await store.commit([], [{ key: 'after', value: Buffer.from('after') }]);
  await store.close();
  process.stdout.write(`${JSON.stringify({ large, kept, after: after.kind })}\n`);
}

async function refused(store: Store, file: string): Promise<CommitResult['kind']> {
  const expected = (await stat(file)).size + VALUE_BYTES;
  const done = new AbortController();
  const committed = store
    .commit([], [{ key: 'large', value: Buffer.alloc(VALUE_BYTES) }])
    .finally(() => done.abort());
  while (!done.signal.aborted && (await stat(file)).size < expected) await turn();
  limitFiles('512');
  const { kind } = await committed;
  limitFiles('unlimited');
  return kind;
}

function limitFiles(bytes: string): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
}
