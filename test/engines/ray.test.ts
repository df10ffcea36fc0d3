import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusalOf } from '../clients/lancedb.ts';
import { canRun, Stage } from './stage.ts';

/** lance-ray, which writes without asking the catalog, and clients of LanceDB that read what it wrote. */

const RULES = `rules:
  - { name: small, tables: [/photos/small], require: { max_rows: 10 } }
`;

describe.runIf(canRun('ray'))('Ray', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.start({ commits: RULES });
  });

  afterAll(() => stage?.stop());

  const write = (count: number, mode: string, name: string) =>
    stage.python.value(
      `lance_ray.write_lance(ray.data.range(${count}), table_id=['photos', '${name}'], mode='${mode}', **catalog)`,
    );
  const numbers = (count: number) => Array.from({ length: count }, (_, id) => id);

  // It starts Ray, too.
  it('does what its guide says', async () => {
    await stage.follow('ray');
  });

  it('writes what LanceDB reads, adds columns and compacts', async () => {
    await write(3, 'create', 'ids');
    expect(await stage.values('id', 'photos', 'ids')).toEqual(numbers(3));
    await write(1, 'append', 'ids');
    expect(await stage.values('id', 'photos', 'ids')).toEqual([0, 0, 1, 2]);
    await write(4, 'overwrite', 'ids');
    expect(await stage.values('id', 'photos', 'ids')).toEqual(numbers(4));
    const target = `table_id=['photos', 'ids'], **catalog`;
    await stage.python.value(`lance_ray.add_columns(transform={'twice': 'id * 2'}, ${target})`);
    expect(await stage.values('twice', 'photos', 'ids')).toEqual([0, 2, 4, 6]);
    const table = await stage.lancedb.openTable('ids', ['photos']);
    await table.add([{ id: 4, twice: 8 }]);
    await stage.python.value(`lance_ray.compact_files(${target})`);
    expect(await stage.values('twice', 'photos', 'ids')).toEqual([0, 2, 4, 6, 8]);
    expect(
      await stage.python.value(
        `lance_ray.read_lance(${target}).sort('id').take_all()[-1]['twice']`,
      ),
    ).toBe(8);
  });

  it('writes a version that a commit rule refuses, which an operator sets aside', async () => {
    await write(2, 'create', 'small');
    await write(20, 'append', 'small');
    await write(1, 'append', 'small');
    expect(await stage.values('id', 'photos', 'small')).toEqual([0, 1]);
    const table = await stage.lancedb.openTable('small', ['photos']);
    expect(await refusalOf(table.add([{ id: 5 }]))).toMatchObject({ code: 20 });
    const setAside = ['/photos/small', '--set-aside', '2'];
    const adopted = await stage.service.command('catalog', 'adopt', ...setAside);
    expect(adopted.code).toBe(0);
    await table.add([{ id: 5 }]);
    await write(1, 'append', 'small');
    expect(await stage.values('id', 'photos', 'small')).toEqual([0, 0, 1, 5]);
  });

  it('leaves nothing that is not as the catalog says', async () => {
    expect(await stage.service.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });
});
