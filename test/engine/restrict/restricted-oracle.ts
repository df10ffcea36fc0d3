import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json.ts';
import type { Restrictions } from '../../../src/protocol/restrictions.ts';
import { change, query, restrictions, row, search } from './random-requests.ts';
import {
  restrictionsOf,
  streamOfRows,
  visibleOfRows,
  type Told,
  type TestFilter,
  type TestMask,
  type TestRow,
} from './restricted-table.ts';

/**
 * The oracle of restrictions: a restricted table answers as a copy without hidden rows and with masked columns, to
 * random queries and changes.
 */

/** Tables that a bound caller and an administrator ask. Null restrictions are those of the administrator. */
export interface RestrictedTables {
  send(
    table: string,
    action: string,
    body: object | Uint8Array,
    restrictions: Restrictions | null,
  ): Promise<{ readonly json: JsonValue }>;
  told(
    table: string,
    action: 'query' | 'count_rows',
    body: object,
    restrictions: Restrictions | null,
  ): Promise<Told>;
  index(table: string, column: string, type: string): Promise<void>;
  /** Absent where it cannot be asked for. */
  compact?(table: string): Promise<void>;
}

/** How much is compared. */
export interface Comparison {
  readonly tables: RestrictedTables;
  /** The key of the hashes. */
  readonly secret: Uint8Array;
  readonly queries: number;
  readonly changes: number;
}

/** More than all rows. */
const MANY = 1000;

/** What binds the caller of a random table. */
export function randomRestrictions(seed: number): {
  readonly kept: readonly TestFilter[];
  readonly masked: readonly TestMask[];
} {
  const [random] = fc.sample(restrictions, { numRuns: 1, seed });
  return random!;
}

/** @param table Begins with `l` for a Lance table. Restrictions bind it as `randomRestrictions` says. */
export async function compareTable(
  { tables, secret, queries, changes: most }: Comparison,
  { table, copy, seed }: { readonly table: string; readonly copy: string; readonly seed: number },
): Promise<void> {
  const parts = [0, 40, 80].map((from) =>
    Array.from(
      { length: 40 },
      (_, at) => fc.sample(row(from + at), { numRuns: 1, seed: seed + from + at })[0]!,
    ),
  );
  const { kept, masked } = randomRestrictions(seed);
  for (const [at, part] of parts.entries()) {
    await tables.send(table, at === 0 ? 'create' : 'insert', streamOfRows(part), null);
  }
  // Some rows are deleted, and some columns have indices.
  await tables.send(table, 'delete', { predicate: 'id % 11 = 5' }, null);
  for (const [column, type] of [
    ['words', 'FTS'],
    ['id', 'BTREE'],
    ['region', 'BITMAP'],
  ] as const) {
    await tables.index(table, column, type);
  }
  const left = parts.flat().filter(({ id }) => id % 11n !== 5n);
  const seen = visibleOfRows(left, { kept, masked, secret });
  await tables.send(copy, 'create', streamOfRows(seen.rows, seen.names), null);
  if (seen.names.includes('words')) {
    await tables.index(copy, 'words', 'FTS');
  }
  const bound = restrictionsOf(kept, masked);
  const [past] = parts as [TestRow[]];
  const pastSeen = visibleOfRows(past, { kept, masked, secret });
  await tables.send(`${copy}p`, 'create', streamOfRows(pastSeen.rows, pastSeen.names), null);
  const isLance = table.startsWith('l');
  const asked = fc
    .sample(fc.tuple(query, search), { numRuns: queries, seed })
    // A text search of a Lance table is refused.
    .filter(([, found]) => !isLance || !('full_text_query' in found))
    .map(ofAllRows);
  await compareQueries(tables, asked, { table, copy, bound, seed });
  await comparePlain(tables, asked, { table, copy: `${copy}p`, bound, seed }, { version: 1 });
  const masksWritten = new Set<string>(masked.map(({ column }) => column));
  const changes = fc
    .sample(change, { numRuns: most, seed })
    .filter(({ action, body }) => {
      if (!isLance || action === 'delete') return true;
      return 'updates' in body && body.updates.every(isConstant);
    })
    .filter(({ body }) => body instanceof Uint8Array || !JSON.stringify(body).includes('_rowid'))
    .filter(({ writes }) => writes.every((column) => !masksWritten.has(column)))
    .filter(({ action }) => !action.startsWith('merge') || !isKeyJudged(kept, masked));
  for (const { action, body } of changes) {
    const what = JSON.stringify({ seed, bound, action, body });
    expect(await changed(tables, table, action, body, bound), what).toEqual(
      await changed(tables, copy, action, body, null),
    );
  }
  // In the copy changed rows keep their ids, and a text index counts deleted rows: both differ from
  // the numbers and statistics of visible rows.
  const later = asked.filter((each) => !/_?row_?id|full_text/.test(JSON.stringify(each)));
  await compareQueries(tables, later, { table, copy, bound, seed });
  for (const each of [table, copy]) {
    await tables.send(each, 'branches/create', { name: 'dev' }, null);
  }
  for (const { action, body } of changes) {
    const what = JSON.stringify({ seed, bound, action, body });
    const onBranch = `${action}${action.includes('?') ? '&' : '?'}branch=dev`;
    expect(await changed(tables, table, onBranch, body, bound), what).toEqual(
      await changed(tables, copy, onBranch, body, null),
    );
  }
  await comparePlain(tables, later, { table, copy, bound, seed }, { branch: 'dev' });
  if (tables.compact === undefined) return;
  await tables.compact(table);
  const compacted = isLance ? later.filter(isOfValues).map(inTotalOrder) : later;
  await compareQueries(tables, compacted, { table, copy, bound, seed });
}

