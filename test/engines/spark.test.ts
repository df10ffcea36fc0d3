import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { valuesOf } from '../clients/lancedb.ts';
import { eventually } from '../support/eventually.ts';
import { canRun, Stage } from './stage.ts';

/** Spark, and clients of LanceDB that read what it wrote. */

const CONFIG = `tables: { formats: [{ tables: ['/made/**'], format: lance }] }
`;
const RULES = `rules:
  - { name: grows-only, tables: [/lake/kept], require: { append_only: true } }
  - { name: small, tables: [/small/**], require: { max_rows: 10 } }
  - { name: has-owner, tables: [/owned/**], require: { columns: [{ name: owner, type: utf8 }] } }
`;

describe.runIf(canRun('spark'))('Spark', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.start({ config: CONFIG, commits: RULES });
  });

  afterAll(() => stage?.stop());

  const spark = (statement: string) =>
    stage.python.value(`spark.sql(${JSON.stringify(statement)}).collect()`);
  const refused = (statement: string) =>
    stage.python.error(`spark.sql(${JSON.stringify(statement)})`);
  const idsOf = (...path: readonly string[]) => stage.values('id', ...path);

  // It starts Spark, too.
  it('does what its guide says', async () => {
    await stage.follow('spark');
    for (const name of ['lake', 'made']) {
      await stage.lancedb.createNamespace([name], { properties: { external_writes: 'adopt' } });
    }
    for (const name of ['small', 'owned']) await spark(`CREATE NAMESPACE arrowgate.${name}`);
  });

  it.each([
    ['CREATE TABLE arrowgate.lake.pens (id BIGINT NOT NULL, ink STRING)', {}],
    [
      `INSERT INTO arrowgate.lake.pens VALUES (1, 'red'), (2, 'blue'), (3, NULL)`,
      { 1: 'red', 2: 'blue', 3: null },
    ],
    [
      `UPDATE arrowgate.lake.pens SET ink = 'green' WHERE id = 1`,
      { 1: 'green', 2: 'blue', 3: null },
    ],
    ['DELETE FROM arrowgate.lake.pens WHERE ink IS NULL', { 1: 'green', 2: 'blue' }],
    [
      `MERGE INTO arrowgate.lake.pens AS pens USING (SELECT 2L AS id, 'black' AS ink UNION ALL SELECT 4L, 'red') AS news
       ON pens.id = news.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *`,
      { 1: 'green', 2: 'black', 4: 'red' },
    ],
    ['OPTIMIZE arrowgate.lake.pens', { 1: 'green', 2: 'black', 4: 'red' }],
    [`INSERT OVERWRITE arrowgate.lake.pens VALUES (5, 'red')`, { 5: 'red' }],
  ])('%s', async (statement, expected) => {
    await spark(statement);
    const rows = await stage.rows('lake', 'pens');
    expect(Object.fromEntries(rows.map(({ id, ink }) => [id, ink]))).toEqual(expected);
  });

  it('makes a table of the rows of another one', async () => {
    await spark('CREATE TABLE arrowgate.lake.numbers AS SELECT id FROM range(100)');
    await spark(
      'CREATE TABLE arrowgate.lake.few AS SELECT * FROM arrowgate.lake.numbers WHERE id < 3',
    );
    expect(await idsOf('lake', 'few')).toEqual([0, 1, 2]);
  });

  it('appends to a table that a LanceDB client made, which that client then searches', async () => {
    const rows = [1, 2, 3].map((id) => ({ id, vector: [id, 0] }));
    const table = await stage.lancedb.createTable('points', rows, ['made']);
    await spark(
      'INSERT INTO arrowgate.made.points VALUES (9, array(cast(9 AS FLOAT), cast(0 AS FLOAT)))',
    );
    expect(await valuesOf(table.search([8.9, 0]).limit(2), 'id')).toEqual([9, 3]);
    await table.add([{ id: 10, vector: [10, 0] }]);
    expect(await spark('SELECT count(*), sum(id) FROM arrowgate.made.points')).toEqual([[5, 25]]);
  });

  it('makes no table of rows that a commit rule refuses', async () => {
    const select = (count: number) =>
      `CREATE TABLE arrowgate.small.numbers AS SELECT id FROM range(${count})`;
    expect(await refused(select(20))).toContain('already exists');
    await spark('DROP TABLE IF EXISTS arrowgate.small.numbers');
    await spark(select(5));
    expect(await idsOf('small', 'numbers')).toEqual([0, 1, 2, 3, 4]);
  });

  it('makes a table past a commit rule, which an operator accepts', async () => {
    await spark('CREATE TABLE arrowgate.owned.mine (id BIGINT NOT NULL)');
    const table = await stage.lancedb.openTable('mine', ['owned']);
    await expect(table.countRows()).rejects.toThrow('has no data');
    expect(await adopt('/owned/mine', '--accept', '1')).toMatchObject({ code: 0 });
    expect(await idsOf('owned', 'mine')).toEqual([]);
  });

  it('makes a table past a commit rule, which an operator sets aside', async () => {
    await spark('CREATE TABLE arrowgate.owned.ours (id BIGINT NOT NULL)');
    expect(await adopt('/owned/ours', '--set-aside', '1')).toMatchObject({ code: 0 });
    await spark('DROP TABLE arrowgate.owned.ours');
    await spark('CREATE TABLE arrowgate.owned.ours (id BIGINT NOT NULL, owner STRING)');
    await spark(`INSERT INTO arrowgate.owned.ours VALUES (1, 'rita')`);
    expect(await idsOf('owned', 'ours')).toEqual([1]);
  });

  it('leaves nothing that is not as the catalog says', async () => {
    expect(await stage.service.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });

  // The last: its library repeats a refused commit for as long as Spark runs.
  it('changes nothing by a statement that a commit rule refuses', async () => {
    await spark('CREATE TABLE arrowgate.lake.kept (id BIGINT NOT NULL)');
    await spark('INSERT INTO arrowgate.lake.kept VALUES (1), (2)');
    const ended = refused('DELETE FROM arrowgate.lake.kept WHERE id = 1').catch(String);
    await eventually(async () => expect(await refusals()).not.toEqual([]));
    await stage.python.kill();
    expect(await ended).toContain('the session ended');
    const table = await stage.lancedb.openTable('kept', ['lake']);
    await table.add([{ id: 3 }]);
    const kept = (await valuesOf(table.query(), 'id')).map(Number);
    expect(kept.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  function adopt(...words: readonly string[]) {
    return stage.service.command('catalog', 'adopt', ...words);
  }

  async function refusals() {
    const lines = await stage.service.audit();
    return lines.filter(({ object, code }) => object === '/lake/kept' && code === 20);
  }
});
