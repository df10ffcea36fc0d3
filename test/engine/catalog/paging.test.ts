import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Catalog } from '../../../src/engine/catalog/catalog.ts';
import type { Page } from '../../../src/engine/catalog/records/page.ts';
import { canonicalPath, type ObjectPath } from '../../../src/protocol/identifier.ts';
import type { Permit } from '../../../src/protocol/permit.ts';
import { memoryCatalog, plant, plantNamespace } from '../../support/catalog.ts';
import { anything, seeingOnly } from '../../support/permit.ts';
import { withStore } from '../../support/stores.ts';

const everything = { declared: true };

/** Names that sort around each other and around the delimiters, and some that hold one. */
const name = fc
  .oneof(
    fc.string({
      unit: fc.constantFrom('a', 'b', '!', '.', '-', '\ue000', '😀'),
      minLength: 1,
      maxLength: 3,
    }),
    fc.constantFrom('a', 'ab', 'a!', 'a.b', 'a-b', 'b'),
  )
  .filter((text) => text !== '.' && text !== '..');
const tablePath = fc.array(name, { minLength: 1, maxLength: 3 });
const delimiter = fc.constantFrom('$', '.', '-', '::', '!', 'ab');

/** Tables that can be together: none has the name of a namespace that another needs. */
const tables = fc.array(tablePath, { maxLength: 14 }).map((paths) => {
  const namespaces = new Set(paths.flatMap((path) => above(path).map(canonicalPath)));
  const free = paths.filter((path) => !namespaces.has(canonicalPath(path)));
  return [...new Map(free.map((path) => [canonicalPath(path), path])).values()];
});

function above(path: ObjectPath): readonly ObjectPath[] {
  return path.map((_, length) => path.slice(0, length));
}

function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

async function planted(paths: readonly ObjectPath[]): Promise<Catalog> {
  const { catalog } = memoryCatalog();
  for (const path of paths) await plant(catalog, path);
  return catalog;
}

/** All pages of a listing, one after another as a client asks for them. */
async function allPages(read: (after: string) => Promise<Page>): Promise<readonly Page[]> {
  const pages = [await read('')];
  for (let token = pages[0]!.token; token !== undefined; token = pages.at(-1)!.token) {
    pages.push(await read(token));
  }
  return pages;
}

/** That pages are full, hold nothing but what may be seen, in order, and that tokens are their last names. */
function checkPages(pages: readonly Page[], limit: number, visible: readonly string[]): void {
  expect(pages.flatMap((page) => page.names)).toStrictEqual(
    [...new Set(visible)].toSorted(byBytes),
  );
  for (const page of pages.slice(0, -1)) {
    expect(page.names).toHaveLength(limit);
    expect(page.token).toBe(page.names.at(-1));
  }
  expect(pages.at(-1)!.token).toBeUndefined();
  expect(pages.at(-1)!.names.length > 0 || pages.length === 1).toBe(true);
}

/** Some of the tables, and a permit that shows no other. */
const sight = tables.chain((paths) =>
  fc.subarray([...paths]).map((seen) => ({ paths, seen, permit: seeingOnly(seen) })),
);