/**
 * A compaction of a Lance table moves rows: offsets, the order of rows that compare as equal, and the row on which a
 * filter fails first differ from the copy's.
 */
function isOfValues(each: Asked): boolean {
  return !JSON.stringify(each).includes('_rowoffset') && !mayFail(each[0].filter);
}

/** Without a limit of searches: which of equally distant rows are within it depends on where they lie. */
function inTotalOrder([plain, found]: Asked): Asked {
  const order = [...(plain.order_by ?? []), { column_name: 'id', ascending: true }];
  const isSearch = /"vector":\[\d|"vector":\[-|full_text/.test(JSON.stringify(found));
  return [{ ...plain, order_by: order }, isSearch ? { ...found, k: MANY } : found];
}

/**
 * A filter that may fail is asked of all rows: with a limit it depends on the files, which the copy has not in common,
 * which rows it is evaluated on.
 */
function ofAllRows([plain, found]: Asked): Asked {
  return [mayFail(plain.filter) && plain.k !== undefined ? { ...plain, k: MANY } : plain, found];
}

function mayFail(filter = ''): boolean {
  return /\/|CAST/.test(filter);
}

/** Whether filters read the key of merges and a restricted column: a merge writes its key, and is refused then. */
function isKeyJudged(kept: readonly TestFilter[], masked: readonly TestMask[]): boolean {
  const isRead = (column: string) =>
    kept.some(({ sql }) => new RegExp(`\\b${column}\\b`).test(sql));
  return isRead('id') && masked.some(({ column }) => isRead(column));
}

/** An update of a Lance table takes the same number or text for all rows. */
function isConstant([column, sql]: readonly string[]): boolean {
  return column !== 'day' && !/amount|email|_rowoffset/.test(sql!);
}

/** What a change answers, without the version. */
async function changed(
  tables: RestrictedTables,
  table: string,
  action: string,
  body: object,
  bound: Restrictions | null,
): Promise<unknown> {
  try {
    const { json } = await tables.send(table, action, body, bound);
    // Upkeep may make a version meanwhile.
    return { ...(json as object), version: undefined, num_attempts: undefined };
  } catch (error) {
    const { row, message } = error as { row?: { code: number }; message: string };
    if (row === undefined) throw error;
    return `${row.code} ${message}`;
  }
}

interface Compared {
  readonly table: string;
  readonly copy: string;
  readonly bound: Restrictions;
  readonly seed: number;
}

type Asked = readonly [
  plain: { readonly filter?: string; readonly order_by?: readonly object[]; readonly k?: number },
  found: object,
];

/** Compares queries without searches of texts at a version or on a branch: the copy has no such index there. */
async function comparePlain(
  tables: RestrictedTables,
  asked: readonly Asked[],
  { table, copy, bound, seed }: Compared,
  place: { readonly version?: number; readonly branch?: string },
): Promise<void> {
  const onCopy = 'version' in place ? {} : place;
  for (const [body, found] of asked) {
    if ('full_text_query' in found) continue;
    const what = JSON.stringify({ seed, bound, place, body, found });
    const told = await tables.told(table, 'query', { ...body, ...found, ...place }, bound);
    expect(told, what).toEqual(
      await tables.told(copy, 'query', { ...body, ...found, ...onCopy }, null),
    );
  }
}

async function compareQueries(
  tables: RestrictedTables,
  asked: readonly Asked[],
  { table, copy, bound, seed }: Compared,
): Promise<void> {
  for (const [plain, found] of asked) {
    const body = { ...plain, ...found };
    const what = JSON.stringify({ seed, bound, body });
    const told = await tables.told(table, 'query', body, bound);
    expect(told, what).toEqual(await tables.told(copy, 'query', body, null));
    const count = plain.filter === undefined ? {} : { predicate: plain.filter };
    expect(await tables.told(table, 'count_rows', count, bound), what).toEqual(
      await tables.told(copy, 'count_rows', count, null),
    );
  }
}
