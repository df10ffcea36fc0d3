import { randomOf, type Random } from '../service/random.ts';
import { columnKinds, DIMENSION, oneIn, oneOf, orNull } from './column-kinds.ts';
import { columnOf, predicateOf, valueOf, type NamedColumn, type Scope } from './expressions.ts';
import { makesVersion, type Program, type QueryStatement, type Statement } from './statement.ts';
import { wrongPredicates } from './templates.ts';
import type { Column, Value } from './value.ts';

/** How often each sort of statement comes. */
export type Mix = Readonly<Partial<Record<Statement['kind'], number>>>;

/** The table as far as the statements so far make it. */
interface Draft extends Scope {
  columns: readonly NamedColumn[];
  /** Numbers the columns that come later. */
  made: number;
  /** The columns of each version so far. */
  history: (readonly NamedColumn[])[];
}

/** The program of a seed: the same each time. */
export function programOf(seed: number, mix: Mix, length: number): Program {
  // Seeds that follow one another would begin alike.
  const random = randomOf(Math.imul(seed, 2_654_435_761) ^ 0x5bd1e995);
  for (let skipped = 0; skipped < 8; skipped++) random(2);
  const columns = someColumns(random);
  const draft: Draft = { random, columns, made: 0, history: [columns] };
  const create = rowsOf(draft, oneIn(random, 8) ? 0 : random(30));
  const kinds = Object.entries(mix).flatMap(([kind, weight]) =>
    Array.from({ length: weight }, () => kind),
  );
  const statements = Array.from({ length }, (_, at) =>
    // Rows of several files, before anything is asked of them.
    statementOf(draft, at < 2 ? 'insert' : (oneOf(random, kinds) as Statement['kind'])),
  );
  return { seed, create, statements };
}

function someColumns(random: Random): NamedColumn[] {
  const kinds = Object.keys(columnKinds).filter((kind) => kind !== 'id');
  const chosen = kinds.filter((kind) => kind === 'n' || kind === 't' || oneIn(random, 3));
  const twice = oneOf(random, chosen);
  const names = ['id', ...chosen].map((kind) => ({ name: kind, kind }));
  return twice === 'v' ? names : [...names, { name: `${twice}_2`, kind: twice }];
}

/** Rows for the table; their ids are unique among themselves. */
function rowsOf({ random, columns }: Draft, count: number): readonly Column[] {
  const start = random(50);
  return columns.map(({ name, kind }) => {
    const { type, value } = columnKinds[kind]!;
    const one = (row: number): Value =>
      kind === 'id' ? BigInt(start + 2 * row) : orNull(random, value);
    return { name, type, values: Array.from({ length: count }, (_, row) => one(row)) };
  });
}

function statementOf(draft: Draft, kind: Statement['kind']): Statement {
  const statement = makers[kind](draft);
  if (makesVersion(statement)) draft.history.push(draft.columns);
  return statement;
}

const makers: Readonly<Record<Statement['kind'], (draft: Draft) => Statement>> = {
  query: queryOf,
  nearest: nearestOf,
  count: countOf,
  insert: (draft) => ({
    kind: 'insert',
    rows: rowsOf(draft, draft.random(12)),
    overwrite: oneIn(draft.random, 8),
  }),
  delete: (draft) => ({ kind: 'delete', filter: predicateOf(draft) }),
  update: updateOf,
  merge: mergeOf,
  add: addOf,
  drop: dropOf,
  rename: renameOf,
  retype: retypeOf,
  restore: restoreOf,
  tag: ({ random, history }) => ({
    kind: 'tag',
    action: oneOf(random, ['create', 'create', 'update', 'delete']),
    name: `tag-${random(4)}`,
    version: random(history.length),
  }),
  branch: (draft) => ({
    kind: 'branch',
    action: oneOf(draft.random, ['create', 'create', 'insert', 'delete']),
    name: `branch-${draft.random(3)}`,
    version: draft.random(draft.history.length),
    rows: rowsOf(draft, 1 + draft.random(5)),
  }),
  index: indexOf,
  unindex: ({ random }) => ({ kind: 'unindex', name: `index-${random(4)}` }),
  compact: () => ({ kind: 'compact' }),
  stats: () => ({ kind: 'stats' }),
};

/** Kinds of columns that each kind of index takes; vector indices with codes take more rows than there are. */
const indexable: readonly (readonly [string, Extract<Statement, { kind: 'index' }>['type']])[] = [
  ['n', 'BTREE'],
  ['n', 'BITMAP'],
  ['t', 'BTREE'],
  ['t', 'BITMAP'],
  ['t', 'FTS'],
  ['t', 'FM'],
  ['f64', 'BTREE'],
  ['d', 'BTREE'],
  ['b', 'BITMAP'],
  ['lt', 'LABEL_LIST'],
  ['l', 'LABEL_LIST'],
  ['v', 'IVF_FLAT'],
];

