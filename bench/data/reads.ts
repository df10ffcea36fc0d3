import type { Table } from 'apache-arrow';
import { SHORT_WARMUPS, timed, timedEach } from '../harness/rounds.ts';
import { checkRows, type DataQuestion } from './question.ts';
import { queryVector } from './rows.ts';
import type { TableSide } from './table-side.ts';

const TENTH = 'value < 0.1';
const NEAREST = 10;
/** So many short readings make one value. */
const SHORT_TIMES = 5;

/** Rows that go out, of a table that every side has. */
export function readQuestions(table: string, rows: Table): readonly DataQuestion[] {
  const tenth = smallValues(rows);
  const vector = queryVector(7);
  const nearest = (side: TableSide, where?: string) =>
    timedEach(SHORT_TIMES, async () =>
      checkRows(
        await side.nearest(table, { vector, ...(where === undefined ? {} : { where }) }),
        NEAREST,
      ),
    );
  return [
    {
      work: 'scan of everything',
      target: '≤ 0.60',
      client: true,
      oneThread: true,
      measure: (side) => timed(async () => checkRows(await side.scan(table), rows.numRows)),
    },
    {
      work: 'filter that keeps 10 %, two columns',
      target: '≤ 0.60',
      client: true,
      warmups: SHORT_WARMUPS,
      measure: (side) =>
        timedEach(SHORT_TIMES, async () =>
          checkRows(await side.filter(table, TENTH, ['id', 'name']), tenth),
        ),
    },
    {
      work: 'count with predicate',
      target: '≤ 1.00',
      client: false,
      warmups: SHORT_WARMUPS,
      measure: (side) =>
        timedEach(SHORT_TIMES, async () =>
          checkRows({ numRows: await side.count(table, TENTH) }, tenth),
        ),
    },
    {
      work: 'nearest 10, no index',
      target: '≤ 0.30',
      client: true,
      warmups: SHORT_WARMUPS,
      measure: (side) => nearest(side),
    },
    {
      work: 'nearest 10, prefiltered to 10 %',
      target: '≤ 0.30',
      client: false,
      warmups: SHORT_WARMUPS,
      measure: (side) => nearest(side, TENTH),
    },
  ];
}

function smallValues(rows: Table): number {
  const values = rows.getChild('value')!.toArray() as Float64Array;
  return values.filter((value) => value < 0.1).length;
}
