import type { Table } from 'apache-arrow';
import { timedEach } from '../harness/rounds.ts';
import { onFreshTable, type DataQuestion } from './question.ts';
import { rowsFrom } from './rows.ts';

const TABLE = 'changed';
/** So many changes of one table, each of other rows, make one value. */
const TIMES = 5;
/** A deletion by range takes a hundredth of the rows. */
const RANGES = 100;
const MERGED_ROWS = 1000;

/** Rows that are there and change. Each measurement works on a table of its own with all rows. */
export function changeQuestions(rows: Table): readonly DataQuestion[] {
  const range = rows.numRows / RANGES;
  const each = (side: Parameters<DataQuestion['measure']>[0], work: Work) =>
    onFreshTable(side, TABLE, rows, () => timedEach(TIMES, work));
  return [
    {
      work: 'delete by range',
      target: '≤ 0.90',
      client: false,
      measure: (side) => each(side, (time) => side.delete(TABLE, within(2 * time * range, range))),
    },
    {
      work: 'update of one row',
      target: '≤ 1.00',
      client: false,
      measure: (side) =>
        each(side, (time) => side.update(TABLE, `id = ${time * range}`, 'value', 'value + 1')),
    },
    {
      work: `merge of ${MERGED_ROWS.toLocaleString('en-US')} rows, half of them new`,
      target: '≤ 1.00',
      client: false,
      measure: (side) => {
        const merged = mergedRows(rows.numRows);
        return each(side, (time) => side.merge(TABLE, merged[time]!));
      },
    },
  ];
}

type Work = (time: number) => Promise<void>;

function within(first: number, count: number): string {
  return `id >= ${first} AND id < ${first + count}`;
}

/** For each merge rows of its own, the first half of which the table has: its last rows, going backwards. */
function mergedRows(rows: number): readonly Table[] {
  const half = MERGED_ROWS / 2;
  return Array.from({ length: TIMES }, (_, time) => [
    rowsFrom(rows - (time + 1) * half, half),
    rowsFrom(rows + time * half, half),
  ]).map(([old, fresh]) => old!.concat(fresh!));
}
