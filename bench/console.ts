// The console over a million records: how long its reading thread takes for a page, its filters and its counts.
import { execFileSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FilterText } from '../src/console/trail/filter-text.ts';
import type * as Trails from '../src/console/trail/trail.ts';
import { Service } from '../test/support/service.ts';
import { SALARIES } from './console/day-log.ts';
import { firstRenders, type Renders } from './console/first-render.ts';
import { built } from './harness/built.ts';
import { readOptions } from './harness/options.ts';
import { aligned, figure } from './harness/table.ts';

const LOG = fileURLToPath(new URL('console/day-log.ts', import.meta.url));
const PAGE = 50;
/** Longest time of a search, in ms: the machine may be busy. */
const MOST_MILLIS = 600_000;

/** Searches by their names, and the most milliseconds that each should take. */
const SEARCHES: readonly (readonly [string, FilterText, number])[] = [
  ['first page', {}, 300],
  ['a subject', { subject: 'user:u77' }, 1000],
  ['denials', { decision: 'deny' }, 1000],
  ['a rare object', { object: SALARIES }, 1000],
  ['objects below a namespace', { object: '/prod/hr/**' }, 1000],
  ['an operation', { operation: 'InsertIntoTable' }, 1000],
  ['a class of status', { status: '4xx' }, 1000],
  ['a column that was read', { column: 'salary' }, 1000],
  ['a subject without requests', { subject: 'nobody' }, 1000],
  ['flagged requests', { review: 'flagged' }, 1000],
  ['a text of one request', { text: 't145000' }, 1000],
  ['a text of none', { text: 'no such text' }, 1000],
];
const COUNTS: readonly (readonly [string, FilterText, number])[] = [
  ['counts', {}, 1000],
  ['counts of a subject', { subject: 'user:u77' }, 1000],
];

interface Measured {
  readonly name: string;
  readonly most: number;
  readonly found: number;
  readonly millis: readonly number[];
  readonly cpu: readonly number[];
}

const options = readOptions();
const records = options.quick ? 40_000 : 1_000_000;
const service = await Service.start();
await service.end();
execFileSync(process.execPath, [...process.execArgv, LOG, service.data, String(records)]);
const { Trail } = await built<typeof Trails>('console/trail/trail.js');
const measured: Measured[] = [];
for (const [name, filter, most] of SEARCHES) {
  measured.push(await measure(name, most, { kind: 'page', filter, limit: PAGE, except: '' }));
}
for (const [name, filter, most] of COUNTS) {
  measured.push(await measure(name, most, { kind: 'traffic', filter, steps: 60, now: Date.now() }));
}
await service.restart();
const renders = await firstRenders(service.url, options.rounds);
await service.stop();
print();

type Task = Parameters<InstanceType<typeof Trails.Trail>['run']>[0];

/** The first round starts the thread and opens the log; the others find both. */
async function measure(name: string, most: number, task: Task): Promise<Measured> {
  const trail = new Trail({
    folder: join(service.data, 'private', 'audit'),
    millis: MOST_MILLIS,
    failed: (error) => {
      throw error;
    },
  });
  const [millis, cpu]: [number[], number[]] = [[], []];
  let found = 0;
  for (let round = 0; round < options.rounds; round++) {
    const [began, used] = [performance.now(), process.cpuUsage()];
    const answer = JSON.parse(await trail.run(task)) as Answer;
    millis.push(performance.now() - began);
    const { user, system } = process.cpuUsage(used);
    cpu.push((user + system) / 1000);
    found = answer.requests?.length ?? answer.total?.requests ?? 0;
  }
  await trail.close();
  return { name, most, found, millis, cpu };
}

interface Answer {
  readonly requests?: readonly unknown[];
  readonly total?: { readonly requests: number };
}

function print(): void {
  const cells = measured.map(({ name, most, found, millis, cpu }) => {
    const [first = 0, ...later] = millis;
    const [firstCpu = 0, ...laterCpu] = cpu;
    const shown = [first, firstCpu, middle(later), middle(laterCpu)].map(figure);
    return [name, String(found), ...shown, `≤ ${most}`];
  });
  const heading = ['search', 'found', 'first', 'cpu', 'next', 'cpu', 'target'];
  const rule = ['---', '--:', '--:', '--:', '--:', '--:', '--:'];
  const raw = measured.map(({ name, millis }) => `${name} (ms): ${millis.map(figure).join(' ')}`);
  const load = loadavg().map((each) => each.toFixed(1));
  const lines = [
    '## console',
    '',
    `A log of ${records.toLocaleString('en-US')} records of 20 hours, all files but the last sealed; pages of ${PAGE}.`,
    'Milliseconds of wall time and of processor time: of the first search of a new thread, and the median of the next ones.',
    ...renderLines(renders),
    `Load of the machine at the end: ${load.join(' ')}.`,
    '',
    ...aligned([heading, rule, ...cells]),
    '',
    'Raw values, round by round:',
    '',
    '```',
    ...raw,
    '```',
    '',
  ];
  process.stdout.write(lines.join('\n'));
}

function middle(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The first paint of pages in a browser without a cache, and their whole content. */
function renderLines(renders: Renders | undefined): readonly string[] {
  if (renders === undefined) return ['There is no browser here to draw the pages.'];
  const { pages, every, bytes } = renders;
  const faults = every.flatMap(({ name, faults: found }) =>
    found.map((each) => `${name}: ${each}`),
  );
  const slowest = every.toSorted((one, other) => other.millis - one.millis).slice(0, 3);
  return [
    `A browser without a cache loads ${(bytes / 1024).toFixed(0)} KB, compressed (target 250). First paint, and all data (ms, target of the first 1,000):`,
    ...pages.map(
      ({ name, first, whole }) =>
        `${name}: ${first.map(figure).join(' ')}; ${whole.map(figure).join(' ')}.`,
    ),
    `Every page in two widths and both themes: ${every.length} opened, ${faults.length} faults; the slowest until its last answer:`,
    `${slowest.map(({ name, millis }) => `${name}: ${figure(millis)} ms`).join('; ')}.`,
    ...faults,
  ];
}
