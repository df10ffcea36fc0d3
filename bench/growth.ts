// The cost of common requests and of a start with ten and a hundred times as many tables, versions and API keys.
import type { Subject } from './growth/subject.ts';
import { keysOfSize, tablesOfSize, versionsOfSize } from './growth/sizes.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, timed, timedEach } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

const options = readOptions();
const SIZES = options.quick ? [100, 1000] : [1000, 10_000, ...(options.large ? [100_000] : [])];
const TIMES = 20;

const rows = [
  ...(await measured('tables', tablesOfSize)),
  ...(await measured('versions', versionsOfSize)),
  ...(await measured('keys', keysOfSize)),
];
printResult('growth', notes(), rows);

/** The requests of a subject at each size, the largest first, and the start of its service. */
async function measured(
  what: string,
  make: (size: number) => Promise<Subject>,
): Promise<readonly Row[]> {
  const subjects: Subject[] = [];
  try {
    for (const size of SIZES.toReversed()) subjects.push(await make(size));
    const requests = Object.keys(subjects[0]?.requests ?? {});
    const found: Row[] = [];
    for (const name of requests) {
      found.push(
        await row(what, name, subjects, (subject) =>
          timedEach(TIMES, (time) => subject.request(name, time)),
        ),
      );
    }
    const start = (subject: Subject) => timed(() => subject.service.restart());
    const end = (subject: Subject) => subject.service.end();
    return [...found, await row(what, 'start', subjects, start, end)];
  } finally {
    for (const { service } of subjects) await service.stop();
  }
}

async function row(
  what: string,
  name: string,
  subjects: readonly Subject[],
  work: (subject: Subject) => Promise<number>,
  before: (subject: Subject) => Promise<unknown> = async () => undefined,
): Promise<Row> {
  const sides = subjects.map((subject) => ({
    name: `${subject.size.toLocaleString('en-US')} ${what}`,
    measure: async () => {
      await before(subject);
      return work(subject);
    },
  }));
  const samples = await measureRounds(sides, options.rounds);
  return { work: `${name}, by ${what}`, unit: 'ms', samples, target: '≤ 1.30' };
}

function notes(): readonly string[] {
  return [
    'The same request to services whose catalogs differ in one number alone: declared tables of one',
    'namespace, versions of one table (inserts of one row, merged in the background), API keys. One',
    'request at a time. The ratio is that of the largest to each smaller one.',
  ];
}
