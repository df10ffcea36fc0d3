// Row filters: a query under one against the same filter in a request, and small reads with restrictions and without.
import { readdirSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Int32, Int64, Table, Utf8, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import { eventually } from '../test/support/eventually.ts';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, type Samples } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

const FILE = 'restrictions.yaml';
const RESTRICTIONS = `restrictions:
  - name: own-region
    tables: ['/orders']
    subjects: ['role:analyst']
    rows: region = 'eu'
`;
const POLICY = 'p, role:admin, /**, *, allow\np, role:analyst, /**, read, allow\n';
const FILTER = "region = 'eu'";
/** Turns of each side in a sample: the machine may change its speed by half within a second. */
const TURNS = 8;
/** What a reload still does when its policy is in force, in ms. */
const SETTLED_MILLIS = 100;
/** Requests of one sample, so that it takes many ticks of the clock. */
const TIMES = 20;
const SMALL_TIMES = 2000;

const options = readOptions();
const rows = options.quick ? 40_000 : 400_000;
const regions = ['eu', 'us', 'asia', 'africa'];

/** A service with restrictions and the table. */
async function started(): Promise<Service> {
  const service = await Service.prepare({ policy: POLICY });
  await writeFile(join(service.policies, FILE), RESTRICTIONS);
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

/**
 * Requests of one process with restrictions and, after a reload of its policy, without: one process is up to a
 * twentieth quicker than its twin.
 * @param asked The request; its answer may depend on restrictions.
 */
async function measureReloaded(
  asked: (restricted: boolean) => Asked,
  reload: (restricted: boolean) => Promise<void>,
  rounds: number,
): Promise<readonly Samples[]> {
  const [restricted, plain]: [number[], number[]] = [[], []];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    let [withThem, without] = [0, 0];
    for (let turn = 0; turn < 2 * TURNS; turn++) {
      const isRestricted = turn % 4 === 0 || turn % 4 === 3;
      await reload(isRestricted);
      const one = asked(isRestricted);
      const share = (await millis({ ...one, times: one.times / TURNS })) / TURNS;
      if (isRestricted) withThem += share;
      else without += share;
    }
    if (round === 0) continue;
    restricted.push(withThem);
    plain.push(without);
  }
  return [
    { name: 'with restrictions', values: restricted },
    { name: 'without any', values: plain },
  ];
}

const restricted = await started();
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
  let isInForce = true;
  const reload = async (isRestricted: boolean): Promise<void> => {
    // A file that is written again is read again, beside the requests that are measured.
    if (isRestricted === isInForce) return;
    isInForce = isRestricted;
    const file = join(restricted.policies, FILE);
    await (isRestricted ? writeFile(file, RESTRICTIONS) : rm(file, { force: true }));
    // A description needs no thread, whose start would be measured as well.
    await eventually(async () => {
      const response = await fetch(`${restricted.url}/v1/table/orders/describe`, {
        method: 'POST',
        headers: { 'x-api-key': analyst, 'content-type': 'application/json' },
        body: '{}',
      });
      const tellsStatistics = 'stats' in ((await response.json()) as object);
      if (tellsStatistics === isRestricted) throw new Error('the policy was not read again');
    });
    await sleep(SETTLED_MILLIS);
  };
  const describe = { action: 'describe', body: {}, expected: null, times: SMALL_TIMES };
  const counts = { ...count, times: SMALL_TIMES };
  const own = { service: restricted, key: analyst };
  const free = { service: restricted, key: ADMIN_KEY };
  const reloaded: readonly (readonly [string, (isRestricted: boolean) => Asked])[] = [
    ['bound: DescribeTable', () => ({ ...describe, ...own })],
    [
      'bound: count',
      (isRestricted) => ({ ...counts, ...own, expected: isRestricted ? part : rows }),
    ],
    ['unrestricted: DescribeTable', () => ({ ...describe, ...free })],
    ['unrestricted: count of all', () => ({ ...counts, ...free, expected: rows })],
    [
      'unrestricted: query of 100',
      () => ({ ...query({ k: 100 }, 100), ...free, times: SMALL_TIMES }),
    ],
    ['unrestricted: query of all', () => ({ ...query({}, rows), ...free, times: 4 * TURNS })],
  ];
  for (const [work, asked] of reloaded) {
    const samples = await measureReloaded(asked, reload, options.rounds);
    results.push({ work, unit: 'ms', samples, target: '≤ 1.03' });
  }
  printResult('restrict', notes(), results);
} finally {
  await restricted.stop();
}

function notes(): readonly string[] {
  return [
    `A table of ${rows.toLocaleString('en-US')} rows, of which a row filter shows every fourth; answers are read whole.`,
    'The peer asks for the same rows by a filter in the request, as an administrator. Small reads of a caller whom the',
    'restriction binds, and of one whom it does not, are compared with the same requests of the same process after a',
    'reload of its policy without restrictions.',
    'Milliseconds of processor time of the service for one request, all threads.',
  ];
}
