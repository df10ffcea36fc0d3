import { disk } from '../../../support/disk.ts';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Connection } from '@lancedb/lancedb';
import * as fc from 'fast-check';
import { PbfWriter } from 'pbf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeLanceManifest } from '../../../../src/engine/format/lance/lance-manifest-reader.ts';
import { LanceManifestError } from '../../../../src/engine/format/lance/lance-message.ts';
import {
  liveRowCount,
  type LanceManifest,
} from '../../../../src/engine/format/lance/lance-manifest.ts';
import { arrowFields } from '../../../../src/engine/format/lance/lance-schema.ts';
import { readManifestFile } from '../../../../src/engine/format/lance/manifest-file.ts';
import { parseVersionFile } from '../../../../src/engine/format/lance/version-file.ts';
import { manyTypes } from '../../lance/many-types.ts';

let folder: string;
let db: Connection;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-lance-'));
  db = await connect(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The manifests of a table that LanceDB wrote, in the order of their versions. */
async function manifestsOf(table: string): Promise<readonly LanceManifest[]> {
  const versions = join(folder, `${table}.lance`, '_versions');
  const names = (await readdir(versions)).filter((name) => name.endsWith('.manifest'));
  const files = names.toSorted().toReversed();
  return Promise.all(
    files.map(async (name) => {
      const { manifest } = await readManifestFile(disk, join(versions, name));
      expect(parseVersionFile(name)).toEqual({
        version: manifest.version,
        scheme: 'V2',
        staging: '',
      });
      return manifest;
    }),
  );
}

describe('a manifest that LanceDB wrote', () => {
  it('tells versions, fragments and rows of every change', async () => {
    const table = await db.createTable('changed', [
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ]);
    await table.add([{ id: 3, name: 'three' }]);
    await table.delete('id = 1');
    await table.update({ where: 'id = 2', values: { name: 'zwei' } });
    await table.addColumns([{ name: 'twice', valueSql: 'id * 2' }]);
    await table.delete('true');
    const manifests = await manifestsOf('changed');
    expect(manifests.map(({ version }) => version)).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
    const rows = manifests.map(({ fragments }) =>
      fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0n),
    );
    expect(rows).toEqual([2n, 3n, 2n, 2n, 2n, 0n]);
    const listed = await table.listVersions();
    expect(manifests.map(({ timestampMillis }) => timestampMillis)).toEqual(
      listed.map(({ timestamp }) => timestamp.getTime()),
    );
    const [first, , third] = manifests;
    expect(first!.fragments).toHaveLength(1);
    expect(first!.fragments[0]).toMatchObject({ id: 0n, physicalRows: 2n, deletions: null });
    expect(third!.fragments[0]!.deletions).toMatchObject({ rows: 1n });
  });

  it('tells the schema, whatever its types', async () => {
    const schema = manyTypes();
    await db.createEmptyTable('types', schema);
    const [manifest] = await manifestsOf('types');
    const found = arrowFields(manifest!.fields);
    expect(found.map(String)).toEqual(schema.fields.map(String));
    expect(found.map(({ nullable }) => nullable)).toEqual(
      schema.fields.map(({ nullable }) => nullable),
    );
    expect(Object.fromEntries(manifest!.metadata)).toEqual({ owner: 'tests' });
  });
});

describe('bytes that are no manifest', () => {
  it('are refused, never read as one and never anything worse', async () => {
    await db.createTable('short', [{ id: 1 }]);
    const versions = join(folder, 'short.lance', '_versions');
    const [name] = (await readdir(versions)).filter((each) => each.endsWith('.manifest'));
    const whole = await readFile(join(versions, name!));
    const path = join(folder, 'damaged');
    const read = async (bytes: Uint8Array) => {
      await writeFile(path, bytes);
      return readManifestFile(disk, path);
    };
    await expect(read(whole.subarray(0, -1))).rejects.toThrow(LanceManifestError);
    await expect(read(new Uint8Array(0))).rejects.toThrow(LanceManifestError);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), async (place, value) => {
        const damaged = Buffer.from(whole);
        damaged[place] = value;
        try {
          arrowFields((await read(damaged)).manifest.fields);
        } catch (error) {
          expect(error).toBeInstanceOf(LanceManifestError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

/** A manifest of one fragment with one file, whose list of columns is these bytes. */
function withColumns(columns: Uint8Array): Uint8Array {
  const pbf = new PbfWriter();
  pbf.writeMessage(
    2,
    (_, fragment) => {
      fragment.writeMessage(2, (__, file) => file.writeBytesField(2, columns), null);
    },
    null,
  );
  return pbf.finish();
}

const columnsOf = (columns: Uint8Array) =>
  decodeLanceManifest(withColumns(columns)).fragments[0]!.files[0]!.fields;

describe('the list of columns of a file', () => {
  it('may be of any length', () => {
    const columns = columnsOf(new Uint8Array(200_000).fill(7));
    expect([columns.length, columns[199_999]]).toEqual([200_000, 7]);
    expect(columnsOf(Uint8Array.of(...Array.from({ length: 9 }, () => 0xff), 1))).toEqual([-1]);
  });

  it('is refused when a number has more bytes than there are numbers, or has no end', () => {
    const endless = Array.from({ length: 10 }, () => 0xff);
    for (const bytes of [[...endless, 1], endless, [1, 0x80]]) {
      expect(() => columnsOf(Uint8Array.from(bytes))).toThrow(LanceManifestError);
    }
  });
});
