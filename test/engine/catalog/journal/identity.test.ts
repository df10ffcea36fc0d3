import { disk } from '../../../support/disk.ts';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openFormat } from '../../../../src/engine/catalog/journal/data-format.ts';
import { openIdentity, type Identity } from '../../../../src/engine/catalog/journal/identity.ts';
import { openPlace } from '../../../../src/engine/catalog/journal/journal-place.ts';
import { openJournal, type Journal } from '../../../../src/engine/catalog/journal/journal.ts';
import { CATALOG_KEY } from '../../../../src/engine/catalog/records/keys.ts';
import type { Store } from '../../../../src/store/store.ts';
import { refusalOf } from '../../../support/catalog.ts';
import { testFolders } from '../../../support/folder.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const newFolder = testFolders();
let data: string;
let store: MemoryStore;

beforeEach(async () => {
  data = await newFolder();
  store = new MemoryStore();
});

async function open(over: Store = store): Promise<Identity> {
  const folder = join(data, 'catalog');
  await openPlace(disk, { data, journal: folder });
  const journal = await openJournal(disk, folder, over);
  try {
    return await openIdentity(disk, folder, over, journal);
  } finally {
    await journal.close();
  }
}

async function put(value: string | null): Promise<void> {
  await store.commit([], [{ key: CATALOG_KEY, value: value === null ? null : Buffer.from(value) }]);
}

describe('the identity of a catalog', () => {
  it('is made where folder and store are fresh, and stays', async () => {
    const { id, check } = await open();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(check).toEqual({ kind: 'value', key: CATALOG_KEY, value: Buffer.from(id) });
    expect(await readFile(join(data, 'catalog', 'id'), 'utf8')).toBe(id);
    expect(store.contents().get(CATALOG_KEY)).toBe(id);
    const names = await readdir(join(data, 'catalog'));
    expect(names.filter((name) => !name.startsWith('journal-'))).toEqual(['id']);
    expect((await open()).id).toBe(id);
  });

  it('is another for each catalog', async () => {
    const { id } = await open();
    data = await newFolder();
    store = new MemoryStore();
    expect((await open()).id).not.toBe(id);
  });

  it('holds in a commit only while the store carries it', async () => {
    const { check } = await open();
    expect((await store.commit([check], [])).kind).toBe('committed');
    await put('another');
    expect(await store.commit([check], [])).toEqual({ kind: 'conflict', check: 0 });
  });

  it('refuses a store that was wiped, and one of another catalog', async () => {
    const { id } = await open();
    expect(await refusalOf(open(new MemoryStore()))).toBe(
      `17 ServiceUnavailable: the store does not carry this catalog's id, which is ${id}; it carries none`,
    );
    await put('another');
    expect(await refusalOf(open())).toBe(
      `17 ServiceUnavailable: the store does not carry this catalog's id, which is ${id}; it carries another`,
    );
  });

  it('refuses a fresh folder on the store of another catalog, and founds nothing there', async () => {
    await put('another');
    const before = store.contents();
    const held = await store.changes(10);
    expect(await refusalOf(open())).toBe(
      "17 ServiceUnavailable: the store does not carry this catalog's id, the data folder carries none; it carries another",
    );
    expect(store.contents()).toEqual(before);
    expect(await store.changes(10)).toEqual(held);
    expect(await readdir(join(data, 'catalog'))).toEqual([]);
  });

  it('is finished when a crash came before the store had it', async () => {
    await writeFile(join(data, 'FORMAT'), '2\n');
    await mkdir(join(data, 'catalog'));
    await writeFile(join(data, 'catalog', 'id.proposed'), 'proposed');
    expect((await open()).id).toBe('proposed');
    expect(store.contents().get(CATALOG_KEY)).toBe('proposed');
  });

  it('is finished when a crash came before the folder had it for good', async () => {
    await writeFile(join(data, 'FORMAT'), '2\n');
    await mkdir(join(data, 'catalog'));
    await writeFile(join(data, 'catalog', 'id.proposed'), 'proposed');
    await put('proposed');
    expect((await open()).id).toBe('proposed');
    expect(await readFile(join(data, 'catalog', 'id'), 'utf8')).toBe('proposed');
  });

  it('is not taken from a proposal when the store is another catalog', async () => {
    await openFormat(disk, data);
    await mkdir(join(data, 'catalog'));
    await writeFile(join(data, 'catalog', 'id.proposed'), 'proposed');
    await put('another');
    expect(await refusalOf(open())).toContain('which is proposed; it carries another');
    expect(await readdir(join(data, 'catalog'))).not.toContain('id');
  });

  it('is the one that stands, when another process founded it between two of our steps', async () => {
    const journal = await openJournal(disk, join(data, 'catalog'), store);
    const late: Journal = {
      commit: async (checks, writes) => {
        await put('the other');
        await writeFile(join(data, 'catalog', 'id'), 'the other');
        return journal.commit(checks, writes);
      },
      fault: undefined,
      catchUp: () => journal.catchUp(),
      close: () => journal.close(),
    };
    expect((await openIdentity(disk, join(data, 'catalog'), store, late)).id).toBe('the other');
    expect(await readdir(join(data, 'catalog'))).not.toContain('id.proposed');
    await journal.close();
  });

  it('is one, although several found it at the same time', async () => {
    const opened = await Promise.all(Array.from({ length: 8 }, () => open()));
    expect(new Set(opened.map(({ id }) => id)).size).toBe(1);
  });
});

