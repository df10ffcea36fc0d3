import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { versionFile } from '../../../../src/engine/format/lance/version-file.ts';
import { OwnFiles } from '../../../../src/engine/versions/managed/lance-files.ts';
import { disk } from '../../../support/disk.ts';
import { refusalOf } from '../../../support/engine-table.ts';
import { manifestFile, messageOf, type MessageField } from '../../../support/lance-table.ts';
import { ManagedTable } from '../../../support/managed-table.ts';

/** Manifests that refer to parts that they do not have: the Lance library panics on most of them. */

const TOP: MessageField = [4, 2n ** 64n - 1n];
const field = (id: number, name: string, type = 'int64', parent: MessageField = TOP) =>
  [1, messageOf([2, name], [3, id], parent, [5, type])] as const;
const packed = (...numbers: readonly number[]): Uint8Array => Uint8Array.from(numbers);
const columns: readonly MessageField[] = [field(0, 'id'), field(1, 'name', 'string')];

const data = (...more: readonly MessageField[]): MessageField => [
  2,
  messageOf([1, 'a.lance'], [2, packed(0, 1)], [3, packed(0, 1)], [4, 2], [5, 1], ...more),
];
const fragment = (id: number | bigint, ...parts: readonly MessageField[]): MessageField => [
  2,
  messageOf([1, id], [4, 10], ...parts),
];
const deletion = (...parts: readonly MessageField[]): MessageField => [
  3,
  messageOf([2, 1], [3, 7], ...parts),
];
const rowIds: MessageField = [5, Buffer.alloc(0)];
const flagged: MessageField = [9, 2];

/** Parts of a manifest, and why it is refused. */
const faults: readonly (readonly [readonly MessageField[], string])[] = [
  [
    [...columns, fragment(4, data([7, 9]))],
    'data file a.lance of fragment 4 has the base path 9, which the manifest does not define',
  ],
  [
    [...columns, fragment(4, data(), deletion([4, 1], [7, 9]))],
    'deletion file 4-1-7.arrow has the base path 9, which the manifest does not define',
  ],
  [
    [...columns, fragment(4, data(), deletion([4, 11]))],
    'deletion file 4-1-7.arrow deletes 11 of 10 rows',
  ],
  [[...columns, fragment(4, data()), fragment(4, data())], 'fragment 4 is there twice'],
  [[...columns, fragment(2n ** 32n, data())], 'fragment 4294967296 has an id above 4294967295'],
  [[...columns, fragment(4)], 'fragment 4 has no data file'],
  [[...columns, fragment(4, data(), [4, 2n ** 32n])], 'fragment 4 has more than 4294967295 rows'],
  [
    [...columns, fragment(4, data([2, packed(1)], [3, packed(2)]))],
    'data file a.lance of fragment 4 has a field twice',
  ],
  [
    [...columns, fragment(4, data([2, packed(7)]))],
    'data file a.lance of fragment 4 has 3 fields and 2 columns',
  ],
  [
    [...columns, fragment(4, data()), fragment(5, data([4, 0], [5, 0]))],
    'data file a.lance has the format 0.1, and a.lance the format 2.1',
  ],
  [
    [...columns, fragment(4, data()), fragment(5, data(), rowIds)],
    'fragment 4 has no row ids, which the fragments of this table have',
  ],
  [
    [...columns, fragment(4, data()), flagged],
    'fragment 4 has no row ids, which the fragments of this table have',
  ],
  [[field(0, 'id'), field(0, 'name')], 'field "name" has the id 0, which another field has'],
  [[field(0, 'id'), field(1, 'id')], 'field "id" is there twice'],
  [[[1, messageOf([2, 'n'], [3, 2n ** 64n - 5n], TOP, [5, 'int64'])]], 'field "n" has the id -5'],
  [
    [field(0, 'id'), field(1, 'in', 'int64', [4, 50])],
    'field "in" lies in field 50, which is not another field of the schema',
  ],
  [
    [field(0, 'id'), field(1, 'in', 'int64', [4, 1])],
    'field "in" lies in field 1, which is not another field of the schema',
  ],
  [[field(0, 'all', 'list')], 'field "all" has the type list, and no field of its items'],
  [
    [field(0, 'v', 'fixed_size_list:float:x')],
    'field "v" has the type fixed_size_list:float:x without a size',
  ],
];

/** Manifests that look odd, and that the library reads. */
const sound: readonly (readonly [string, readonly MessageField[]])[] = [
  ['a field of a dropped column', [field(0, 'id'), fragment(4, data())]],
  [
    'fields that are not used any more',
    [
      ...columns,
      fragment(4, data([2, messageOf([0, 2n ** 64n - 2n]).subarray(1)], [3, packed(1)])),
    ],
  ],
  [
    'a file of the first format',
    [...columns, fragment(4, [2, messageOf([1, 'a'], [2, packed(0)])])],
  ],
  ['row ids of all fragments', [...columns, fragment(4, data(), rowIds), flagged]],
  ['a list and its items', [field(0, 'all', 'list.struct'), field(1, 'item', 'struct', [4, 0])]],
];

const manifest = (version: number, parts: readonly MessageField[]): Buffer =>
  manifestFile(messageOf(...parts, [3, version]));

let table: ManagedTable;

beforeAll(async () => {
  table = await ManagedTable.open();
  await table.commit(1n);
});

afterAll(() => table.close());

async function staged(parts: readonly MessageField[], version = 2): Promise<string> {
  const name = join('_versions', `${versionFile(BigInt(version), 'V2')}-staged`);
  await table.put(name, manifest(version, parts));
  return table.keyOf(name);
}

describe('a staged manifest', () => {
  it.each(faults)('%# is refused', async (parts, why) => {
    const key = await staged(parts);
    await table.refuses(
      () => table.create(2n, key),
      `13 manifest_path ${JSON.stringify(key)} cannot be read by Lance: ${why}`,
    );
  });

  it.each(sound)('with %s is committed', async (_, parts) => {
    const one = await table.further(`t${sound.findIndex(([, each]) => each === parts)}`);
    const name = join('_versions', `${versionFile(1n, 'V2')}-staged`);
    await one.put(name, manifest(1, parts));
    expect((await one.create(1n, one.keyOf(name))).status).toBe(200);
  });
});

describe('a committed manifest that is damaged', () => {
  it.each(faults)('%# is not given to the library', async (parts, why) => {
    const name = join('_versions', 'damaged.manifest');
    await table.put(name, manifest(1, parts));
    const place = { id: why, path: ['t'], location: table.location };
    const read = new OwnFiles(disk).require({ ...place, at: { version: 1n, manifest: name } });
    expect(await refusalOf(read)).toBe(
      `18 the manifest of version 1 of table /t cannot be read: ${why}`,
    );
  });

  it('is a finding of a verification, and is not adopted', async () => {
    const [[parts, why]] = faults as readonly [(typeof faults)[number]];
    const damaged = await table.further('damaged');
    await damaged.commit(1n);
    const name = join('_versions', versionFile(1n, 'V2'));
    await writeFile(join(damaged.location, name), manifest(1, parts));
    const { findings } = await table.engine.upkeep!.verifier.verify({ table: ['damaged'] });
    expect(findings.map(({ file, fault }) => [file, fault])).toContainEqual([
      name,
      `cannot be read by Lance: ${why}`,
    ]);
    const outside = await table.further('outside');
    await outside.put(name, manifest(1, parts));
    await outside.post('version/list');
    expect(await refusalOf(outside.commit(2n))).toContain(why);
  });
});
