import { expect, it } from 'vitest';
import { ownStatement } from '../../src/engine/base/statement.ts';
import type {
  LanceTableChange,
  LanceVersions,
} from '../../src/engine/versions/managed/lance-library.ts';
import { LanceRows } from '../../src/lance/lance-rows.ts';
import type { TaskInput } from '../../src/lance/library-process.ts';

const place = { id: 'one', path: ['rows'], location: '/rows.lance', branch: 'main' };

/** A catalog that commits everything. */
const catalog: LanceVersions = {
  newest: async () => undefined,
  at: async () => ({}),
  create: async () => ({ version: 2 }),
};

/** Changes by a library that commits, and then does something. */
function rowsWith(after: () => Promise<object>): LanceRows {
  const run = async (_: unknown, __: unknown, { versions }: TaskInput) => {
    await versions!({ action: 'version/create', branch: 'main', body: {} });
    const result = await after();
    return (async function* () {
      yield Buffer.from(JSON.stringify(result));
    })();
  };
  return new LanceRows({ run, reuse: () => undefined, rowBytes: 0 });
}

const never = (): Promise<never> => new Promise(() => undefined);

function change(rows: LanceRows, kind: LanceTableChange): Promise<object> {
  return rows.change(place, kind, null, catalog, ownStatement());
}

it('answers at the commit where the manifest says everything', async () => {
  const rows = rowsWith(never);
  expect(await change(rows, { kind: 'append' })).toEqual({});
  expect(await change(rows, { kind: 'overwrite' })).toEqual({});
  expect(await change(rows, { kind: 'delete', predicate: 'id = 1' })).toEqual({});
  expect(await change(rows, { kind: 'update', predicate: null, updates: [] })).toEqual({});
});

it('waits for the counts of other changes', async () => {
  const rows = rowsWith(async () => ({ numUpdatedRows: 3, version: 2 }));
  const merge = {
    kind: 'merge',
    on: ['id'],
    update: true,
    updateIf: null,
    insert: false,
    remove: false,
    removeIf: null,
    useIndex: true,
  } as const;
  expect(await change(rows, merge)).toEqual({ numUpdatedRows: 3, version: 2 });
});

it('lets a committed change succeed though the library fails afterwards', async () => {
  const rows = rowsWith(() => Promise.reject(new Error('it ended')));
  expect(await change(rows, { kind: 'append' })).toEqual({});
  expect(await change(rows, { kind: 'update', predicate: null, updates: [] })).toEqual({});
});