describe('the format of a data folder', () => {
  it('is written at the first start, also where the folder is missing', async () => {
    const folder = join(data, 'new');
    await openFormat(disk, folder);
    expect(await readFile(join(folder, 'FORMAT'), 'utf8')).toBe('2\n');
    await openFormat(disk, folder);
    expect(await readdir(folder)).toEqual(['FORMAT']);
  });

  it('is refused when it is newer, and changed by nobody', async () => {
    await writeFile(join(data, 'FORMAT'), '3\n');
    expect(await refusalOf(open())).toBe(
      `17 ServiceUnavailable: ${data}/FORMAT says format 3; this program reads up to format 2`,
    );
    expect(store.contents().size).toBe(0);
    expect(await readFile(join(data, 'FORMAT'), 'utf8')).toBe('3\n');
  });

  it('is refused when it is missing beside data, and the folder stays as it is', async () => {
    await mkdir(join(data, 'catalog'));
    await writeFile(join(data, 'catalog', 'id'), 'an id');
    expect(await refusalOf(openFormat(disk, data))).toBe(
      `17 ServiceUnavailable: ${data}/FORMAT is missing, but ${data}/catalog holds data of an unknown format: ` +
        'restore the file from a backup of this folder, or name another data folder',
    );
    expect(await readdir(data)).toEqual(['catalog']);
  });

  it.each(['', 'one', '0', '-1', '1.5'])('is refused when it says %j', async (text) => {
    await writeFile(join(data, 'FORMAT'), text);
    expect(await refusalOf(openFormat(disk, data))).toBe(
      `17 ServiceUnavailable: ${data}/FORMAT holds no format version`,
    );
    await rm(join(data, 'FORMAT'));
  });
});

describe('a journal outside of the data folder', () => {
  it('is refused for a data folder with the journal of another catalog', async () => {
    const { id } = await open();
    const journal = join(await newFolder(), 'elsewhere');
    expect(await refusalOf(openPlace(disk, { data, journal }))).toBe(
      `17 ServiceUnavailable: the journal is ${journal}, but ${join(data, 'catalog')} is the journal of the catalog ${id}: ` +
        'copy all files of that folder there while no gateway runs, or use another data folder',
    );
    await disk.write(join(journal, 'id'), Buffer.from(id));
    await openPlace(disk, { data, journal });
  });
});
