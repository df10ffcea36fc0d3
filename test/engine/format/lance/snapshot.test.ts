import { disk } from '../../../support/disk.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Schema } from 'apache-arrow';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaToJson } from '../../../../src/arrow/json-schema.ts';
import { decodeLanceManifest } from '../../../../src/engine/format/lance/lance-manifest-reader.ts';
import { LanceManifestError } from '../../../../src/engine/format/lance/lance-message.ts';
import { arrowFields } from '../../../../src/engine/format/lance/lance-schema.ts';
import { lanceSnapshot, type LanceSnapshot } from '../../../../src/engine/format/lance/snapshot.ts';
import { arrow, lancedb } from '../../../clients/lancedb.ts';
import { lanceTable, manifestFile, manifestName, messageOf } from '../../../support/lance-table.ts';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lance-'));
});

afterAll(async () => rm(folder, { recursive: true, force: true }));

/** The table in a folder at a version. */
async function at(table: string, version: bigint): Promise<LanceSnapshot> {
  const manifest = join('_versions', manifestName(version));
  return lanceSnapshot(disk, table, { version, manifest, staging: manifest, manifestBytes: 0 });
}

/** The schema of a table whose manifest lists these fields. */
function schemaOf(...fields: readonly Uint8Array[]): Schema {
  const manifest = decodeLanceManifest(messageOf(...fields.map((field) => [1, field] as const)));
  return new Schema([...arrowFields(manifest.fields)]);
}

describe('a table that LanceDB wrote', () => {
  it('has the schema that LanceDB gave it, in both vocabularies', async () => {
    const { Field } = arrow;
    const item = (type: ConstructorParameters<typeof Field>[1]) => new Field('item', type, true);
    const point = new arrow.Struct([
      new Field('x', new arrow.Float64(), true),
      new Field('y', new arrow.Utf8(), false),
    ]);
    const schema = new arrow.Schema(
      [
        new Field('id', new arrow.Int64(), false),
        new Field('text', new arrow.Utf8(), true, new Map([['made', 'hére']])),
        new Field('vector', new arrow.FixedSizeList(3, item(new arrow.Float32())), true),
        new Field('list', new arrow.List(item(new arrow.Int32())), true),
        new Field('point', point, true),
        new Field('points', new arrow.List(item(point)), true),
        new Field('zoned', new arrow.Timestamp(arrow.TimeUnit.MICROSECOND, 'UTC'), true),
        new Field('local', new arrow.Timestamp(arrow.TimeUnit.MILLISECOND), true),
        new Field('price', new arrow.Decimal(2, 10, 128), true),
        new Field('word', new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()), true),
        new Field('code', new arrow.FixedSizeBinary(4), true),
        new Field('day', new arrow.DateDay(), true),
        new Field('flag', new arrow.Bool(), true),
        new Field('bytes', new arrow.Binary(), true),
        new Field('half', new arrow.Float16(), true),
      ],
      new Map([['owner', 'ann']]),
    );
    const db = await lancedb.connect(folder);
    await db.createEmptyTable('types', schema);
    const found = await at(join(folder, 'types.lance'), 1n);
    expect(found).toMatchObject({ version: 1n, fragments: [], numIndices: 0 });
    for (const vocabulary of ['lance', 'namespace'] as const) {
      expect(schemaToJson(found.schema, vocabulary)).toEqual(schemaToJson(schema, vocabulary));
    }
  });

  it('has the rows, deletions, sizes and indices of each of its versions', async () => {
    const db = await lancedb.connect(folder);
    const rows = Array.from({ length: 300 }, (_, id) => ({ id, word: `word ${id}` }));
    const table = await db.createTable('rows', rows);
    await table.add([{ id: 300, word: 'last' }]);
    await table.delete('id < 10');
    await table.createIndex('id', { config: lancedb.Index.btree() });
    await table.createIndex('word', { config: lancedb.Index.btree() });
    const place = join(folder, 'rows.lance');
    const rowsOf = ({ fragments }: LanceSnapshot) =>
      fragments.map((fragment) => [fragment.rows, fragment.deletedRows]);
    expect(rowsOf(await at(place, 1n))).toEqual([[300, 0]]);
    expect(rowsOf(await at(place, 2n))).toEqual([
      [300, 0],
      [1, 0],
    ]);
    const newest = await at(place, BigInt(await table.version()));
    expect(rowsOf(newest)).toEqual([
      [290, 10],
      [1, 0],
    ]);
    const stats = await table.stats();
    expect(newest).toMatchObject({ numIndices: 2 });
    expect(stats).toMatchObject({ numRows: 291, numIndices: 2 });
    for (const { bytes } of newest.fragments) expect(bytes).toBeGreaterThan(0);
  });
});

