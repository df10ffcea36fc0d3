import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../service/http.ts';
import { lookUps, timedLookUps, type Ratio } from './look-up-times.ts';
import { formats, KEYS, TwoWorlds, type Format, type World } from './two-worlds.ts';

/**
 * A bound caller of a service with several processes, threads and Lance tables asks two tables that differ in what is
 * hidden from it. `test/engine/restrict/leaks.test.ts` has what one process answers.
 */

/** `npm test` looks each key up a few times and asserts no time; `npm run test:attacks` judges medians. */
const ALL = process.env['ARROWGATE_TEST_ATTACKS'] === 'all';
const ROUNDS = ALL ? 3 : 1;
/** In a round; a third of them where each takes long. */
const LOOK_UPS = ALL ? 1000 : 6;
/** All look-ups of a Lance table take many minutes on a busy machine. */
const timeout = ALL ? 3_600_000 : 300_000;
/** The largest difference of the medians. */
const CLOSE = 0.05;

let worlds: TwoWorlds;

beforeAll(async () => {
  worlds = await TwoWorlds.start();
});

afterAll(async () => worlds?.stop());

const query = (body: object) => ['query', { vector: [], ...body }] as const;
const sorted = (column_name: string, ascending: boolean) =>
  query({ order_by: [{ column_name, ascending }], columns: ['id', 'email'], k: 4, offset: 3 });

/** Attempts that a thread works on, since they sort or compute all visible rows. */
const heavy = [
  ...['id', 'amount', 'email', 'region', 'price'].flatMap((column) => [
    sorted(column, true),
    sorted(column, false),
  ]),
  query({
    filter: '100 / amount > 90',
    order_by: [{ column_name: 'amount', ascending: false }],
    k: 5,
  }),
  query({ order_by: [{ column_name: 'id', ascending: true }], k: 2, offset: KEYS - 1 }),
  query({ order_by: [{ column_name: 'id', ascending: true }], k: 2, offset: KEYS }),
  query({ columns: { x: '1 / amount', id: 'id' }, k: 3 }),
  query({ filter: "CASE WHEN region = 'us' THEN 1 / 0 > 0 ELSE id > 150000 END", k: 3 }),
  query({ filter: "regexp_like(email, '^z') OR length(email) > 8", k: 3 }),
  ['count_rows', { predicate: "regexp_like(email, '[0-9]')" }] as const,
  ['count_rows', {}] as const,
  [
    'analyze_plan',
    { vector: [], order_by: [{ column_name: 'amount', ascending: true }], k: 3 },
  ] as const,
  ['explain_plan', { query: { vector: [], filter: 'id = 31' } }] as const,
];

/** Page tokens of a bound caller, and of an administrator. */
const paged = [
  ...['version/list', 'tags/list', 'branches/list', 'index/list'].flatMap((action) => [
    [`${action}?limit=1`, {}] as const,
    [`${action}?limit=1&page_token=1`, {}] as const,
    [`${action}?page_token=AAAA`, {}] as const,
  ]),
  query({ page_token: 'MQ', k: 3 }),
  query({ offset: KEYS, k: 3 }),
];

async function same(format: Format, action: string, body: object): Promise<string> {
  const asked = async (world: World) => {
    const answers = await Promise.all(
      [0, 1].map(() => worlds.told(format, world, action, { body })),
    );
    return [...new Set(answers)].join('\n');
  };
  const [first, second] = [await asked(0), await asked(1)];
  expect(second, `${format} ${action} ${JSON.stringify(body)}`).toBe(first);
  return first;
}

describe('a bound caller of several processes', () => {
  it.each(formats)('learns nothing from threads: %s', async (format) => {
    for (const [action, body] of heavy.filter((_, at) => ALL || at % 3 === 0)) {
      await same(format, action, body);
    }
  });

  it.each(formats)('learns nothing from page tokens: %s', async (format) => {
    for (const [action, body] of paged) await same(format, action, body);
  });

  it('gets the same pages of names, whatever is hidden', async () => {
    const { service, key } = worlds;
    const names: string[] = [];
    let token = '';
    do {
      const line = `GET /v1/namespace/$/table/list?limit=1${token && `&page_token=${token}`}`;
      const { json } = await send(service.url, line, { key });
      names.push(...(json['tables'] as string[]));
      const { page_token: next } = json as { page_token?: string | null };
      token = next ?? '';
    } while (token !== '');
    expect(names).toEqual(['arrow0', 'arrow1', 'lance0', 'lance1']);
  });

  it.each(formats)('gets no answer of another by a request id: %s', async (format) => {
    const body = { updates: [['amount', '7']], predicate: "region = 'us' AND id < 200" };
    const headers = { 'x-request-id': `of-${format}` };
    for (const world of [0, 1] as const) {
      // The administrator changes hidden rows too, so the answer counts them.
      const admin = await worlds.admin(format, world, 'update', { body, headers });
      expect(JSON.parse(admin)).toMatch(/^200 .*"updated_rows":[1-9]/);
    }
    const own = await Promise.all(
      ([0, 1] as const).map((world) => worlds.told(format, world, 'update', { body, headers })),
    );
    expect(own[1]).toBe(own[0]);
    expect(own[0]).toContain('updated_rows\\":0');
    const again = await worlds.told(format, 0, 'update', { body, headers });
    expect(again).toBe(own[0]);
    const other = { updates: [['amount', '7']], predicate: 'id < 0' };
    expect(await worlds.told(format, 0, 'update', { body: other, headers })).toMatch(/^"400 /);
    const repeated = await worlds.admin(format, 0, 'update', { body, headers });
    expect(repeated).not.toBe(own[0]);
  });
});

describe('the time of a look-up', () => {
  const ratios: Ratio[] = [];

  afterAll(() => {
    for (const { name, hidden, absent, ratio } of ratios) {
      process.stdout.write(
        `${name}: hidden ${hidden.map(millis).join(' ')}, absent ${absent.map(millis).join(' ')} ms: ${ratio.toFixed(3)}\n`,
      );
    }
  });

  it.each(lookUps)(
    'of a hidden key is that of an absent one: $name',
    { timeout },
    async (lookUp) => {
      const times = lookUp.isSlow ? Math.ceil(LOOK_UPS / 3) : LOOK_UPS;
      const measured = await timedLookUps(worlds, lookUp, ROUNDS, times);
      ratios.push(measured);
      if (ALL) expect(Math.abs(measured.ratio - 1)).toBeLessThan(CLOSE);
    },
  );
});

const millis = (value: number) => value.toFixed(3);
