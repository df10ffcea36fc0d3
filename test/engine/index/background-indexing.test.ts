import { setTimeout as sleep } from 'node:timers/promises';
import { Int64, vectorFromArray } from 'apache-arrow';
import { expect, it } from 'vitest';
import { freshEngine, openOther } from '../../support/engine.ts';
import { streamOf } from '../../support/engine-table.ts';
import { buildIndex, posting, unindexedRows, untilIndexed } from '../../support/indices.ts';
import { ask } from '../../support/request.ts';

/* What nobody has indexed yet is indexed as soon as somebody asks how far the index is. */

const rows = (count: number) => ({
  body: streamOf({
    n: vectorFromArray(
      Array.from({ length: count }, (_, n) => BigInt(n)),
      new Int64(),
    ),
  }),
});

it('covers rows that a process left behind, also of a table that has another name since', async () => {
  const first = await freshEngine();
  const faults: unknown[] = [];
  const other = await openOther(first);
  try {
    await ask(first.backend, 'POST /v1/table/t/create', rows(50));
    other.startWork((error) => faults.push(error));
    await buildIndex(other.backend, 't', { column: 'n', index_type: 'BTREE' });
    await other.close();
    // Nobody works in the background now.
    await ask(first.backend, 'POST /v1/table/t/insert', rows(20));
    const renamed = { new_table_name: 'u', new_namespace_id: [] };
    await posting(first.backend)('t', 'rename', renamed);
    expect(await unindexedRows(first.backend, 'u')).toBe(20);
    first.startWork((error) => faults.push(error));
    await sleep(5);
    await untilIndexed(first.backend, 'u');
    expect(faults).toEqual([]);
  } finally {
    await first.close();
  }
});

it('covers large files while small ones wait to be merged', async () => {
  const engine = await freshEngine();
  const faults: unknown[] = [];
  try {
    await ask(engine.backend, 'POST /v1/table/t/create', rows(10));
    // The next reader merges them, and there is none until the work begins.
    for (let at = 0; at < 40; at++) await ask(engine.backend, 'POST /v1/table/t/insert', rows(1));
    engine.startWork((error) => faults.push(error));
    const built = await buildIndex(engine.backend, 't', { column: 'n', index_type: 'BITMAP' });
    expect(built.status).toBe('SUCCEEDED');
    await ask(engine.backend, 'POST /v1/table/t/insert', rows(1));
    await untilIndexed(engine.backend, 't');
    expect(faults).toEqual([]);
  } finally {
    await engine.close();
  }
});
