import { describe, expect, it } from 'vitest';
import { Catalog } from '../../../src/engine/catalog/catalog.ts';
import type { Committer } from '../../../src/engine/catalog/records/commit-loop.ts';
import { droppedKey } from '../../../src/engine/catalog/records/keys.ts';
import type { Store } from '../../../src/store/store.ts';
import { plant, plantNamespace, refusalOf, tableRecord } from '../../support/catalog.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { anything } from '../../support/permit.ts';
import { keysOf, storeKinds, withStore } from '../../support/stores.ts';

const CALLERS = 32;
const restrict = { skip: false, cascade: false };
const cascade = { skip: false, cascade: true };

/** A committer before whose first commit something else happens, after everything was read. */
function interrupted(store: Store, happens: () => Promise<unknown>): Committer {
  let waiting = true;
  return {
    async commit(checks, writes) {
      if (waiting) {
        waiting = false;
        await happens();
      }
      return store.commit(checks, writes);
    },
  };
}

/** What became of many calls that were made at once. */
async function together(run: (index: number) => Promise<unknown>): Promise<readonly string[]> {
  return Promise.all(Array.from({ length: CALLERS }, (_, index) => refusalOf(run(index))));
}

function winners(outcomes: readonly string[]): number {
  return outcomes.filter((outcome) => outcome === 'no refusal').length;
}

describe.each(storeKinds)('many callers at once on the %s store', (kind) => {
  /** A test on a catalog over a store of its own. */
  const on = (run: (catalog: Catalog, store: Store) => Promise<void>) => () =>
    withStore(kind, (store) => run(new Catalog(store, store), store));

  it(
    'make one namespace: one wins',
    on(async (catalog) => {
      const outcomes = await together(() => catalog.createNamespace(['a'], 'create', {}));
      expect(winners(outcomes)).toBe(1);
      expect(new Set(outcomes)).toStrictEqual(
        new Set(['no refusal', '2 NamespaceAlreadyExists: namespace /a already exists']),
      );
    }),
  );

  it(
    'make one table: one wins',
    on(async (catalog) => {
      const outcomes = await together(() =>
        catalog.createTableCommit(['t'], tableRecord(), [], []),
      );
      expect(winners(outcomes)).toBe(1);
    }),
  );

  it(
    'make a table and a namespace of one name: one of them is there',
    on(async (catalog) => {
      const outcomes = await together((index) =>
        index % 2 === 0
          ? catalog.createTableCommit(['x'], tableRecord(), [], [])
          : catalog.createNamespace(['x'], 'create', {}),
      );
      expect(winners(outcomes)).toBe(1);
      const found = [await catalog.table(['x']), await catalog.namespace(['x'])];
      expect(found.filter((record) => record !== undefined)).toHaveLength(1);
    }),
  );

  it(
    'all get the same namespace when that is fine',
    on(async (catalog) => {
      const made = await Promise.all(
        Array.from({ length: CALLERS }, () => catalog.createNamespace(['a'], 'exist_ok', {})),
      );
      expect(new Set(made.map((record) => record.id)).size).toBe(1);
    }),
  );

  it(
    'make different namespaces in one without getting in each other’s way',
    on(async (catalog) => {
      await plantNamespace(catalog, ['a']);
      const outcomes = await together((index) =>
        catalog.createNamespace(['a', `n${index}`], 'create', {}),
      );
      expect(winners(outcomes)).toBe(CALLERS);
    }),
  );

  it(
    'drop one table: one wins',
    on(async (catalog) => {
      await plant(catalog, ['t']);
      expect(winners(await together(() => catalog.dropTable(['t'])))).toBe(1);
    }),
  );

  it(
    'make and drop in one namespace: nothing is left without its parent',
    on(async (catalog, store) => {
      for (let round = 0; round < 10; round++) {
        await catalog.createNamespace(['a'], 'exist_ok', {});
        await together(async (index) => {
          if (index % 3 === 0) await catalog.dropNamespace(['a'], restrict, anything());
          else if (index % 3 === 1) await plant(catalog, ['a', `t${index}`]);
          else await catalog.createNamespace(['a', `n${index}`], 'create', {});
        });
        const inside = [
          ...(await keysOf(store, 'N/a\u0000')),
          ...(await keysOf(store, 'T/a\u0000')),
        ];
        const parent = await catalog.namespace(['a']);
        expect(parent === undefined ? inside : []).toStrictEqual([]);
        await catalog.dropNamespace(['a'], { skip: true, cascade: true }, anything());
      }
    }),
  );
});

