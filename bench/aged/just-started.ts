import { setTimeout as sleep } from 'node:timers/promises';
import { ADMIN_KEY } from '../../test/support/service.ts';
import { lanceClient } from '../data/lance-side.ts';
import { rowsFrom } from '../data/rows.ts';
import type { TableSide } from '../data/table-side.ts';
import { fetchMemory, timed } from '../harness/rounds.ts';
import type { Row } from '../harness/table.ts';
import type { Subject } from './subject.ts';

const LARGE = 'large';
const SMALL = 'small';
const MERGED_ROWS = 1000;
const FEW_ROWS = 10;
/** From the first answer of a process to the work that it is measured with. */
const STARTED_MILLIS = 1000;
/** How often a process does everything until it counts as warm. */
const WARMING = 8;

interface Work {
  readonly work: string;
  /** How often it is asked at once. */
  readonly times: number;
  ask(side: TableSide, client: TableSide, time: number): Promise<unknown>;
}

/** Time and processor time of the first requests of a process that started a second ago, and of the same process later. */
export async function measureStarts(
  subject: Subject,
  rows: number,
  rounds: number,
): Promise<readonly Row[]> {
  const works = worksOn(rows);
  const values = works.map(() => ({ cold: [] as Spent[], warm: [] as Spent[] }));
  for (let round = 0; round < rounds; round++) {
    await subject.side.create(LARGE, rowsFrom(0, rows));
    await subject.side.create(SMALL, rowsFrom(0, FEW_ROWS));
    await subject.restart();
    await sleep(STARTED_MILLIS);
    const client = await lanceClient(subject.service.url, ADMIN_KEY);
    for (let turn = 0; turn <= WARMING; turn++) {
      for (const [at, work] of works.entries()) {
        const spent = await spentOn(subject, client, work, turn);
        if (turn === 0) values[at]!.cold.push(spent);
        if (turn === WARMING) values[at]!.warm.push(spent);
      }
    }
    for (const table of [LARGE, SMALL]) await subject.side.drop(table);
  }
  return works.flatMap(({ work, times }, at) => {
    const { cold, warm } = values[at]!;
    const row = (name: string, of: (spent: Spent) => readonly number[]): Row => ({
      work: `${work}, ${times} times, ${name}`,
      unit: 'ms',
      target: '≤ 1.2',
      samples: [
        { name: `${subject.name}, just started`, values: cold.flatMap(of) },
        { name: `${subject.name}, warm`, values: warm.flatMap(of) },
      ],
    });
    return [row('each', ({ each }) => each), row('processor', ({ processor }) => [processor])];
  });
}

/** What the requests of a turn took, in ms. */
interface Spent {
  /** Of each request, as its client sees it. */
  readonly each: readonly number[];
  /** Of all threads, for a request on average. */
  readonly processor: number;
}

function worksOn(rows: number): readonly Work[] {
  const few = rowsFrom(0, FEW_ROWS);
  const more = rowsFrom(rows, rows);
  return [
    {
      work: `append of ${FEW_ROWS} rows`,
      times: 10,
      ask: (side) => side.append(SMALL, few),
    },
    {
      work: `merge of ${MERGED_ROWS} rows`,
      times: 5,
      ask: (side, _, time) => side.merge(LARGE, rowsFrom(time * MERGED_ROWS, MERGED_ROWS)),
    },
    { work: 'count', times: 10, ask: (side) => side.count(LARGE, 'value < 0.1') },
    { work: "scan by LanceDB's client", times: 5, ask: (_, client) => client.scan(LARGE) },
    {
      work: `append of ${rows.toLocaleString('en-US')} rows`,
      times: 2,
      ask: (side) => side.append(SMALL, more),
    },
  ];
}

/** Fetching memory takes a moment more after a start. */
async function spentOn(
  subject: Subject,
  client: TableSide,
  work: Work,
  turn: number,
): Promise<Spent> {
  fetchMemory();
  const before = await subject.processorMillis();
  const each: number[] = [];
  for (let time = 0; time < work.times; time++) {
    each.push(await timed(() => work.ask(subject.side, client, turn * work.times + time)));
  }
  return { each, processor: ((await subject.processorMillis()) - before) / work.times };
}
