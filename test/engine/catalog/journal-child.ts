import { disk } from '../../support/disk.ts';
import { openJournal } from '../../../src/engine/catalog/journal/journal.ts';
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts';

/**
 * Commits through a journal, several at a time, until it is killed. Prints
 * `<sequence> <key>` of each change after it is acknowledged. Arguments: folder
 * of the store, folder of the journal, prefix of the keys.
 */
const [stored = '', folder = '', name = ''] = process.argv.slice(2);
const journal = await openJournal(disk, folder, await openEmbeddedStore(stored), {
  rotateBytes: 5000,
});
for (let round = 0; ; round++) {
  await Promise.all([0, 1, 2].map((lane) => commitOne(`${name}/${round}/${lane}`)));
}

async function commitOne(key: string): Promise<void> {
  const result = await journal.commit([], [{ key, value: Buffer.from(key) }]);
  if (result.kind !== 'committed') throw new Error(result.kind);
  process.stdout.write(`${result.sequence} ${key}\n`);
}
