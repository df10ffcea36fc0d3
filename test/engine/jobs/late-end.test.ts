import { disk } from '../../support/disk.ts';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { indexHere } from '../../../src/engine/indexing/index-files.ts';
import { backfill } from '../../../src/engine/upkeep/jobs/backfill.ts';
import { buildIndex } from '../../../src/engine/upkeep/jobs/index-job.ts';
import { claim, JobLost, type JobWork } from '../../../src/engine/upkeep/jobs/job.ts';
import { advancedTransaction } from '../../../src/engine/upkeep/jobs/transaction.ts';
import { Transactions } from '../../../src/engine/upkeep/jobs/transactions.ts';
import { FragmentReader } from '../../../src/engine/query/scan/fragment-reader.ts';
import { MemoryBudget } from '../../../src/engine/format/memory/memory-budget.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import { Tables } from '../../../src/engine/versions/tables.ts';
import type {
  Committed,
  VersionCommit,
} from '../../../src/engine/versions/lines/version-commits.ts';
import { EngineTable } from '../../support/engine-table.ts';

/* A job whose end comes to be between its last look at its record and its commit. */

let table: EngineTable;
let reader: FragmentReader;
let tables: LateTables;

beforeEach(async () => {
  table = await EngineTable.open();
  reader = new FragmentReader(disk);
  const { store, data } = table.engine;
  const root = join(data, 'tables');
  tables = new LateTables({
    storage: new LocalStorage(),
    root,
    store,
    committer: store,
    memory: new MemoryBudget(0),
  });
  await table.create({ n: vectorFromArray([1n, 2n, 3n], new Int64()) });
});

afterEach(async () => {
  await reader.close();
  await table.close();
});

/** Tables of which somebody else does something right before each commit. */
class LateTables extends Tables {
  before: () => Promise<unknown> = async () => undefined;

  override commit(commit: VersionCommit): Promise<Committed> {
    const checks = async () => {
      const found = (await commit.checks?.()) ?? [];
      await this.before();
      return found;
    };
    return super.commit({ ...commit, checks });
  }
}

const kinds: Readonly<Record<string, () => Promise<{ id: string; work: JobWork }>>> = {
  'fills a column': async () => {
    await table.post('add_columns', { new_columns: [{ name: 'twice', computed: 'n * 2' }] });
    const { job_id: id } = (await table.post('backfill_column', { column: 'twice' })) as {
      job_id: string;
    };
    return { id, work: backfill({ store: table.engine.store, tables, reader }) };
  },
  'builds an index': async () => {
    const body = { column: 'n', index_type: 'BTREE' };
    const { transaction_id: id } = (await table.post('create_index', body)) as {
      transaction_id: string;
    };
    const { store } = table.engine;
    return { id, work: buildIndex({ store, tables, reader, indexer: indexHere }) };
  },
};

it.each(Object.keys(kinds))(
  'does not take effect when it is cancelled or taken over then: one that %s',
  async (kind) => {
    const { id, work } = await kinds[kind]!();
    const { store } = table.engine;
    const transactions = new Transactions(store, store);
    const hold = { transactions, holder: 'h', leaseMillis: 60_000 };
    const ends = [
      { lease: { holder: 'another', untilMillis: Date.now() + 60_000 } },
      { status: 'CANCELED', lease: null },
    ] as const;
    for (const end of ends) {
      await transactions.change(id, (record) => ({ ...record, lease: null }));
      const before = await table.post('version/list');
      const job = await claim(hold, id);
      tables.before = () =>
        transactions.change(id, (record) => advancedTransaction(record, end, 'no more'));
      await expect(work(job!)).rejects.toThrow(JobLost);
      expect(await table.post('version/list')).toEqual(before);
      expect((await transactions.get(id))?.content).toMatchObject(end);
    }
  },
);

it('is not begun when it is cancelled while it is taken over', async () => {
  const { id } = await kinds['builds an index']!();
  const { store } = table.engine;
  const transactions = new Transactions(store, store);
  const hold = { transactions, holder: 'h', leaseMillis: 60_000 };
  expect(await claim({ ...hold, holder: 'dead' }, id)).toBeDefined();
  const end = { status: 'CANCELED', lease: null } as const;
  const isGone = async () => {
    await transactions.change(id, (record) => advancedTransaction(record, end, 'no more'));
    return true;
  };
  expect(await claim(hold, id, isGone)).toBeUndefined();
  expect((await transactions.get(id))?.content).toMatchObject(end);
});
