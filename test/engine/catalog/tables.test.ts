import { describe, expect, it } from 'vitest';
import { Catalog } from '../../../src/engine/catalog/catalog.ts';
import { droppedKey } from '../../../src/engine/catalog/records/keys.ts';
import { decodeDropped } from '../../../src/engine/catalog/records/records-codec.ts';
import {
  memoryCatalog,
  plant,
  plantNamespace,
  refusalOf,
  tableRecord,
  unsureCommitter,
} from '../../support/catalog.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { anything } from '../../support/permit.ts';

const marker = { key: 'Hmarker', value: Buffer.from('made') };

describe('making a table', () => {
  it('makes its record and whatever belongs to it in one commit', async () => {
    const { store, catalog } = memoryCatalog();
    await plantNamespace(catalog, ['a']);
    const record = tableRecord();
    await catalog.createTableCommit(['a', 't'], record, [], [marker]);
    expect((await catalog.requireTable(['a', 't'])).content).toStrictEqual(record);
    expect(await store.get(marker.key)).toStrictEqual(marker.value);
  });

  it('makes one in the root', async () => {
    const { catalog } = memoryCatalog();
    const record = tableRecord();
    await catalog.createTableCommit(['t'], record, [], []);
    expect((await catalog.tablePlace(['t']))?.content).toStrictEqual(record);
  });

  it('says that a place is free', async () => {
    const { catalog } = memoryCatalog();
    expect(await catalog.tablePlace(['t'])).toBeUndefined();
  });

  it.each([
    [['a', 't'], '5 TableAlreadyExists: table /a/t already exists'],
    [['a'], '2 NamespaceAlreadyExists: the name /a is taken by a namespace'],
    [['gone', 't'], '1 NamespaceNotFound: namespace /gone does not exist'],
    [['a', 't', 'x'], '1 NamespaceNotFound: namespace /a/t does not exist'],
    [[], '13 InvalidInput: the root cannot be a table'],
    [
      ['system', 't'],
      '13 InvalidInput: the namespace "system" is reserved: nothing is created in it',
    ],
    [['a', 'x$y'], '13 InvalidInput: the name "x$y" holds "$", which separates names'],
  ] as const)('refuses %j', async (path, sentence) => {
    const { store, catalog } = memoryCatalog();
    await plant(catalog, ['a', 't']);
    const before = store.contents();
    const commit = catalog.createTableCommit(path, tableRecord(), [], [marker]);
    expect(await refusalOf(commit)).toBe(sentence);
    expect(store.contents()).toStrictEqual(before);
  });

  it('makes nothing when a further check does not hold', async () => {
    const { store, catalog } = memoryCatalog();
    const check = { kind: 'value', key: marker.key, value: marker.value } as const;
    const before = store.contents();
    const commit = catalog.createTableCommit(['t'], tableRecord(), [check], [marker]);
    expect(await refusalOf(commit)).toBe(
      '14 ConcurrentModification: /t was changed by someone else meanwhile',
    );
    expect(store.contents()).toStrictEqual(before);
  });

  it('replaces exactly the table that was read, and remembers it', async () => {
    const { store, catalog } = memoryCatalog();
    const first = await plant(catalog, ['t']);
    const second = tableRecord();
    await catalog.createTableCommit(['t'], second, [], [], await catalog.requireTable(['t']));
    expect((await catalog.requireTable(['t'])).content).toStrictEqual(second);
    const kept = decodeDropped((await store.get(droppedKey(first.id)))!);
    expect(kept).toMatchObject({ path: ['t'], record: first });
  });

  it('remembers nothing of a table that only changes its record', async () => {
    const { store, catalog } = memoryCatalog();
    const first = await plant(catalog, ['t']);
    const second = { ...first, properties: { a: 'b' } };
    await catalog.createTableCommit(['t'], second, [], [], await catalog.requireTable(['t']));
    expect((await catalog.requireTable(['t'])).content).toStrictEqual(second);
    expect(await store.get(droppedKey(first.id))).toBeUndefined();
  });

  it.each(['dropped', 'replaced'])('does not replace one that was %s meanwhile', async (how) => {
    const { store, catalog } = memoryCatalog();
    await plant(catalog, ['t']);
    const read = await catalog.requireTable(['t']);
    await catalog.dropTable(['t']);
    if (how === 'replaced') await plant(catalog, ['t']);
    const before = store.contents();
    const commit = catalog.createTableCommit(['t'], tableRecord(), [], [marker], read);
    expect(await refusalOf(commit)).toBe(
      '14 ConcurrentModification: /t was changed by someone else meanwhile',
    );
    expect(store.contents()).toStrictEqual(before);
  });
});

