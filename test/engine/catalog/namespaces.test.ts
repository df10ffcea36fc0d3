import { describe, expect, it } from 'vitest';
import { Catalog } from '../../../src/engine/catalog/catalog.ts';
import { droppedKey } from '../../../src/engine/catalog/records/keys.ts';
import { decodeDropped } from '../../../src/engine/catalog/records/records-codec.ts';
import {
  memoryCatalog,
  plant,
  plantNamespace,
  refusalOf,
  unsureCommitter,
} from '../../support/catalog.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { anything, sightOf, TestPermit } from '../../support/permit.ts';

const restrict = { skip: false, cascade: false };
const cascade = { skip: false, cascade: true };

describe('making a namespace', () => {
  it('keeps its properties', async () => {
    const { catalog } = memoryCatalog();
    const made = await catalog.createNamespace(['a'], 'create', { owner: 'me' });
    expect(made.properties).toStrictEqual({ owner: 'me' });
    expect(await catalog.requireNamespace(['a'])).toStrictEqual(made);
  });

  it('keeps the one that is there when that is fine', async () => {
    const { catalog } = memoryCatalog();
    const first = await catalog.createNamespace(['a'], 'create', { owner: 'me' });
    const second = await catalog.createNamespace(['a'], 'exist_ok', { owner: 'you' });
    expect(second).toStrictEqual(first);
  });

  it('replaces an empty one by another of its own when it overwrites', async () => {
    const { catalog } = memoryCatalog();
    const first = await catalog.createNamespace(['a'], 'create', { owner: 'me' });
    const second = await catalog.createNamespace(['a'], 'overwrite', { team: 'b' });
    expect(second.properties).toStrictEqual({ team: 'b' });
    expect(second.id).not.toBe(first.id);
    expect(await catalog.namespace(['a'])).toStrictEqual(second);
  });

  it('makes one that is not there when it overwrites', async () => {
    const { catalog } = memoryCatalog();
    await catalog.createNamespace(['a'], 'overwrite', {});
    expect(await catalog.namespace(['a'])).toBeDefined();
  });

  it('always has the root', async () => {
    const { catalog } = memoryCatalog();
    expect((await catalog.requireNamespace([])).properties).toStrictEqual({});
    expect((await catalog.createNamespace([], 'exist_ok', { a: 'b' })).properties).toStrictEqual(
      {},
    );
  });

  it.each([
    [['a'], 'create', '2 NamespaceAlreadyExists: namespace /a already exists'],
    [[], 'create', '2 NamespaceAlreadyExists: namespace / already exists'],
    [[], 'overwrite', '13 InvalidInput: the root namespace cannot be dropped'],
    [['a'], 'overwrite', '3 NamespaceNotEmpty: namespace /a is not empty'],
    [['a', 'sub'], 'overwrite', '3 NamespaceNotEmpty: namespace /a/sub is not empty'],
    [['a', 'table'], 'create', '5 TableAlreadyExists: the name /a/table is taken by a table'],
    [['a', 'table'], 'exist_ok', '5 TableAlreadyExists: the name /a/table is taken by a table'],
    [['a', 'table'], 'overwrite', '5 TableAlreadyExists: the name /a/table is taken by a table'],
    [['gone', 'x'], 'create', '1 NamespaceNotFound: namespace /gone does not exist'],
    [['a', 'table', 'x'], 'create', '1 NamespaceNotFound: namespace /a/table does not exist'],
    [
      ['system'],
      'create',
      '13 InvalidInput: the namespace "system" is reserved: nothing is created in it',
    ],
    [
      ['system', 'x'],
      'exist_ok',
      '13 InvalidInput: the namespace "system" is reserved: nothing is created in it',
    ],
    [['a$b'], 'create', '13 InvalidInput: the name "a$b" holds "$", which separates names'],
    [['a', '..'], 'create', '13 InvalidInput: ".." cannot be a segment of an identifier'],
    [['a', ''], 'create', '13 InvalidInput: an identifier has an empty segment'],
  ] as const)('refuses %j in mode %s', async (path, mode, sentence) => {
    const { store, catalog } = memoryCatalog();
    await plant(catalog, ['a', 'table']);
    await plant(catalog, ['a', 'sub', 'inner']);
    const before = store.contents();
    expect(await refusalOf(catalog.createNamespace(path, mode, {}))).toBe(sentence);
    expect(store.contents()).toStrictEqual(before);
  });
});