describe('lanceSnapshot', () => {
  it('refuses a version that is not there', async () => {
    const table = await lanceTable(join(folder, 'two'), 2);
    expect(await at(table, 1n)).toMatchObject({ version: 1n });
    await expect(at(table, 3n)).rejects.toMatchObject({
      row: { code: 11 },
      message: 'the table has no version 3',
    });
  });

  const column = (type: string, id = 0, parent = -1n) =>
    messageOf([2, 'c'], [3, id], [4, BigInt.asUintN(64, parent)], [5, type], [6, 1]);

  it.each([
    ['lance.unheard', 'binary'],
    ['list', 'binary'],
    ['json', 'large_binary'],
    ['blob', 'large_binary'],
    ['timestamp:us:America/New_York', 'timestamp:us:America/New_York'],
    ['time:us', 'time64:us'],
  ])('shows the type %s as %s', (type, shown) => {
    const schema = schemaOf(column(type));
    expect(schemaToJson(schema, 'lance').fields).toEqual([
      { name: 'c', type: { type: shown }, nullable: true },
    ]);
  });

  it('keeps a struct of which it does not know a part', () => {
    const parts = [column('struct', 1), column('lance.unheard', 2, 1n), column('int8', 3, 1n)];
    const schema = schemaOf(...parts);
    const member = (type: string) => ({ name: 'c', type: { type }, nullable: true });
    expect(schemaToJson(schema, 'lance').fields).toEqual([
      {
        name: 'c',
        type: { type: 'struct', fields: [member('binary'), member('int8')] },
        nullable: true,
      },
    ]);
  });

  const short = messageOf([1, column('int32')]).subarray(0, -1);
  const far = manifestFile(messageOf([3, 1]));
  far.writeBigUInt64LE(2n ** 63n, far.length - 16);
  const long = manifestFile(messageOf([3, 1]));
  long.writeUInt32LE(1000, 0);
  const damaged: readonly (readonly [string, Uint8Array, string])[] = [
    ['nothing', Buffer.alloc(0), 'the file is too short'],
    ['another file', Buffer.alloc(100), 'the file has another mark'],
    ['a part beyond the end', far, 'a part lies beyond the end of the file'],
    ['a length beyond the end', long, 'a part of 1000 bytes does not fit in the file'],
    ['a message that is cut short', manifestFile(short), 'its message is damaged'],
    ['a number that is cut short', manifestFile(Buffer.from([0x80])), 'its message is damaged'],
    ['a number without end', manifestFile(Buffer.alloc(11, 0xff)), 'its message is damaged'],
    ['an unknown kind', manifestFile(Buffer.from([0x0b])), 'its message is damaged'],
    [
      'a name that is no text',
      manifestFile(messageOf([1, messageOf([2, Buffer.from([0xff])])])),
      'a text is not UTF-8',
    ],
    [
      'fields in themselves',
      manifestFile(messageOf([1, column('struct', 5)], [1, column('struct', 5, 5n)])),
      'a field lies in several others',
    ],
    [
      'a type without end',
      manifestFile(
        messageOf([1, column(`${'fixed_size_list:'.repeat(99)}int8${':1'.repeat(99)}`)]),
      ),
      'a type nests too deep',
    ],
    [
      'a count that is no count',
      manifestFile(messageOf([2, messageOf([4, 2n ** 63n])])),
      'a count is too large',
    ],
    [
      'indices beyond the end',
      manifestFile(messageOf([6, 10_000])),
      'a part lies beyond the end of the file',
    ],
  ];

  it.each(damaged)('says what is wrong with a manifest: %s', async (_, bytes, why) => {
    const table = await lanceTable(join(folder, 'damaged'));
    await writeFile(join(table, '_versions', manifestName(1n)), bytes);
    await expect(at(table, 1n)).rejects.toMatchObject({
      row: { code: 18 },
      message: `the manifest of version 1 of the table cannot be read: ${why}`,
    });
  });

  it('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeLanceManifest(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(LanceManifestError);
        }
      }),
    );
  });
});
