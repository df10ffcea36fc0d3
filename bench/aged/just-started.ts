import { setTimeout as sleep } from 'node:timers/promises';
import { ADMIN_KEY } from '../../test/support/service.ts';
import { lanceClient } from '../data/lance-side.ts';
import { rowsFrom } from '../data/rows.ts';
import type { TableSide } from '../data/table-side.ts';
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

/** Processor time of a process that started a second ago, for the first requests, and of the same process later. */
export async function measureStarts(
  subject: Subject,
  rows: number,
  rounds: number,
): Promise<readonly Row[]> {
  const works = worksOn(rows);
  const values = works.map(() => ({ cold: [] as number[], warm: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    await subject.side.create(LARGE, rowsFrom(0, rows));
    await subject.side.create(SMALL, rowsFrom(0, FEW_ROWS));
    await subject.restart();
    await sleep(STARTED_MILLIS);
    const client = await lanceClient(subject.service.url, ADMIN_KEY);
    for (let turn = 0; turn <= WARMING; turn++) {
      for (const [at, work] of works.entries()) {
        const millis = await millisEach(subject, client, work, turn);
        if (turn === 0) values[at]!.cold.push(millis);
        if (turn === WARMING) values[at]!.warm.push(millis);
      }
    }
    for (const table of [LARGE, SMALL]) await subject.side.drop(table);
  }
  return works.map(({ work, times }, at) => ({
    work: `${work}, ${times} times`,
    unit: 'ms',
    target: '≤ 1.2',
    samples: [
      { name: `${subject.name}, just started`, values: values[at]!.cold },
      { name: `${subject.name}, warm`, values: values[at]!.warm },
    ],
  }));
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

/** Processor time of one request, in milliseconds. */
async function millisEach(
  subject: Subject,
  client: TableSide,
  work: Work,
  turn: number,
): Promise<number> {
  const { times } = work;
  const before = await subject.processorMillis();
  for (let time = 0; time < times; time++) {
    await work.ask(subject.side, client, turn * times + time);
  }
  return ((await subject.processorMillis()) - before) / times;
}
