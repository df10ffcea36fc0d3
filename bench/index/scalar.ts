import type { Table } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { checkRows } from '../data/question.ts';
import { arrow, randomNumbers } from '../data/rows.ts';
import { peer } from '../harness/lancedb-peer.ts';
import { measureRounds, SHORT_WARMUPS, timedEach } from '../harness/rounds.ts';
import type { Row } from '../harness/table.ts';
import { builtIndex } from './built-index.ts';
import type { IndexQuestions, IndexSides } from './question.ts';

const TABLE = 'keys';
const COLUMNS = ['key', 'name', 'value'];
/** So many keys are looked up in a round, one after the other. */
const LOOKUPS = 200;
/** So many keys are asked for at once. */
const MANY = 100;

/** Keys that lie in no order, so that nothing but an index tells where one is. */
export const scalarIndexQuestions: IndexQuestions = {
  notes: [
    'Keys: 400,000 rows of (int64, utf8, float64) in no order of their keys, which have a BTREE on',
    'both sides. One key is asked for after the other, each with the whole row; then a hundred at once.',
  ],
  measure: measureKeys,
};

/** Asks for the rows that a predicate selects. */
export type LookedUp = (where: string) => Promise<Arrow.Table>;

async function measureKeys({ raw, embedded, options }: IndexSides): Promise<readonly Row[]> {
  const count = options.quick ? 40_000 : 400_000;
  const keys = shuffledKeys(count);
  const rows = keyRows(keys);
  await raw.create(TABLE, rows);
  await builtIndex(raw, TABLE, { column: 'key', index_type: 'BTREE' });
  const table = await embedded.createTable(TABLE, rows);
  await table.createIndex('key', { config: peer.lancedb.Index.btree() });
  const sides = [
    { name: raw.name, ask: (where: string) => raw.filter(TABLE, where, COLUMNS) },
    { name: 'LanceDB embedded', ask: askLance(table) },
  ];
  const one = await measureRounds(
    sides.map(({ name, ask }) => ({
      name,
      warmups: SHORT_WARMUPS,
      measure: () => lookUpKeys(ask, 1, keys),
    })),
    options.rounds,
  );
  const many = await measureRounds(
    sides.map(({ name, ask }) => ({
      name,
      warmups: SHORT_WARMUPS,
      measure: () => lookUpKeys(ask, MANY, keys),
    })),
    options.rounds,
  );
  return [
    { work: 'look one key up by a BTREE', unit: 'ms', samples: one, target: '≤ 0.6' },
    { work: `look ${MANY} keys up by a BTREE`, unit: 'ms', samples: many, target: '≤ 0.7' },
  ];
}

/** Time of one look-up of `count` keys, in ms. The sequence of keys is the same in every call. */
export function lookUpKeys(ask: LookedUp, count: number, keys: BigInt64Array): Promise<number> {
  const times = count === 1 ? LOOKUPS : LOOKUPS / 10;
  const next = randomNumbers(7);
  const anyKey = () => keys[Math.floor(next() * keys.length)]!;
  return timedEach(times, async () => {
    const some = new Set(Array.from({ length: count }, anyKey));
    const where = count === 1 ? `key = ${[...some].join()}` : `key in (${[...some].join()})`;
    checkRows(await ask(where), some.size);
  });
}

function askLance(table: Table): LookedUp {
  return (where) => table.query().where(where).toArrow();
}

/** The numbers below a count, in an order that is the same in every run. */
export function shuffledKeys(count: number): BigInt64Array {
  const keys = BigInt64Array.from({ length: count }, (_, at) => BigInt(at));
  const next = randomNumbers(1);
  for (let at = count - 1; at > 0; at--) {
    const other = Math.floor(next() * (at + 1));
    [keys[at], keys[other]] = [keys[other]!, keys[at]!];
  }
  return keys;
}

/** Rows of (key int64, name utf8, value float64). */
export function keyRows(keys: BigInt64Array): Arrow.Table {
  const next = randomNumbers(2);
  return new arrow.Table({
    key: arrow.makeVector(keys),
    name: arrow.vectorFromArray(
      Array.from(keys, (key) => `name of key ${key}`),
      new arrow.Utf8(),
    ),
    value: arrow.makeVector(Float64Array.from(keys, next)),
  });
}
