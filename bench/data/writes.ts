import type { Table } from 'apache-arrow';
import { SHORT_WARMUPS, timed, timedEach } from '../harness/rounds.ts';
import { onFreshTable, type DataQuestion } from './question.ts';
import { rowsFrom } from './rows.ts';

const TABLE = 'written';
const FEW_ROWS = 10;
/** So many small appends make one value. */
const FEW_TIMES = 20;

/** Rows that come in. Each measurement works on a table of its own, which is gone afterwards. */
export function writeQuestions(rows: Table): readonly DataQuestion[] {
  return [
    {
      work: `create from a stream of ${counted(rows)} rows`,
      target: '≤ 0.80',
      client: true,
      measure: (side) =>
        onFreshTable(side, TABLE, null, () => timed(() => side.create(TABLE, rows))),
    },
    ...appendQuestions(rows),
  ];
}

/** Rows that are added to a table. */
export function appendQuestions(rows: Table): readonly DataQuestion[] {
  const half = rowsFrom(rows.numRows, rows.numRows / 2);
  const few = rowsFrom(0, FEW_ROWS);
  return [
    {
      work: `append of ${counted(half)} rows`,
      target: '≤ 0.80',
      client: true,
      measure: (side) =>
        onFreshTable(side, TABLE, few, () => timed(() => side.append(TABLE, half))),
    },
    {
      work: `append of ${FEW_ROWS} rows`,
      target: '≤ 0.90',
      client: true,
      warmups: SHORT_WARMUPS,
      measure: (side) =>
        onFreshTable(side, TABLE, few, () => timedEach(FEW_TIMES, () => side.append(TABLE, few))),
    },
  ];
}

function counted({ numRows }: Table): string {
  return numRows.toLocaleString('en-US');
}
