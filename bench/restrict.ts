// Row filters: a query under one against the same filter in a request, and small reads with restrictions and without.
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int32, Int64, Table, Utf8, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, type Samples } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

const RESTRICTIONS = `restrictions:
  - name: own-region
    tables: ['/orders']
    subjects: ['role:analyst']
    rows: region = 'eu'
`;
const POLICY = 'p, role:admin, /**, *, allow\np, role:analyst, /**, read, allow\n';
const FILTER = "region = 'eu'";
/** Requests of one sample, so that it takes many ticks of the clock. */
const TIMES = 20;
const SMALL_TIMES = 2000;
/** Services on each side where callers are compared whom nothing binds. */
const PAIRS = 3;
/** Of them, those of one side in a row. */
const TURN_TIMES = 100;

const options = readOptions();
const rows = options.quick ? 40_000 : 400_000;
const regions = ['eu', 'us', 'asia', 'africa'];

/** A service with the table, and with restrictions or without. */
async function started(restricted: boolean): Promise<Service> {
  const service = await Service.prepare({ policy: POLICY });
  if (restricted) await writeFile(join(service.policies, 'restrictions.yaml'), RESTRICTIONS);
  await service.restart();
  const ids = Array.from({ length: rows }, (_, id) => id);
  const table = new Table({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    region: vectorFromArray(
      ids.map((id) => regions[(id * 7) % 4]!),
      new Utf8(),
    ),
    amount: vectorFromArray(
      ids.map((id) => id % 1000),
      new Int32(),
    ),
    note: vectorFromArray(
      ids.map((id) => `note ${id}`),
      new Utf8(),
    ),
  });
  const response = await fetch(`${service.url}/v1/table/orders/create`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/vnd.apache.arrow.stream' },
    body: Buffer.from(tableToIPC(table, 'stream')),
  });
  if (!response.ok) throw new Error(await response.text());
  return service;
}

interface Asked {
  readonly service: Service;
  readonly key: string;
  readonly action: string;
  readonly body: object;
  /** Rows of the answer, or the count; null for a description. */
  readonly expected: number | null;
  readonly times: number;
}

/** Processor time of each thread that was seen, in ns: one that ends has worked, too. */
const worked = new Map<string, number>();

/** Processor time of a process so far, in ms: that of its threads, which the system counts exactly. */
function processorMillis(pid: number): number {
  const threads = `/proc/${pid}/task/`;
  for (const thread of readdirSync(threads)) {
    const [nanos] = readFileSync(`${threads}${thread}/schedstat`, 'utf8').split(' ');
    worked.set(`${threads}${thread}`, Number(nanos));
  }
  const own = [...worked].filter(([thread]) => thread.startsWith(threads));
  return own.reduce((sum, [, nanos]) => sum + nanos, 0) / 1e6;
}

