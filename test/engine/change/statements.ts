import { Int64, vectorFromArray } from 'apache-arrow';
import { streamOf } from '../../support/table-client.ts';

/** Rows by their key: how often each has which value. Keys may repeat. */
export type Pairs = readonly (readonly [k: number, n: number])[];

/** What a statement answers beside the version. */
export type Counts = Readonly<Record<string, number>>;

/** A statement on a table with the columns `k` and `n`, and what it does. */
export interface Statement {
  readonly seed: number;
  readonly line: string;
  readonly body: object | Uint8Array;
  /** The rows afterwards, in no order, and what is answered. */
  readonly apply: (rows: Pairs) => { readonly rows: Pairs; readonly counts: Counts };
}

export function streamOfPairs(rows: Pairs): Uint8Array {
  return streamOf({
    k: vectorFromArray(
      rows.map(([k]) => BigInt(k)),
      new Int64(),
    ),
    n: vectorFromArray(
      rows.map(([, n]) => BigInt(n)),
      new Int64(),
    ),
  });
}

const KEYS = 30;

/** The statement that belongs to a number, always the same. */
export function randomStatement(seed: number): Statement {
  const random = randomOf(seed);
  const make = [insert, remove, update, update, merge][random(5)]!;
  return { seed, ...make(random) };
}

type Random = (bound: number) => number;
type Made = Omit<Statement, 'seed'>;

function randomOf(seed: number): Random {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  return (bound) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % bound;
  };
}

function insert(random: Random): Made {
  const added: Pairs = Array.from({ length: 1 + random(4) }, () => [random(KEYS), random(5)]);
  return {
    line: 'POST /v1/table/t/insert',
    body: streamOfPairs(added),
    apply: (rows) => ({
      rows: [...rows, ...added],
      counts: { num_inserted_rows: added.length },
    }),
  };
}

function remove(random: Random): Made {
  const [key, value] = [random(KEYS), 4 + random(20)];
  return {
    line: 'POST /v1/table/t/delete',
    body: { predicate: `k = ${key} AND n > 2 OR n > ${value}` },
    apply: (rows) => {
      const left = rows.filter(([k, n]) => !((k === key && n > 2) || n > value));
      return { rows: left, counts: { num_deleted_rows: rows.length - left.length } };
    },
  };
}

function update(random: Random): Made {
  const [modulus, rest] = [2 + random(6), random(2)];
  const meets = (k: number, n: number): boolean => k % modulus === rest && n < 15;
  return {
    line: 'POST /v1/table/t/update',
    body: { predicate: `k % ${modulus} = ${rest} AND n < 15`, updates: [['n', 'n + 3']] },
    apply: (rows) => ({
      rows: rows.map(([k, n]) => (meets(k, n) ? [k, n + 3] : [k, n])),
      counts: { updated_rows: rows.filter(([k, n]) => meets(k, n)).length },
    }),
  };
}

function merge(random: Random): Made {
  const keys = [...new Set(Array.from({ length: 1 + random(5) }, () => random(KEYS + 5)))];
  const sent = new Map(keys.map((k) => [k, random(5)]));
  return {
    line: 'POST /v1/table/t/merge_insert?on=k&when_matched_update_all=true&when_not_matched_insert_all=true',
    body: streamOfPairs([...sent]),
    apply: (rows) => {
      const there = new Set(rows.map(([k]) => k));
      const fresh = [...sent].filter(([k]) => !there.has(k));
      return {
        rows: [...rows.map(([k, n]) => [k, sent.get(k) ?? n] as const), ...fresh],
        counts: {
          num_updated_rows: rows.filter(([k]) => sent.has(k)).length,
          num_inserted_rows: fresh.length,
        },
      };
    },
  };
}