describe.each(storeKinds)('dropping a namespace on the %s store', (kind) => {
  it('that is empty does not lose what is made in it meanwhile', () =>
    withStore(kind, async (store) => {
      const other = new Catalog(store, store);
      await plantNamespace(other, ['a']);
      const meanwhile = interrupted(store, () => plant(other, ['a', 't']));
      const catalog = new Catalog(store, meanwhile);
      expect(await refusalOf(catalog.dropNamespace(['a'], restrict, anything()))).toBe(
        '3 NamespaceNotEmpty: namespace /a is not empty',
      );
      expect(await other.table(['a', 't'])).toBeDefined();
    }));

  it('and everything in it takes what is made meanwhile too, and asks for it', () =>
    withStore(kind, async (store) => {
      const other = new Catalog(store, store);
      await plant(other, ['a', 'b', 'first']);
      const meanwhile = interrupted(store, () => plant(other, ['a', 'b', 'late']));
      const permit = anything();
      await new Catalog(store, meanwhile).dropNamespace(['a'], cascade, permit);
      expect(permit.required).toContain('DropTable /a/b/late');
      expect(await other.table(['a', 'b', 'late'])).toBeUndefined();
    }));

  it('and everything in it notices that one table became another', () =>
    withStore(kind, async (store) => {
      const other = new Catalog(store, store);
      await plant(other, ['a', 't']);
      const ids: string[] = [];
      const meanwhile = interrupted(store, async () => {
        await other.dropTable(['a', 't']);
        ids.push((await plant(other, ['a', 't'])).id);
      });
      await new Catalog(store, meanwhile).dropNamespace(['a'], cascade, anything());
      expect(await store.get(droppedKey(ids[0]!))).toBeDefined();
    }));

  it('lets nothing be made in it any more', () =>
    withStore(kind, async (store) => {
      const other = new Catalog(store, store);
      await plantNamespace(other, ['a']);
      const meanwhile = interrupted(store, () => other.dropNamespace(['a'], restrict, anything()));
      const catalog = new Catalog(store, meanwhile);
      expect(await refusalOf(catalog.createNamespace(['a', 'b'], 'create', {}))).toBe(
        '1 NamespaceNotFound: namespace /a does not exist',
      );
      expect(await keysOf(store, 'N')).toStrictEqual([]);
    }));

  it('and making it anew lets what was about to be made in it go into the new one', () =>
    withStore(kind, async (store) => {
      const other = new Catalog(store, store);
      await plantNamespace(other, ['a']);
      const meanwhile = interrupted(store, () =>
        other.createNamespace(['a'], 'overwrite', { new: 'yes' }),
      );
      const catalog = new Catalog(store, meanwhile);
      await catalog.createNamespace(['a', 'b'], 'create', {});
      expect((await catalog.requireNamespace(['a'])).properties).toStrictEqual({ new: 'yes' });
      expect(await catalog.namespace(['a', 'b'])).toBeDefined();
    }));
});

it('gives up when others are first every time', async () => {
  const catalog = new Catalog(new MemoryStore(), {
    async commit() {
      return { kind: 'conflict', check: 0 };
    },
  });
  expect(await refusalOf(catalog.createNamespace(['a'], 'create', {}))).toBe(
    '14 ConcurrentModification: the catalog was changed by others 24 times meanwhile',
  );
});
