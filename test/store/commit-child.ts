import { openEmbeddedStore } from '../../src/store/embedded/store.ts';
import type { Store } from '../../src/store/store.ts';

/**
 * Commits one after the other to a store, each with a key of its own and one
 * more on a total that all processes share. Prints the sequence number of each
 * commit after it is acknowledged, and `! <why>` when the outcome of one is
 * unknown, which ends it. Arguments: folder, prefix of the keys, count.
 */
const [folder = '', name = '', count = '0'] = process.argv.slice(2);
const store = await openEmbeddedStore(folder);
for (let index = 0; index < Number(count); index++) {
  const sequence = await commitOne(store, `${name}/${String(index).padStart(6, '0')}`);
  process.stdout.write(`${sequence}\n`);
  if (typeof sequence === 'string') break;
}
await store.close();

async function commitOne(to: Store, key: string): Promise<bigint | string> {
  for (;;) {
    const before = await to.get('total');
    const total = before === undefined ? 0 : Number(Buffer.from(before).toString());
    const result = await to.commit(
      [{ kind: 'value', key: 'total', value: before ?? null }],
      [
        { key: 'total', value: Buffer.from(String(total + 1)) },
        { key, value: Buffer.from(key) },
      ],
    );
    if (result.kind === 'committed') return result.sequence;
    if (result.kind === 'unknown') return `! ${result.reason}`;
  }
}
