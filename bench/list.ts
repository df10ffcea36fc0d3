// A page of a listing: of 10,000 tables the caller may see half, against a caller who may see all.
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { declareTables } from './list/declared-tables.ts';
import { timedEach, measureRounds } from './harness/rounds.ts';
import { readOptions } from './harness/options.ts';
import { printResult, type Row } from './harness/table.ts';

const ROLE = 'role:half';
const TIMES = 20;
const PAGES = [100, 1000];

const options = readOptions();
const tables = options.quick ? 1000 : 10_000;
const names = Array.from({ length: tables }, (_, table) => `t${String(table).padStart(5, '0')}`);
const visible = names.filter((_, table) => table % 2 === 0);
const service = await Service.start({
  policy: [
    ...visible.map((name) => `p, ${ROLE}, /lake/${name}, read, allow\n`),
    'p, role:admin, /**, *, allow\n',
  ].join(''),
});
try {
  await service.end();
  await declareTables(service.data, 'lake', names);
  await service.restart();
  const half = await service.key('half', ROLE);
  const rows: Row[] = [];
  for (const page of PAGES) rows.push(await pageRow(page, half));
  printResult('list', notes(), rows);
} finally {
  await service.stop();
}

async function pageRow(limit: number, half: string): Promise<Row> {
  const samples = await measureRounds(
    [
      { name: 'half is visible', measure: () => pageMillis(half, limit, visible) },
      { name: 'all are visible', measure: () => pageMillis(ADMIN_KEY, limit, names) },
    ],
    options.rounds,
  );
  const work = `a page of ${limit.toLocaleString('en-US')}`;
  return { work, unit: 'ms', samples, target: '≤ 2.00' };
}

/** Pages from several places of the listing, each checked: a short one would be quick. */
function pageMillis(key: string, limit: number, shown: readonly string[]): Promise<number> {
  let turn = 0;
  return timedEach(TIMES, async () => {
    const place = Math.floor(((turn++ % 5) * (shown.length - limit)) / 5);
    const after = place <= 0 ? '' : `&page_token=${shown[place - 1]}`;
    const url = `${service.url}/v1/namespace/lake/table/list?limit=${limit}${after}`;
    const response = await fetch(url, { headers: { 'x-api-key': key } });
    const answer = (await response.json()) as { readonly tables?: readonly string[] };
    const expected = Math.min(limit, shown.length);
    if (answer.tables?.length !== expected || answer.tables[0] !== shown[Math.max(0, place)]) {
      throw new Error(`${url}: ${response.status}, not the ${expected} names from ${place} on`);
    }
  });
}

function notes(): readonly string[] {
  const count = tables.toLocaleString('en-US');
  return [
    `Pages of a namespace with ${count} tables, every second of which has a policy line of its own`,
    'that lets the first caller see it; the second is the administrator. One page at a time.',
  ];
}
