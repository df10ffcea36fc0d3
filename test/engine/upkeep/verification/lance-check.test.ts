import { appendFile, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { headKey, tableKey, versionKey } from '../../../../src/engine/catalog/records/keys.ts';
import { decodeTable } from '../../../../src/engine/catalog/records/records-codec.ts';
import { versionFile } from '../../../../src/engine/format/lance/version-file.ts';
import { decodeVersion, encodeVersion } from '../../../../src/engine/format/version-codec.ts';
import type { Verified } from '../../../../src/engine/upkeep/verification/verifier.ts';
import { manifestFile, messageOf } from '../../../support/lance-table.ts';
import { ManagedTable, manifestOf } from '../../../support/managed-table.ts';

let managed: ManagedTable;
let id: string;

const verify = (): Promise<Verified> => managed.engine.upkeep!.verifier.verify();
const inFolder = (...names: readonly string[]) => join(managed.location, ...names);
const final = (version: bigint, branch = '') =>
  join(branch, '_versions', versionFile(version, 'V2'));

/** Stages a manifest of a version and what it names, and makes it the next one. */
async function commit(version: bigint, branch?: string): Promise<void> {
  const staged = await managed.stage(version, branch === undefined ? {} : { branch });
  const line = branch === undefined ? '' : join('tree', branch);
  await put(join(line, 'data', `${version}.lance`), Buffer.alloc(100));
  await writeFile(`/${staged}`, manifestOf(version, 1, String(version)));
  const body = branch === undefined ? {} : { branch };
  expect((await managed.create(version, staged, body)).status).toBe(200);
}

async function put(name: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(inFolder(name)), { recursive: true });
  await writeFile(inFolder(name), bytes);
}

/** Replaces the manifest of the newest version by one of as many bytes as its record is then told. */
async function replaceHead(bytes: Uint8Array): Promise<void> {
  await writeFile(inFolder(final(2n)), bytes);
  const { store } = managed.engine;
  const record = decodeVersion((await store.get(headKey(id, 'main')))!);
  const value = encodeVersion({ ...record, manifestBytes: bytes.byteLength });
  const keys = [headKey(id, 'main'), versionKey(id, 'main', 2n)];
  await store.commit(
    [],
    keys.map((key) => ({ key, value })),
  );
}

beforeEach(async () => {
  managed = await ManagedTable.open();
  await commit(1n);
  await commit(2n);
  id = decodeTable((await managed.engine.store.get(tableKey(['t'])))!).id;
});

afterEach(async () => managed.close());

describe('a table of Lance clients in order', () => {
  it('is counted with its branches, versions of no chain and what its manifests name', async () => {
    await commit(1n, 'dev');
    await commit(-7n);
    expect(await verify()).toMatchObject({
      tables: 1,
      versions: 4,
      files: 4,
      bytes: 400,
      findings: [],
      orphans: [],
    });
  });

  it('may lack versions and branches that its clients have removed', async () => {
    await commit(1n, 'dev');
    await rm(inFolder(final(1n)));
    await rm(inFolder('data', '1.lance'));
    await rm(inFolder('tree'), { recursive: true });
    expect(await verify()).toMatchObject({ versions: 3, findings: [] });
  });

  it('may name files in the folders of other tables and branches', async () => {
    const file = messageOf([1, 'other.lance'], [6, 100], [7, 0]);
    const deletions = messageOf([3, 1], [4, 1], [7, 0]);
    const fragment = messageOf([2, file], [3, deletions], [4, 2]);
    const staged = await managed.stage(3n);
    const base = messageOf([1, 0], [3, 1], [4, '/elsewhere/other.lance']);
    await writeFile(`/${staged}`, manifestFile(messageOf([2, fragment], [3, 3], [18, base])));
    await managed.create(3n, staged);
    expect(await verify()).toMatchObject({ versions: 3, files: 2, findings: [] });
  });

  it('may be declared only', async () => {
    await managed.further('u');
    expect(await verify()).toMatchObject({ tables: 2, findings: [] });
  });
});

describe('what is wrong with a table of Lance clients is found', () => {
  const newest = final(2n);
  const cases: readonly (readonly [string, () => Promise<unknown>, readonly string[]])[] = [
    [
      'the newest manifest is missing',
      async () => rm(inFolder(newest)),
      [`manifest ${newest} is missing, but version 2 needs it`],
    ],
    [
      'the newest manifest of a branch is missing',
      async () => {
        await commit(1n, 'dev');
        await rm(inFolder(final(1n, 'tree/dev')));
      },
      [`manifest ${final(1n, 'tree/dev')} is missing, but version 1 needs it`],
    ],
    [
      'a manifest has grown',
      async () => appendFile(inFolder(newest), manifestOf(2n, 1, '2')),
      [`manifest ${newest} has 144 bytes, but its record says 72`],
    ],
    [
      'a manifest was cut off',
      async () => truncate(inFolder(newest), 20),
      [`manifest ${newest} cannot be read: the file has another mark`],
    ],
    [
      'a manifest is of another version',
      async () => writeFile(inFolder(newest), manifestOf(9n, 1, '2')),
      [`manifest ${newest} is of version 9, but its record says 2`],
    ],
    [
      'a link has the place of a manifest',
      async () => {
        await rename(inFolder(newest), inFolder('elsewhere'));
        await symlink(inFolder('elsewhere'), inFolder(newest));
      },
      [`manifest ${newest} leads through a link`],
    ],
    [
      'a data file is missing',
      async () => rm(inFolder('data', '2.lance')),
      ['file data/2.lance is missing'],
    ],
    [
      'a data file is of another size',
      async () => appendFile(inFolder('data', '2.lance'), 'more'),
      ['file data/2.lance has 104 bytes, but the manifest says 100'],
    ],
    [
      'a list of deleted rows is missing',
      async () => {
        const file = messageOf([1, '2.lance'], [6, 100]);
        const deletions = messageOf([1, 1], [2, 5], [3, 8], [4, 1]);
        const fragment = messageOf([1, 3], [2, file], [3, deletions], [4, 2]);
        await replaceHead(manifestFile(messageOf([2, fragment], [3, 2])));
      },
      ['file _deletions/3-5-8.bin is missing'],
    ],
    [
      'the newest version is not recorded among the versions',
      async () =>
        managed.engine.store.commit([], [{ key: versionKey(id, 'main', 2n), value: null }]),
      ['head null the newest version 2 is not among the versions'],
    ],
    [
      'there is no newest version',
      async () => managed.engine.store.commit([], [{ key: headKey(id, 'main'), value: null }]),
      ['head null the table has no newest version'],
    ],
  ];

  it.each(cases)('%s', async (_, spoil, told) => {
    await spoil();
    const { findings } = await verify();
    const about = findings.filter(({ kind }) => kind !== 'journal');
    expect(about.every(({ table }) => table === '/t')).toBe(true);
    expect(about.map(({ kind, file, fault }) => `${kind} ${file} ${fault}`)).toEqual(told);
  });
});