describe('dropping a namespace', () => {
  it('removes an empty one', async () => {
    const { store, catalog } = memoryCatalog();
    const made = await catalog.createNamespace(['a'], 'create', {});
    const dropped = await catalog.dropNamespace(['a'], restrict, anything());
    expect(dropped).toStrictEqual({ record: made, objects: [] });
    expect(store.contents()).toStrictEqual(new Map());
  });

  it('does nothing when it is missing and may be', async () => {
    const { catalog } = memoryCatalog();
    const options = { skip: true, cascade: false };
    expect(await catalog.dropNamespace(['a'], options, anything())).toBeUndefined();
  });

  it('takes everything below with it, asks for each, and remembers the tables', async () => {
    const { store, catalog } = memoryCatalog();
    const table = await plant(catalog, ['a', 'b', 'table']);
    await plant(catalog, ['ab', 'stays']);
    const permit = anything();
    const dropped = await catalog.dropNamespace(['a'], cascade, permit);
    expect(dropped?.objects).toStrictEqual([
      ['a', 'b'],
      ['a', 'b', 'table'],
    ]);
    expect(permit.required).toStrictEqual(['DropNamespace /a/b', 'DropTable /a/b/table']);
    expect(await catalog.namespace(['a'])).toBeUndefined();
    expect(await catalog.namespace(['a', 'b'])).toBeUndefined();
    expect(await catalog.table(['a', 'b', 'table'])).toBeUndefined();
    expect(await catalog.table(['ab', 'stays'])).toBeDefined();
    const kept = decodeDropped((await store.get(droppedKey(table.id)))!);
    expect(kept).toMatchObject({ path: ['a', 'b', 'table'], record: table });
  });

  it('takes more than one read of the store holds', async () => {
    const { store, catalog } = memoryCatalog();
    for (let index = 0; index < 1203; index++) await plant(catalog, ['a', `t${index}`]);
    const dropped = await catalog.dropNamespace(['a'], cascade, anything());
    expect(dropped?.objects).toHaveLength(1203);
    expect([...store.contents().keys()].filter((key) => !key.startsWith('D'))).toStrictEqual([]);
  });

  it.each([
    [[], restrict, '13 InvalidInput: the root namespace cannot be dropped'],
    [[], cascade, '13 InvalidInput: the root namespace cannot be dropped'],
    [['gone'], restrict, '1 NamespaceNotFound: namespace /gone does not exist'],
    [['a'], restrict, '3 NamespaceNotEmpty: namespace /a is not empty'],
    [['a', 'b'], restrict, '3 NamespaceNotEmpty: namespace /a/b is not empty'],
    [['a', 'b', 'table'], restrict, '1 NamespaceNotFound: namespace /a/b/table does not exist'],
  ] as const)('refuses %j with %j', async (path, options, sentence) => {
    const { store, catalog } = memoryCatalog();
    await plant(catalog, ['a', 'b', 'table']);
    const before = store.contents();
    expect(await refusalOf(catalog.dropNamespace(path, options, anything()))).toBe(sentence);
    expect(store.contents()).toStrictEqual(before);
  });

  it('is refused whole when one thing below may not be dropped', async () => {
    const { store, catalog } = memoryCatalog();
    await plant(catalog, ['a', 'b', 'mine']);
    await plant(catalog, ['a', 'b', 'theirs']);
    const before = store.contents();
    const permit = new TestPermit({ holds: (_, object) => object.at(-1) !== 'theirs' });
    expect(await refusalOf(catalog.dropNamespace(['a'], cascade, permit))).toBe(
      '15 PermissionDenied: user:tester may not DropTable on /a/b/theirs',
    );
    expect(store.contents()).toStrictEqual(before);
  });

  it('names nothing that the caller cannot see when it is refused', async () => {
    const { store, catalog } = memoryCatalog();
    await plant(catalog, ['a', 'seen']);
    await plant(catalog, ['a', 'hidden']);
    const before = store.contents();
    const permit = new TestPermit({
      sees: sightOf([['a', 'seen']]),
      holds: (_, object) => object.at(-1) === 'seen',
    });
    expect(await refusalOf(catalog.dropNamespace(['a'], cascade, permit))).toBe(
      '15 PermissionDenied: namespace /a holds something that the caller may not drop',
    );
    expect(store.contents()).toStrictEqual(before);
  });
});

describe('a commit whose outcome is not known', () => {
  it.each([[['applied']], [['lost']], [['lost', 'applied']]] as const)(
    'still makes one namespace after %j',
    async (mishaps) => {
      const store = new MemoryStore();
      const catalog = new Catalog(store, unsureCommitter(store, mishaps));
      const made = await catalog.createNamespace(['a'], 'create', {});
      expect(await catalog.namespace(['a'])).toStrictEqual(made);
    },
  );

  it.each([[['applied']], [['lost']], [['lost', 'applied']]] as const)(
    'still drops a namespace after %j',
    async (mishaps) => {
      const store = new MemoryStore();
      await plantNamespace(new Catalog(store, store), ['a', 'b']);
      const catalog = new Catalog(store, unsureCommitter(store, mishaps));
      const dropped = await catalog.dropNamespace(['a'], cascade, anything());
      expect(dropped?.objects).toStrictEqual([['a', 'b']]);
      expect(await catalog.namespace(['a'])).toBeUndefined();
    },
  );

  it('is told to the caller when it stays unknown', async () => {
    const store = new MemoryStore();
    const mishaps = Array.from({ length: 100 }, () => 'lost' as const);
    const catalog = new Catalog(store, unsureCommitter(store, mishaps));
    expect(await refusalOf(catalog.createNamespace(['a'], 'create', {}))).toBe(
      '17 ServiceUnavailable: it is not known whether the change was made: the line went dead',
    );
  });
});
