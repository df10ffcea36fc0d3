import { execFileSync } from 'node:child_process';
import { openEmbeddedStore } from '../../src/store/embedded/store.ts';
import { StoreError } from '../../src/store/store-error.ts';

/**
 * Commits again and again while the system refuses every write, and once more when it does not.
 * Prints how often which result came, and the result of the last commit, as JSON.
 * Argument: folder.
 */
const ROUNDS = 60;
const WRITERS = 8;

const [folder = ''] = process.argv.slice(2);
const store = await openEmbeddedStore(folder);
const results: Record<string, number> = {};
process.on('SIGXFSZ', () => undefined);
for (let round = 0; round < ROUNDS; round++) await write(round);
limitFiles('512');
for (let round = 0; round < ROUNDS; round++) await write(round);
limitFiles('unlimited');
const after = await store.commit([], [{ key: 'after', value: Buffer.from('after') }]);
await store.close();
process.stdout.write(`${JSON.stringify({ results, after: after.kind })}\n`);

/** Some commits at once, whose values leave free pages behind. */
async function write(round: number): Promise<void> {
  await Promise.all(Array.from({ length: WRITERS }, (_, at) => commit(`k${at}`, 3000 * round)));
}

async function commit(key: string, bytes: number): Promise<void> {
  const result = await store.commit([], [{ key, value: Buffer.alloc(bytes % 20_000) }]).then(
    ({ kind }) => kind,
    (error: unknown) => (error instanceof StoreError ? error.kind : 'another error'),
  );
  results[result] = (results[result] ?? 0) + 1;
}

function limitFiles(bytes: string): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
}
