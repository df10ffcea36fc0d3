import { timedEach } from '../harness/rounds.ts';
import type { Row } from '../harness/table.ts';
import { onFreshTable, type DataQuestion } from './question.ts';
import { rowsFrom } from './rows.ts';
import type { TableSide } from './table-side.ts';

const TABLE = 'grown';
const ROWS = 10;

/**
 * What small appends cost when a table has had a hundred of them and more,
 * against the first hundred; of the project alone.
 */
export async function appendGrowth(
  side: TableSide,
  rounds: number,
  times: { readonly early: number; readonly all: number },
): Promise<Row> {
  const rows = rowsFrom(0, ROWS);
  const append = () => side.append(TABLE, rows);
  const early: number[] = [];
  const late: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await onFreshTable(side, TABLE, rows, async () => {
      early.push(await timedEach(times.early, append));
      late.push(await timedEach(times.all - times.early, append));
      return 0;
    });
  }
  return {
    work: `append of ${ROWS} rows, over and over`,
    unit: 'ms',
    target: '≤ 1.30',
    samples: [
      { name: `${times.early}th to ${times.all}th`, values: late },
      { name: `first ${times.early}`, values: early },
    ],
  };
}

/** So many appends make one value. */
const TIMES = 20;

/** What a small append costs after many others. */
export function grownQuestion(before: number): DataQuestion {
  const rows = rowsFrom(0, ROWS);
  return {
    work: `append of ${ROWS} rows after ${before} others`,
    target: '≤ 0.90',
    client: false,
    measure: (side) =>
      onFreshTable(side, TABLE, rows, async () => {
        const append = () => side.append(TABLE, rows);
        await timedEach(before, append);
        return timedEach(TIMES, append);
      }),
  };
}