function indexOf(draft: Draft): Statement {
  const { random, columns } = draft;
  const fit = indexable.flatMap(([kind, type]) =>
    columns.filter((column) => column.kind === kind).map(({ name }) => [name, type] as const),
  );
  const [column, type] = oneOf(random, fit);
  return { kind: 'index', name: `index-${random(4)}`, column, type };
}

/** Null in one of so many cases. */
function maybe<T>(draft: Draft, cases: number, make: (draft: Draft) => T): T | null {
  return oneIn(draft.random, cases) ? null : make(draft);
}

/** The table at an older version, sometimes; the version is null for the newest. */
function someVersion(draft: Draft): readonly [number | null, Draft] {
  if (!oneIn(draft.random, 6)) return [null, draft];
  const version = draft.random(draft.history.length);
  return [version, { ...draft, columns: draft.history[version]! }];
}

function countOf(draft: Draft): Statement {
  const [version, then] = someVersion(draft);
  return {
    kind: 'count',
    filter: oneIn(draft.random, 12)
      ? oneOf(draft.random, wrongPredicates)
      : maybe(then, 8, predicateOf),
    version,
  };
}

function restoreOf(draft: Draft): Statement {
  const version = draft.random(draft.history.length);
  draft.columns = draft.history[version]!;
  return { kind: 'restore', version };
}

function queryOf(newest: Draft): QueryStatement {
  const [version, draft] = someVersion(newest);
  const { random } = draft;
  const order = orderOf(draft);
  const columns = oneIn(random, 3) ? null : selectionOf(draft, order);
  const limit = order.length > 0 && oneIn(random, 2) ? 1 + random(20) : null;
  const offset = limit !== null && oneIn(random, 2) ? random(8) : 0;
  const filter = maybe(draft, 4, predicateOf);
  return { kind: 'query', columns, filter, order, limit, offset, version };
}

/** LanceDB sorts only by what it answers. */
function selectionOf(draft: Draft, order: QueryStatement['order']): QueryStatement['columns'] {
  if (order.length === 0 && oneIn(draft.random, 2)) return aliasesOf(draft);
  return [...new Set([...namesOf(draft), ...order.map(({ column }) => column)])];
}

function namesOf({ random, columns }: Draft): string[] {
  const names = columns.filter(() => oneIn(random, 2)).map(({ name }) => name);
  return names.length === 0 ? ['id'] : names;
}

const results = ['integer', 'float', 'text', 'boolean'] as const;

function aliasesOf(draft: Draft): Readonly<Record<string, string>> {
  const { random } = draft;
  const count = 1 + random(3);
  const made = Array.from({ length: count }, (_, at) => [
    `x${at}`,
    valueOf(draft, oneOf(random, results)),
  ]);
  return { id: 'id', ...Object.fromEntries(made) };
}

const sortable: ReadonlySet<string> = new Set([
  'id',
  'n',
  'i8',
  'i64',
  'u64',
  'f32',
  'f64',
  't',
  'b',
  'd',
  'tu',
  'dec',
]);

/** No order, or one by up to three columns. */
function orderOf({ random, columns }: Draft): QueryStatement['order'] {
  if (oneIn(random, 2)) return [];
  const terms = columns.filter(({ kind }) => sortable.has(kind) && oneIn(random, 3)).slice(0, 3);
  return terms.map(({ name }) => ({
    column: name,
    ascending: oneIn(random, 2),
    nullsFirst: oneIn(random, 2),
  }));
}

function vectorOf(random: Random): number[] {
  return Array.from({ length: DIMENSION }, () => Math.fround(random(2_000_003) / 1e6 - 1));
}

const metrics = ['l2', 'cosine', 'dot'] as const;

function nearestOf(draft: Draft): Statement {
  const { random } = draft;
  const column = columnOf(draft, 'vector');
  if (column === undefined) return queryOf(draft);
  const bound = (): number | null => (oneIn(random, 4) ? random(3000) / 1000 - 0.5 : null);
  return {
    kind: 'nearest',
    column,
    vector: vectorOf(random),
    metric: oneOf(random, metrics),
    limit: 1 + random(30),
    offset: oneIn(random, 3) ? random(4) : 0,
    filter: maybe(draft, 2, predicateOf),
    prefilter: !oneIn(random, 3),
    bounds: [bound(), bound()],
  };
}

