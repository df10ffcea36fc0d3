import { disk } from '../../support/disk.ts';
import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lanceTransaction } from '../../../src/engine/format/lance/lance-transaction.ts';
import { versionFile } from '../../../src/engine/format/lance/version-file.ts';
import { refusalOf } from '../../support/engine-table.ts';
import { ManagedTable } from '../../support/managed-table.ts';

/* What a client may put in the place of a file: to read a pipe keeps a thread of the process for ever, and there are four. */

const TIMES = 5;

let table: ManagedTable;

beforeEach(async () => {
  table = await ManagedTable.open();
  await table.commit(1n);
});

afterEach(() => table.close());

async function pipe(name: string): Promise<string> {
  const path = join(table.location, name);
  await mkdir(dirname(path), { recursive: true });
  execFileSync('mkfifo', [path]);
  return path;
}

const times = Array.from({ length: TIMES }, (_, at) => at);

it('keeps nobody waiting as a manifest that is staged again', async () => {
  const final = versionFile(1n, 'V2');
  const refusals = await Promise.all(
    times.map(async (at) => {
      const path = await pipe(join('_versions', `${final}-${at}`));
      return refusalOf(table.create(1n, path.slice(1)));
    }),
  );
  const another = 'table /t was committed to by someone else: its version 1 is another one';
  expect(refusals).toEqual(times.map(() => `14 ${another}`));
});

it('keeps nobody waiting in the place of the manifest of the next version', async () => {
  await pipe(join('_versions', versionFile(2n, 'V2')));
  const refusals = await Promise.all(times.map(() => refusalOf(table.commit(2n))));
  const external =
    '14 the folder of the table /t holds a manifest of version 2 that was written without the catalog. `arrowgate catalog adopt /t` accepts it or sets it aside';
  expect(refusals).toEqual(times.map(() => external));
});

it('is passed over among branches and tags', async () => {
  const folder = join(table.location, '_refs', 'branches');
  await pipe(join('_refs', 'branches', 'pipe.json'));
  await pipe(join('_refs', 'tags', 'pipe.json'));
  await symlink('/dev/zero', join(folder, 'endless.json'));
  await mkdir(join(folder, 'folder.json'));
  await writeFile(join(table.location, 'elsewhere'), '{"parentVersion":1}');
  await symlink(join(table.location, 'elsewhere'), join(folder, 'linked.json'));
  await writeFile(join(folder, 'long.json'), `{"parentVersion":1}${' '.repeat(2 ** 20)}`);
  const socket = createServer().listen(join(folder, 'socket.json'));
  try {
    const answers = await Promise.all(times.map(() => table.post('branches/list')));
    expect(answers).toEqual(times.map(() => ({ branches: {} })));
    expect(await refusalOf(table.post('branches/delete', { name: 'linked' }))).toContain('22 ');
  } finally {
    socket.close();
  }
});

it('is no transaction', async () => {
  const path = await pipe(join('_transactions', '1-a.txn'));
  expect(path).toContain(table.location);
  const manifest = { transaction: null, transactionFile: '1-a.txn' };
  const newest = join(table.location, '_versions', '1.manifest');
  const read = () => lanceTransaction(disk, newest, manifest);
  expect(await Promise.all(times.map(read))).toEqual(
    times.map(() => ({ id: '1-a.txn', change: null })),
  );
});
