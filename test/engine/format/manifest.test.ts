import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Field, Int64, Schema } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { detachedSeal, encodeSealBlock } from '../../../src/arrow/sealed/file-seal.ts';
import { PortionSums } from '../../../src/arrow/sealed/portion-checks.ts';
import { openFile } from '../../../src/arrow/ipc/file-reader.ts';
import { FileWriter } from '../../../src/arrow/ipc/file-writer.ts';
import type { SealedEnd } from '../../../src/arrow/sealed/sealing-writer.ts';
import { projectColumns } from '../../../src/arrow/select.ts';
import {
  decodeManifest,
  encodeManifest,
  type Manifest,
} from '../../../src/engine/format/manifest.ts';
import { bytesAccess } from '../../../src/engine/format/memory/random-access.ts';
import type { Fragment, IndexDefinition } from '../../../src/engine/format/snapshot.ts';

const schema = new Schema([new Field('id', new Int64(), false)]);

const fragments: readonly Fragment[] = [
  {
    files: [
      {
        path: 'data/a.arrow',
        bytes: 2 ** 40,
        fields: [0, 7],
        statistics: Buffer.from([1, 0, 255]),
        seal: 'AAECAwQFBgcICQoLDA0ODxAREhM',
      },
      { path: 'data/ä.arrow', bytes: 1, fields: [] },
    ],
    physicalRows: 2 ** 31,
    rows: 5,
    firstRowId: 2n ** 64n - 1n,
    storedRowIds: false,
    deletions: 'deletions/x.arrow',
    deletionsSeal: '_____wQFBgcICQoLDA0ODxAREhM',
  },
  {
    files: [{ path: 'data/b.arrow', bytes: 0, fields: [3], statistics: Buffer.from([]) }],
    physicalRows: 0,
    rows: 0,
    firstRowId: 0n,
    storedRowIds: true,
    deletions: null,
  },
];

const manifest: Manifest = {
  version: 9n,
  timestampMillis: 12,
  schema,
  fieldIds: [0],
  nextFieldId: 8,
  nextRowId: 2n ** 63n,
  fragments,
};

/** A manifest as it was written before files had statistics. */
async function older(bytes: Uint8Array): Promise<Uint8Array> {
  const file = await openFile(bytesAccess(bytes));
  const names = file.schema.fields
    .map(({ name }) => name)
    .filter((name) => !['statistics', 'seal', 'deletions_seal'].includes(name));
  const batch = projectColumns(await file.readBatch(0), names);
  const writer = new FileWriter(new Schema(batch.schema.fields, file.schema.metadata));
  return Buffer.concat([writer.begin(), ...writer.batch(batch), writer.end()]);
}

const noList = (): never => expect.fail('the manifest names a list');

const read = ({ bytes, seal }: SealedEnd): Promise<Manifest> =>
  decodeManifest(bytes, { path: 'm', seal }, noList);

const index: IndexDefinition = {
  name: 'i',
  uuid: 'u-1',
  type: 'BTREE',
  field: 0,
  createdMillis: 7,
};
const indexFile = { index: 'u-1', field: 0, path: 'indices/u-1/f.arrow', bytes: 5 };

describe('a manifest', () => {
  it('is read as it was written', async () => {
    expect(await read(encodeManifest(manifest))).toEqual(manifest);
  });

  it('may have no file', async () => {
    const empty = { ...manifest, fragments: [] };
    expect(await read(encodeManifest(empty))).toEqual(empty);
  });

  it('has the index files of its fragments', async () => {
    const [first, second] = fragments as [Fragment, Fragment];
    const indexed = [first, { ...second, indices: [indexFile] }];
    const version = { ...manifest, indices: [index], fragments: indexed };
    expect(await read(encodeManifest(version))).toEqual(version);
  });

  it('of the first format is read', async () => {
    const seal = 'HHRlj_L1rnvjck9ARIW-sa2uAco';
    const bytes = await readFile(join(import.meta.dirname, 'manifest-of-format-1.arrow'));
    const [first, second] = fragments as [Fragment, Fragment];
    const file = { ...indexFile, seal: first.deletionsSeal };
    const indexed = [first, { ...second, indices: [file] }];
    expect(await read({ bytes, seal })).toEqual({
      ...manifest,
      indices: [index],
      fragments: indexed,
    });
  });

  it('of an older format is read, without statistics', async () => {
    const bytes = await older(
      await readFile(join(import.meta.dirname, 'manifest-of-format-1.arrow')),
    );
    await expect(decodeManifest(bytes, { path: 'm', seal: undefined }, noList)).rejects.toThrow(
      'm: the seal is missing, and the file is not listed as one from before seals',
    );
    const sums = new PortionSums();
    sums.add(bytes);
    const facts = { contentBytes: bytes.length, tailSum: 0, sums: sums.finish() };
    const { bytes: block } = encodeSealBlock(facts);
    const stored = { path: 'm', seal: detachedSeal(block, 0) };
    const found = await decodeManifest(bytes, stored, noList, block);
    const without = fragments.map((fragment) => ({
      ...fragment,
      deletionsSeal: undefined,
      files: fragment.files.map(({ path, bytes: size, fields }) => ({ path, bytes: size, fields })),
    }));
    const unindexed = found.fragments.map((fragment) => ({ ...fragment, indices: undefined }));
    expect(unindexed).toEqual(without);
    expect(found.fragments[0]?.files[0]).not.toHaveProperty('statistics');
  });
});