/** Processor time of the service for one request. Each answer is checked: a short one would be quick. */
async function millis({ service, key, action, body, expected, times }: Asked): Promise<number> {
  const before = processorMillis(service.pid);
  for (let time = 0; time < times; time++) {
    const response = await fetch(`${service.url}/v1/table/orders/${action}`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (!response.ok) throw new Error(Buffer.from(bytes).toString());
    if (expected === null) continue;
    const found =
      action === 'query' ? tableFromIPC(bytes).numRows : Number(Buffer.from(bytes).toString());
    if (found !== expected) throw new Error(`${action}: ${found} rows, not ${expected}`);
  }
  return (processorMillis(service.pid) - before) / times;
}

/** The same request of several services. */
interface Turns {
  readonly name: string;
  readonly asked: readonly Asked[];
}

/**
 * Small reads of all sides in turn, a few of each at a time: within a second the machine changes its speed by more
 * than is looked for, and one process is up to a twentieth quicker than its twin.
 */
async function measureTurns(
  sides: readonly Turns[],
  rounds: number,
  times: number,
): Promise<readonly Samples[]> {
  const samples = sides.map(({ name }) => ({ name, values: [] as number[] }));
  for (let round = 0; round <= rounds; round++) {
    const sums = await sumsOfRound(sides, times);
    // The first round warms up.
    if (round > 0) sums.forEach((sum, side) => samples[side]!.values.push(sum));
  }
  return samples;
}

async function sumsOfRound(sides: readonly Turns[], times: number): Promise<readonly number[]> {
  const turn = Math.min(times, TURN_TIMES);
  const sums = sides.map(() => 0);
  for (let turns = 0; turns < times / turn; turns++) {
    const order = [...sides.keys()];
    for (const side of turns % 2 === 0 ? order : order.toReversed()) {
      const { asked } = sides[side]!;
      for (const one of asked) {
        sums[side]! += ((await millis({ ...one, times: turn })) * turn) / times / asked.length;
      }
    }
  }
  return sums;
}

const restricted = await started(true);
/** Services of the same age and past: those above have answered what the others were never asked. */
const fresh = { restricted: [] as Service[], plain: [] as Service[] };
try {
  const analyst = await restricted.key('analyst', 'role:analyst');
  const part = rows / regions.length;
  const results: Row[] = [];
  const query = (more: object, expected: number) => ({
    action: 'query',
    body: { vector: [], ...more },
    expected,
    times: TIMES,
  });
  const count = { action: 'count_rows', body: {}, expected: part, times: TIMES };
  const filtered: readonly (readonly [string, Omit<Asked, 'service' | 'key'>, object])[] = [
    ['all visible rows', query({}, part), { filter: FILTER }],
    [
      'a filter besides',
      query({ filter: 'amount < 100' }, part / 10),
      { filter: `${FILTER} AND amount < 100` },
    ],
    [
      'the greatest 10',
      query({ order_by: [{ column_name: 'amount', ascending: false }], k: 10 }, 10),
      { filter: FILTER },
    ],
    ['a count', count, { predicate: FILTER }],
  ];
  for (const [work, asked, filter] of filtered) {
    const samples = await measureRounds(
      [
        {
          name: 'row filter',
          measure: () => millis({ ...asked, service: restricted, key: analyst }),
        },
        {
          name: 'asked filter',
          measure: () =>
            millis({
              ...asked,
              service: restricted,
              key: ADMIN_KEY,
              body: { ...asked.body, ...filter },
            }),
        },
      ],
      options.rounds,
    );
    results.push({ work, unit: 'ms', samples, target: '≤ 1.15' });
  }
  const small: readonly (readonly [
    string,
    Omit<Asked, 'service' | 'key' | 'expected'>,
    number | null,
    number | null,
  ])[] = [
    ['DescribeTable', { action: 'describe', body: {}, times: SMALL_TIMES }, null, null],
    ['count', { ...count, times: SMALL_TIMES }, part, rows],
  ];
  for (const [work, asked, visible, all] of small) {
    const side = (name: string, key: string, expected: number | null) => ({
      name,
      asked: [{ ...asked, service: restricted, key, expected }],
    });
    const samples = await measureTurns(
      [side('bound', analyst, visible), side('administrator', ADMIN_KEY, all)],
      options.rounds,
      asked.times,
    );
    results.push({ work: `bound: ${work}`, unit: 'ms', samples, target: '≤ 1.03' });
  }
  for (let pair = 0; pair < PAIRS; pair++) {
    fresh.restricted.push(await started(true));
    fresh.plain.push(await started(false));
  }
  const free: readonly (readonly [string, Omit<Asked, 'service' | 'key'>])[] = [
    ['DescribeTable', { action: 'describe', body: {}, expected: null, times: SMALL_TIMES }],
    ['count of all', { ...count, expected: rows, times: SMALL_TIMES }],
    ['query of 100', { ...query({ k: 100 }, 100), times: SMALL_TIMES }],
    ['query of all', query({}, rows)],
  ];
  for (const [work, asked] of free) {
    const side = (name: string, services: readonly Service[]) => ({
      name,
      asked: services.map((service) => ({ ...asked, service, key: ADMIN_KEY })),
    });
    const samples = await measureTurns(
      [side('with restrictions of others', fresh.restricted), side('without any', fresh.plain)],
      options.rounds,
      asked.times,
    );
    results.push({ work: `unrestricted: ${work}`, unit: 'ms', samples, target: '≤ 1.03' });
  }
  printResult('restrict', notes(), results);
} finally {
  for (const service of [restricted, ...fresh.restricted, ...fresh.plain]) await service.stop();
}

function notes(): readonly string[] {
  return [
    `A table of ${rows.toLocaleString('en-US')} rows, of which a row filter shows every fourth; answers are read whole.`,
    'The peer asks for the same rows by a filter in the request, as an administrator. Small reads of a bound caller are',
    'compared with those of an administrator, and callers whom no restriction binds with services that have none:',
    `the mean of ${PAIRS} processes on each side. Small reads of both sides are asked in turns of ${TURN_TIMES}.`,
    'Milliseconds of processor time of the service for one request, all threads.',
  ];
}
