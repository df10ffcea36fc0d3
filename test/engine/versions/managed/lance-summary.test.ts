import { disk } from '../../../support/disk.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { PbfWriter } from 'pbf';
import { describe, expect, it } from 'vitest';
import type { VersionRecord } from '../../../../src/engine/format/records.ts';
import { readManifestFile } from '../../../../src/engine/format/lance/manifest-file.ts';
import { lanceVersions } from '../../../../src/engine/format/lance/versions.ts';
import { lanceSummary } from '../../../../src/engine/versions/managed/lance-summary.ts';
import { testFolders } from '../../../support/folder.ts';

/* What the log says of the versions that LanceDB writes. */

const newFolder = testFolders();

/** What each version of a folder did to the one before. */
async function summaries(folder: string) {
  const versions = await lanceVersions(disk, folder);
  const made = [];
  for (const [at, { version, manifest: file }] of versions.entries()) {
    const before = versions[at - 1];
    const record = before && ({ version: before.version } as VersionRecord);
    const previous = before && (await readManifestFile(disk, before.manifest)).manifest;
    const { manifest } = await readManifestFile(disk, file);
    expect(manifest.version).toBe(version);
    made.push(
      await lanceSummary(
        disk,
        folder,
        { record, manifest: previous },
        { table: 'id', manifest, file },
      ),
    );
  }
  return made;
}

describe('the record of a commit of LanceDB', () => {
  it('tells updates from rows that came and went', async () => {
    const root = await newFolder();
    const rows = Array.from({ length: 100 }, (_, id) => ({ id, price: id / 2 }));
    const table = await (await connect(root)).createTable('t', rows);
    await table.add([{ id: 100, price: 1 }]);
    await table.update({ where: 'id < 30', valuesSql: { price: 'price * 2' } });
    await table.delete('id >= 90');
    await table.addColumns([{ name: 'twice', valueSql: 'price * 2' }]);
    await table.dropColumns(['twice']);
    const made = await summaries(join(root, 't.lance'));
    const shared = { table: 'id', statement: null, rowsChanged: 0n, columns: [] };
    expect(made).toMatchObject([
      { ...shared, baseVersion: null, rowsAdded: 100n, rowsRemoved: 0n, schemaChanged: true },
      { ...shared, rowsAdded: 1n, rowsRemoved: 0n, schemaChanged: false },
      { ...shared, rowsAdded: 0n, rowsRemoved: 0n, rowsChanged: 30n, schemaChanged: false },
      { ...shared, rowsAdded: 0n, rowsRemoved: 11n, statement: 'delete where id >= 90' },
      { ...shared, rowsAdded: 0n, rowsRemoved: 0n, schemaChanged: true, columns: ['twice'] },
      { ...shared, rowsAdded: 0n, rowsRemoved: 0n, schemaChanged: true, columns: ['twice'] },
    ]);
  });

  it('names the columns that an update said it gave other values, by the column that each field lies in', async () => {
    const root = await newFolder();
    const rows = Array.from({ length: 10 }, (_, id) => ({ id, price: { net: id, tax: 1 } }));
    const table = await (await connect(root)).createTable('t', rows);
    await table.update({ where: 'id < 3', valuesSql: { id: 'id + 100' } });
    const folder = join(root, 't.lance');
    const [before, made] = await lanceVersions(disk, folder);
    const previous = (await readManifestFile(disk, before!.manifest)).manifest;
    const { manifest } = await readManifestFile(disk, made!.manifest);
    const { id } = manifest.fields.find(({ name }) => name === 'tax')!;
    await writeFile(join(folder, '_transactions', 'said.txn'), updateOf([id]));
    const next = { ...manifest, transaction: null, transactionFile: 'said.txn' };
    const record = { version: before!.version } as VersionRecord;
    const summary = await lanceSummary(
      disk,
      folder,
      { record, manifest: previous },
      { table: 'id', manifest: next, file: made!.manifest },
    );
    expect(summary).toMatchObject({
      rowsAdded: 0n,
      rowsRemoved: 0n,
      rowsChanged: 3n,
      schemaChanged: false,
      columns: ['price'],
    });
  });
});

/** A transaction that updated fields. */
function updateOf(ids: readonly number[]): Uint8Array {
  const pbf = new PbfWriter();
  pbf.writeMessage(
    108,
    (fields: readonly number[], update) => update.writePackedVarint(4, [...fields]),
    ids,
  );
  return pbf.finish();
}
