import type { Row } from '../harness/table.ts';
import { rowsFrom } from '../data/rows.ts';
import type { Cost, Subject } from './subject.ts';

const TABLE = 'written';
const MIB = 2 ** 20;

/** A large write on a table of its own, which is gone afterwards. */
export interface LargeWrite {
  readonly work: string;
  measure(subject: Subject): Promise<Cost>;
}

/** @param rows Of the table that is created; half as many are appended to another. */
export function largeWrites(rows: number): readonly LargeWrite[] {
  const all = rowsFrom(0, rows);
  const half = rowsFrom(rows, rows / 2);
  const few = rowsFrom(0, 10);
  return [
    {
      work: `create of ${all.numRows.toLocaleString('en-US')} rows`,
      measure: (subject) =>
        thenDropped(subject, () => subject.costOf(() => subject.side.create(TABLE, all))),
    },
    {
      work: `append of ${half.numRows.toLocaleString('en-US')} rows`,
      measure: (subject) =>
        thenDropped(subject, async () => {
          await subject.side.create(TABLE, few);
          return subject.costOf(() => subject.side.append(TABLE, half));
        }),
    },
  ];
}

async function thenDropped(subject: Subject, measure: () => Promise<Cost>): Promise<Cost> {
  const cost = await measure();
  await subject.side.drop(TABLE);
  return cost;
}

/** Measures all subjects in each round, in the opposite order in every other one. */
export async function measureWrites(
  writes: readonly LargeWrite[],
  subjects: readonly Subject[],
  rounds: number,
): Promise<readonly Row[]> {
  const costs = writes.map(() => new Map(subjects.map((subject) => [subject, [] as Cost[]])));
  for (let round = -1; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      for (const [at, write] of writes.entries()) {
        const cost = await write.measure(subject);
        // The first time is for code that is compiled while it runs.
        if (round >= 0) costs[at]!.get(subject)!.push(cost);
      }
    }
  }
  return writes.flatMap(({ work }, at) => rowsOf(work, costs[at]!));
}

function rowsOf(work: string, costs: ReadonlyMap<Subject, readonly Cost[]>): readonly Row[] {
  const row = (what: string, unit: Row['unit'], valueOf: (cost: Cost) => number): Row => ({
    work: `${work}, ${what}`,
    unit,
    samples: [...costs].map(([{ name }, all]) => ({ name, values: all.map(valueOf) })),
  });
  return [
    { ...row('time', 'ms', ({ wall }) => wall), target: '≤ 1.1' },
    { ...row('processor time', 'ms', ({ processor }) => processor), target: '≤ 1.1' },
    row('collections', 'ms', ({ collections }) => collections),
    row('resident afterwards', 'MiB', ({ resident }) => resident / MIB),
  ];
}
