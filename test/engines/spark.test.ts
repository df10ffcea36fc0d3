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
`;

describe.runIf(canRun('spark'))('Spark', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.start({ config: CONFIG, commits: RULES });
  });

  afterAll(() => stage?.stop());

  const spark = (statement: string) =>
    stage.python.value(`spark.sql(${JSON.stringify(statement)}).collect()`);
  const idsOf = (...path: readonly string[]) => stage.values('id', ...path);

  // It starts Spark, too.
  it('does what its guide says', async () => {
    await stage.follow('docs/guide/spark.md');
    for (const name of ['lake', 'made']) {
      await stage.lancedb.createNamespace([name], { properties: { external_writes: 'adopt' } });
    }
    await spark('CREATE NAMESPACE arrowgate.small');
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

  it('makes a table that a commit rule refuses, until an operator accepts it', async () => {
    await spark('CREATE TABLE arrowgate.small.many AS SELECT id FROM range(20)');
    const table = await stage.lancedb.openTable('many', ['small']);
    await expect(table.countRows()).rejects.toThrow('has no data');
    expect(await adopt('/small/many', '--accept', '1')).toMatchObject({ code: 0 });
    expect(await idsOf('small', 'many')).toHaveLength(20);
    await spark('INSERT INTO arrowgate.small.many VALUES (20)');
    expect(await idsOf('small', 'many')).toHaveLength(21);
  });

  it('makes a table that a commit rule refuses, until an operator sets it aside', async () => {
    await spark('CREATE TABLE arrowgate.small.again AS SELECT id FROM range(20)');
    expect(await adopt('/small/again', '--set-aside', '1')).toMatchObject({ code: 0 });
    await spark('DROP TABLE arrowgate.small.again');
    await spark('CREATE TABLE arrowgate.small.again AS SELECT id FROM range(5)');
    expect(await idsOf('small', 'again')).toEqual([0, 1, 2, 3, 4]);
  });

  it('leaves nothing that is not as the catalog says', async () => {
    expect(await stage.service.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });

  // The last: its library repeats a refused commit for as long as Spark runs.
  it('changes nothing by a statement that a commit rule refuses', async () => {
    await spark('CREATE TABLE arrowgate.lake.kept (id BIGINT NOT NULL)');
    await spark('INSERT INTO arrowgate.lake.kept VALUES (1), (2)');
    const refused = stage.python.error(`spark.sql('DELETE FROM arrowgate.lake.kept WHERE id = 1')`);
    const ended = refused.catch(String);
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