function updateOf(draft: Draft): Statement {
  const { random } = draft;
  const changeable = draft.columns.filter(({ kind }) => kind !== 'id');
  const first = oneOf(random, changeable);
  const others = changeable.filter((column) => column !== first && oneIn(random, 8));
  const changed = [first, ...others];
  // With several, LanceDB lets one see the new value of another.
  const seen =
    others.length === 0
      ? draft.columns
      : draft.columns.filter((column) => !changed.includes(column));
  const values = changed.map(({ name, kind }) => [
    name,
    newValue({ ...draft, columns: seen }, kind),
  ]);
  return {
    kind: 'update',
    values: Object.fromEntries(values),
    filter: maybe(draft, 5, predicateOf),
  };
}

function newValue(draft: Draft, kind: string): string {
  const { random } = draft;
  const { family, literals } = columnKinds[kind]!;
  if (oneIn(random, 6)) return 'null';
  if (kind === 'n') return valueOf(draft, 'integer');
  if (kind === 'f64') return valueOf(draft, 'number');
  if (family === 'text' || family === 'boolean') return valueOf(draft, family);
  return literals.length === 0 ? 'null' : oneOf(random, literals);
}

function mergeOf(draft: Draft): Statement {
  const { random } = draft;
  const update = !oneIn(random, 3);
  const remove = oneIn(random, 4);
  const conditional = draft.columns.some(({ name }) => name === 'n') && oneIn(random, 4);
  return {
    kind: 'merge',
    rows: rowsOf(draft, 1 + random(10)),
    on: oneIn(random, 6) ? ['id', 't'] : ['id'],
    update,
    updateIf: update && conditional ? 'source.n > target.n' : null,
    insert: !update || !oneIn(random, 3),
    remove,
    removeIf: remove && oneIn(random, 2) ? predicateOf(draft, 1) : null,
  };
}

const added = { integer: 'm', number: 'f64', text: 't', boolean: 'b' } as const;

const addable = ['integer', 'number', 'text', 'boolean'] as const;

/** LanceDB makes no column nullable of whose expression it knows that it is never null. */
const nullable: Readonly<Record<(typeof addable)[number], (value: string) => string>> = {
  integer: (value) => `cast(${value} as bigint) + (n - n)`,
  number: (value) => `${value} + cast(n - n as double)`,
  text: (value) => `${value} || lower(t)`,
  boolean: (value) => `(${value}) and n > -15`,
};

function addOf(draft: Draft): Statement {
  const family = oneOf(draft.random, addable);
  const name = `new${draft.made++}`;
  const expression = nullable[family](valueOf(draft, family));
  draft.columns = [...draft.columns, { name, kind: added[family] }];
  return { kind: 'add', name, expression };
}

/** Columns that every table has at all times. */
const kept: ReadonlySet<string> = new Set(['id', 'n', 't']);

function dropOf(draft: Draft): Statement {
  const droppable = draft.columns.filter(({ name }) => !kept.has(name));
  if (droppable.length === 0) return queryOf(draft);
  const { name } = oneOf(draft.random, droppable);
  draft.columns = draft.columns.filter((column) => column.name !== name);
  return { kind: 'drop', name };
}

/** Kinds that hold every value of another, with their types in the protocol's words. */
const wider: Readonly<Record<string, readonly [kind: string, typeName: string]>> = {
  i8: ['i16', 'int16'],
  i16: ['i32', 'int32'],
  i32: ['i64', 'int64'],
  n: ['m', 'int64'],
  // What is stored fits, whatever was written to it before.
  m: ['n', 'int32'],
  u8: ['u16', 'uint16'],
  u16: ['u32', 'uint32'],
  u32: ['u64', 'uint64'],
  f32: ['f64', 'float64'],
};

function retypeOf(draft: Draft): Statement {
  const narrow = draft.columns.filter(({ kind }) => kind in wider);
  if (narrow.length === 0) return renameOf(draft);
  const { name, kind } = oneOf(draft.random, narrow);
  const [to, typeName] = wider[kind]!;
  draft.columns = draft.columns.map((column) =>
    column.name === name ? { name, kind: to } : column,
  );
  return { kind: 'retype', name, type: columnKinds[to]!.type, typeName };
}

function renameOf(draft: Draft): Statement {
  const renamable = draft.columns.filter(({ name }) => !kept.has(name));
  const { name, kind } = oneOf(draft.random, renamable);
  const to = `${kind}_r${draft.made++}`;
  draft.columns = draft.columns.map((column) =>
    column.name === name ? { name: to, kind } : column,
  );
  return { kind: 'rename', name, to };
}