describe('the pages of a listing', () => {
  it('of a namespace’s tables are together what may be seen, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        sight,
        fc.integer({ min: 1, max: 4 }),
        async ({ paths, seen, permit }, limit) => {
          const catalog = await planted(paths);
          for (const parent of [[], ...paths.map((path) => path.slice(0, -1))]) {
            const pages = await allPages((after) =>
              catalog.tablePage(parent, { limit, after }, everything, permit),
            );
            checkPages(pages, limit, namesIn(seen, parent));
          }
        },
      ),
    );
  });

  it('of a namespace’s namespaces are together those with something to see, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        sight,
        fc.integer({ min: 1, max: 4 }),
        async ({ paths, seen, permit }, limit) => {
          const catalog = await planted(paths);
          const inner = unique(seen.flatMap(above).filter((path) => path.length > 0));
          for (const parent of unique(paths.flatMap(above))) {
            const pages = await allPages((after) =>
              catalog.namespacePage(parent, { limit, after }, permit),
            );
            checkPages(pages, limit, namesIn(inner, parent));
          }
        },
      ),
    );
  });

  it('of all tables are together what may be seen, in order, whatever the delimiter', async () => {
    await fc.assert(
      fc.asyncProperty(
        sight,
        delimiter,
        fc.integer({ min: 1, max: 4 }),
        async ({ paths, seen, permit }, joint, limit) => {
          const catalog = await planted(paths);
          const pages = await allPages((after) =>
            catalog.allTablesPage(joint, { limit, after }, everything, permit),
          );
          checkPages(
            pages,
            limit,
            seen.map((path) => path.join(joint)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of all tables can begin after any text', async () => {
    await fc.assert(
      fc.asyncProperty(
        tables,
        delimiter,
        fc.string({ unit: name }),
        async (paths, joint, after) => {
          const catalog = await planted(paths);
          const page = { limit: 100, after };
          const { names } = await catalog.allTablesPage(joint, page, everything, anything());
          const beyond = paths
            .map((path) => path.join(joint))
            .filter((id) => byBytes(id, after) > 0);
          expect(names).toStrictEqual([...new Set(beyond)].toSorted(byBytes));
        },
      ),
      { numRuns: 500 },
    );
  });
});

function namesIn(paths: readonly ObjectPath[], parent: ObjectPath): readonly string[] {
  const inside = paths.filter((path) => canonicalPath(path.slice(0, -1)) === canonicalPath(parent));
  return inside.map((path) => path.at(-1)!);
}

function unique(paths: readonly ObjectPath[]): readonly ObjectPath[] {
  return [...new Map(paths.map((path) => [canonicalPath(path), path])).values()];
}

describe('a page', () => {
  const read = (catalog: Catalog, after: string, permit: Permit = anything()) =>
    catalog.tablePage([], { limit: 10, after }, everything, permit);

  it('is filled with what may be seen, however much lies between', async () => {
    const { catalog } = memoryCatalog();
    const names = Array.from({ length: 2500 }, (_, index) => `t${String(index).padStart(5, '0')}`);
    for (const table of names) await plant(catalog, [table]);
    const seen = names.filter((_, index) => index % 240 === 239);
    const permit = seeingOnly(seen.map((table) => [table]));
    const page = await read(catalog, '', permit);
    expect(page.names).toStrictEqual(seen.slice(0, 10));
    expect(page.token).toBeUndefined();
  });

  it('leaves out tables that hold nothing when asked to', async () => {
    const { catalog } = memoryCatalog();
    await plant(catalog, ['a'], 'declared');
    await plant(catalog, ['b'], 'engine');
    const page = { limit: 10, after: '' };
    const filter = { declared: false };
    expect((await catalog.tablePage([], page, filter, anything())).names).toStrictEqual(['b']);
    expect((await catalog.allTablesPage('$', page, filter, anything())).names).toStrictEqual(['b']);
  });

  it('begins after a text that is longer than any name', async () => {
    const { catalog } = memoryCatalog();
    await plant(catalog, ['a']);
    await plant(catalog, ['c']);
    const after = 'b'.repeat(5000);
    expect((await read(catalog, after)).names).toStrictEqual(['c']);
    const all = catalog.allTablesPage('$', { limit: 10, after }, everything, anything());
    expect((await all).names).toStrictEqual(['c']);
  });

  it('opens no namespace in which nothing may be seen', async () => {
    const { store, catalog } = memoryCatalog();
    await plant(catalog, ['shown', 't']);
    await plant(catalog, ['hidden', 't']);
    const ranges: string[] = [];
    const range = store.range.bind(store);
    store.range = (asked) => {
      ranges.push(asked.start);
      return range(asked);
    };
    const permit = seeingOnly([['shown', 't']]);
    const page = await catalog.allTablesPage('$', { limit: 10, after: '' }, everything, permit);
    expect(page.names).toStrictEqual(['shown$t']);
    expect(ranges.filter((start) => start.includes('/hidden'))).toStrictEqual([]);
  });

  it('reads no more of ten thousand tables than it needs', async () => {
    const { store, catalog } = memoryCatalog();
    for (let index = 0; index < 10_000; index++) await plant(catalog, [`t${index}`]);
    let entries = 0;
    const range = store.range.bind(store);
    store.range = async (asked) => {
      const found = await range(asked);
      entries += found.length;
      return found;
    };
    const page = { limit: 1000, after: 't5' };
    expect((await catalog.tablePage([], page, everything, anything())).names).toHaveLength(1000);
    expect((await catalog.allTablesPage('$', page, everything, anything())).names).toHaveLength(
      1000,
    );
    expect(entries).toBeLessThan(2100);
  });

  it('of a namespace with nothing in it is empty', async () => {
    const { catalog } = memoryCatalog();
    await plantNamespace(catalog, ['a']);
    const page = { limit: 1, after: '' };
    expect(await catalog.namespacePage(['a'], page, anything())).toStrictEqual({
      names: [],
      token: undefined,
    });
  });
});

describe('a listing on the embedded store', () => {
  it('has the same order and the same pages', async () => {
    await fc.assert(
      fc.asyncProperty(tables, delimiter, (paths, joint) =>
        withStore('embedded', async (store) => {
          const catalog = new Catalog(store, store);
          for (const path of paths) await plant(catalog, path);
          const pages = await allPages((after) =>
            catalog.allTablesPage(joint, { limit: 3, after }, everything, anything()),
          );
          checkPages(
            pages,
            3,
            paths.map((path) => path.join(joint)),
          );
        }),
      ),
      { numRuns: 10 },
    );
  });

  it('holds the longest names, and begins after longer texts', () =>
    withStore('embedded', async (store) => {
      const catalog = new Catalog(store, store);
      const deep = ['n'.repeat(500), 't'.repeat(522)];
      await plant(catalog, deep);
      await plant(catalog, ['x'.repeat(1023)]);
      const read = (after: string) =>
        catalog.allTablesPage('$', { limit: 5, after }, everything, anything());
      expect((await read('')).names).toStrictEqual([deep.join('$'), 'x'.repeat(1023)]);
      expect((await read(`${deep.join('$')}$`)).names).toStrictEqual(['x'.repeat(1023)]);
      expect((await read(`${deep[0]}$${'s'.repeat(9000)}`)).names).toHaveLength(2);
      expect((await read(`${deep[0]}$${'t'.repeat(9000)}`)).names).toHaveLength(1);
    }));
});
