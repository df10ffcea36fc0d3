import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { valuesOf } from '../clients/lancedb.ts';
import { canRun, Stage } from './stage.ts';

/** Daft, and clients of LanceDB that read what it wrote. */

const CONFIG = `tables: { formats: [{ tables: ['/made/**'], format: lance }] }
`;
const RULES = `rules:
  - { name: small, tables: [/small/**], require: { max_rows: 10 } }
`;

describe.runIf(canRun('daft'))('Daft', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.start({ config: CONFIG, commits: RULES });
  });

  afterAll(() => stage?.stop());

  const write = (columns: object, mode: string, path: readonly string[]) =>
    `daft_lance.write_lance(daft.from_pydict(${JSON.stringify(columns)}), table_id=${JSON.stringify(path)}, mode='${mode}', **catalog).collect()`;

  it('does what its guide says', async () => {
    await stage.follow('daft');
    for (const name of ['made', 'small']) await stage.lancedb.createNamespace([name]);
  });

  it('writes and appends what LanceDB reads', async () => {
    await stage.python.value(write({ id: [1, 2] }, 'create', ['weather', 'ids']));
    expect(await stage.values('id', 'weather', 'ids')).toEqual([1, 2]);
    await stage.python.value(write({ id: [3] }, 'append', ['weather', 'ids']));
    expect(await stage.values('id', 'weather', 'ids')).toEqual([1, 2, 3]);
    await stage.python.value(write({ id: [9] }, 'overwrite', ['weather', 'ids']));
    expect(await stage.values('id', 'weather', 'ids')).toEqual([9]);
  });

  it('appends to a table that a LanceDB client made, which that client then searches', async () => {
    const rows = [1, 2, 3].map((id) => ({ id, vector: [id, 0] }));
    const table = await stage.lancedb.createTable('points', rows, ['made']);
    await stage.python.value(write({ id: [9], vector: [[9, 0]] }, 'append', ['made', 'points']));
    expect(await valuesOf(table.search([8.9, 0]).limit(2), 'id')).toEqual([9, 3]);
    await table.add([{ id: 10, vector: [10, 0] }]);
    expect(
      await stage.python.value(
        `daft_lance.read_lance(table_id=['made', 'points'], **catalog).sort('id').to_pydict()['id']`,
      ),
    ).toEqual([1, 2, 3, 9, 10]);
  });

  it('changes nothing by a write that a commit rule refuses', async () => {
    await stage.python.value(write({ id: [1] }, 'create', ['small', 'ids']));
    const many = Array.from({ length: 20 }, (_, id) => id);
    const error = await stage.python.error(write({ id: many }, 'append', ['small', 'ids']));
    expect(error).toContain('Commit result for version 2 is unknown');
    expect(await stage.values('id', 'small', 'ids')).toEqual([1]);
    await stage.python.value(write({ id: [2] }, 'append', ['small', 'ids']));
    expect(await stage.values('id', 'small', 'ids')).toEqual([1, 2]);
  });

  it('leaves nothing that is not as the catalog says', async () => {
    expect(await stage.service.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });
});