describe('dropping a table', () => {
  it('keeps what it was', async () => {
    const { store, catalog } = memoryCatalog();
    const record = await plant(catalog, ['a', 't']);
    expect(await catalog.dropTable(['a', 't'])).toStrictEqual(record);
    expect(await catalog.table(['a', 't'])).toBeUndefined();
    const kept = decodeDropped((await store.get(droppedKey(record.id)))!);
    expect(kept).toMatchObject({ path: ['a', 't'], record });
  });

  it('lets its namespace be dropped then', async () => {
    const { catalog } = memoryCatalog();
    await plant(catalog, ['a', 't']);
    await catalog.dropTable(['a', 't']);
    const options = { skip: false, cascade: false };
    expect(await catalog.dropNamespace(['a'], options, anything())).toBeDefined();
  });

  it.each([
    [['gone'], '4 TableNotFound: table /gone does not exist'],
    [['a'], '4 TableNotFound: table /a does not exist'],
    [[], '4 TableNotFound: table / does not exist'],
  ])('refuses %j', async (path, sentence) => {
    const { catalog } = memoryCatalog();
    await plantNamespace(catalog, ['a']);
    expect(await refusalOf(catalog.dropTable(path))).toBe(sentence);
  });
});

describe('a commit whose outcome is not known', () => {
  it.each([[['applied']], [['lost']], [['lost', 'applied']]] as const)(
    'still makes one table after %j',
    async (mishaps) => {
      const store = new MemoryStore();
      const catalog = new Catalog(store, unsureCommitter(store, mishaps));
      const record = tableRecord();
      await catalog.createTableCommit(['t'], record, [], [marker]);
      expect((await catalog.requireTable(['t'])).content).toStrictEqual(record);
      expect(await store.get(marker.key)).toStrictEqual(marker.value);
    },
  );

  it.each([[['applied']], [['lost']], [['lost', 'applied']]] as const)(
    'still puts a record in the place of its older self after %j',
    async (mishaps) => {
      const store = new MemoryStore();
      await plant(new Catalog(store, store), ['t'], 'declared');
      const catalog = new Catalog(store, unsureCommitter(store, mishaps));
      const before = await catalog.requireTable(['t']);
      const record = { ...before.content, kind: 'lance' } as const;
      await catalog.createTableCommit(['t'], record, [], [], before);
      expect((await catalog.requireTable(['t'])).content).toStrictEqual(record);
      expect(await store.get(droppedKey(record.id))).toBeUndefined();
    },
  );

  it.each([[['applied']], [['lost']], [['lost', 'applied']]] as const)(
    'still drops a table after %j',
    async (mishaps) => {
      const store = new MemoryStore();
      const record = await plant(new Catalog(store, store), ['t']);
      const catalog = new Catalog(store, unsureCommitter(store, mishaps));
      expect(await catalog.dropTable(['t'])).toStrictEqual(record);
      expect(await catalog.table(['t'])).toBeUndefined();
    },
  );

  it('does not hide that someone else made the table', async () => {
    const store = new MemoryStore();
    const other = new Catalog(store, store);
    const catalog = new Catalog(store, {
      async commit() {
        await plant(other, ['t']);
        return { kind: 'unknown', reason: 'the line went dead' };
      },
    });
    const commit = catalog.createTableCommit(['t'], tableRecord(), [], []);
    expect(await refusalOf(commit)).toBe('5 TableAlreadyExists: table /t already exists');
  });
});
