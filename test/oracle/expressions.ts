import type { Random } from '../service/random.ts';
import { columnKinds, oneIn, oneOf, quoted, type Family } from './column-kinds.ts';
import { filled, type Result } from './templates.ts';

/** A column that an expression can name. */
export interface NamedColumn {
  readonly name: string;
  /** A key of `columnKinds`. */
  readonly kind: string;
}

/** What an expression is made from. */
export interface Scope {
  readonly random: Random;
  readonly columns: readonly NamedColumn[];
}

const comparisons = ['=', '<>', '!=', '<', '<=', '>', '>='];
const patterns = ['a%', '%b', '%a%', '_', '__', 'A_', '%', '', '%ü%', "it's", 'a\\%', '名_'];

function familyOf({ kind }: NamedColumn): Family {
  return columnKinds[kind]!.family;
}

/** A column of a family, if there is one. */
export function columnOf(scope: Scope, family: Family): string | undefined {
  const found = scope.columns.filter((column) => familyOf(column) === family);
  return found.length === 0 ? undefined : oneOf(scope.random, found).name;
}

/** A predicate; its depth is how many AND, OR and NOT may stand inside one another. */
export function predicateOf(scope: Scope, depth = 3): string {
  const { random } = scope;
  const choice = depth === 0 ? 9 : random(10);
  if (choice < 2) return `${predicateOf(scope, depth - 1)} and ${predicateOf(scope, depth - 1)}`;
  if (choice < 4) return `(${predicateOf(scope, depth - 1)} or ${predicateOf(scope, depth - 1)})`;
  if (choice === 4) return `not (${predicateOf(scope, depth - 1)})`;
  return simplePredicate(scope);
}

function simplePredicate(scope: Scope): string {
  const { random, columns } = scope;
  const column = oneOf(random, columns);
  // A null struct that LanceDB has rewritten may be a struct of nulls to it.
  const tellsNull = familyOf(column) !== 'struct';
  if (oneIn(random, 8) && tellsNull)
    return `${column.name} is ${oneIn(random, 2) ? '' : 'not '}null`;
  if (oneIn(random, 4)) return derivedPredicate(scope);
  const own = byFamily[familyOf(column)];
  return own(scope, column.name, columnKinds[column.kind]!.literals);
}

type Predicates = (scope: Scope, name: string, literals: readonly string[]) => string;

const ordered: Predicates = ({ random, columns }, name, literals) => {
  const literal = () => oneOf(random, literals);
  const operator = oneOf(random, comparisons);
  const kind = columns.find((column) => column.name === name)!.kind;
  const alike = columns.filter((column) => column.kind === kind);
  const negated = oneIn(random, 3) ? 'not ' : '';
  switch (random(6)) {
    case 0:
      return `${name} ${negated}in (${[literal(), literal(), literal()].join(', ')})`;
    case 1:
      return `${name} ${negated}between ${literal()} and ${literal()}`;
    case 2:
      return `${name} ${operator} ${oneOf(random, alike).name}`;
    case 3:
      return `${literal()} ${operator} ${name}`;
    default:
      return `${name} ${operator} ${literal()}`;
  }
};

const texts: Predicates = (scope, name, literals) => {
  const { random } = scope;
  if (oneIn(random, 2)) return ordered(scope, name, literals);
  const like = oneOf(random, ['like', 'not like', 'ilike', 'not ilike']);
  return `${name} ${like} ${quoted(oneOf(random, patterns))}`;
};

const booleans: Predicates = ({ random }, name) =>
  oneOf(random, [
    name,
    `not ${name}`,
    `${name} = true`,
    `${name} <> false`,
    `${name} is true`,
    `${name} is not true`,
    `${name} is false`,
    `${name} is not false`,
  ]);

const numbers: Predicates = ({ random }, name) =>
  oneOf(random, [
    `array_length(${name}) > ${random(4)}`,
    `array_has(${name}, ${random(5)})`,
    `${name} is not null`,
  ]);

const members: Predicates = (scope, name) =>
  oneIn(scope.random, 2)
    ? `${name}.a ${oneOf(scope.random, comparisons)} ${scope.random(7) - 3}`
    : `${name}.b ${oneOf(scope.random, comparisons)} ${oneOf(scope.random, ["'a'", "''", "'ü'"])}`;

const byFamily: Readonly<Record<Family, Predicates>> = {
  integer: ordered,
  float: ordered,
  text: texts,
  boolean: booleans,
  date: ordered,
  timestamp: ordered,
  decimal: ordered,
  numbers,
  struct: members,
  vector: (_, name) => `${name} is not null`,
  binary: (_, name) => `encode(${name}, 'hex') > '6'`,
  time: ({ random }, name) =>
    oneOf(random, [`cast(${name} as string) < '12:00:00'`, `${name} = ${name}`]),
  duration: ({ random }, name) => `${name} ${oneOf(random, comparisons)} ${name}`,
  list: ({ random }, name) => `array_length(${name}) > ${random(3)}`,
  map: ({ random }, name) =>
    oneOf(random, [
      `${name} is null`,
      `cardinality(${name}) > ${random(3)}`,
      `array_has(map_keys(${name}), 'a')`,
      `map_extract(${name}, 'b')[1] > ${random(5)}`,
    ]),
  zero: (_, name) => `${name} is not null`,
};

/** A comparison of what is computed from columns. */
function derivedPredicate(scope: Scope): string {
  const { random } = scope;
  const operator = oneOf(random, comparisons);
  switch (random(4)) {
    case 0:
      return `${valueOf(scope, 'integer')} ${operator} ${random(20) - 5}`;
    case 1:
      return `${valueOf(scope, 'text')} ${operator} ${oneOf(random, columnKinds['t']!.literals)}`;
    case 2:
      return `${valueOf(scope, 'number')} ${operator} ${oneOf(random, columnKinds['f64']!.literals)}`;
    default:
      return `(${valueOf(scope, 'boolean')})`;
  }
}

const smallKinds: ReadonlySet<string> = new Set(['id', 'n', 'm']);

/** An expression that gives a sort of value. */
export function valueOf({ random, columns }: Scope, result: Result): string {
  return filled(result, random, (kind) =>
    columns
      .filter((column) => (kind === 'n' ? smallKinds.has(column.kind) : column.kind === kind))
      .map(({ name }) => name),
  );
}
