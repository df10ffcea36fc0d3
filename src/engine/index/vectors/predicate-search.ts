import type { Field, Schema } from 'apache-arrow';
import {
  boolType,
  boundChildren,
  type Bound,
  type BoundExpression,
  type BoundCall,
  type BoundLiteral,
} from '../../../sql/evaluate/bound.ts';
import { columnsUsed } from '../../../sql/evaluate/columns.ts';
import { likePrefix } from '../../../sql/patterns/like.ts';
import { indexFileOf } from '../keys/index-upkeep.ts';
import type { Fragment, IndexDefinition, Snapshot } from '../../format/snapshot.ts';
import { isVectorIndex } from './vector-kind.ts';
import type { FragmentLookup, Lookup } from '../keys/lookup.ts';
import { isValid, type ListColumn } from '../../../sql/values/column.ts';

/** Whether a list must hold one of the values or all. */
const calls: Readonly<Record<string, 'one' | 'each'>> = {
  array_has: 'one',
  array_contains: 'one',
  list_has: 'one',
  list_contains: 'one',
  array_has_any: 'one',
  list_has_any: 'one',
  array_has_all: 'each',
  list_has_all: 'each',
};

/**
 * Tests of items that are equivalent to a test of lists: each must be true of some item of a list.
 * Undefined for tests that do not concern items.
 */
function labelTests(node: Bound): readonly Bound[] | undefined {
  if (node.kind !== 'call' || !Object.hasOwn(calls, node.name)) return undefined;
  const [list, value] = node.arguments;
  if (list === undefined || value?.kind !== 'literal' || value.value === null) return undefined;
  // A computed list is not determined by its indexed items.
  if (list.kind !== 'column') return undefined;
  const items = isList(value.value) ? itemsOf(value, value.value) : [value];
  if (items === undefined) return undefined;
  if (calls[node.name] === 'one') return [node];
  return items.length === 0 ? undefined : items.map((item) => withValue(node, list, item));
}

/**
 * The items of a literal list, each as a list of one; undefined if one is null, since indices do
 * not hold null items.
 */
function itemsOf(literal: BoundLiteral, value: ListColumn): readonly BoundLiteral[] | undefined {
  const [start, end] = [value.starts[0] ?? 0, value.ends[0] ?? 0];
  const items: BoundLiteral[] = [];
  for (let at = start; at < end; at++) {
    if (!isValid(value.child, at)) return undefined;
    const one = { ...value, starts: Uint32Array.of(at), ends: Uint32Array.of(at + 1) };
    items.push({ ...literal, value: one });
  }
  return items;
}

function isList(value: BoundLiteral['value']): value is ListColumn {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'list';
}

function withValue(node: BoundCall, list: Bound, value: BoundLiteral): BoundCall {
  return { ...node, arguments: [list, value] };
}

/** The part of a predicate that indices may answer, on any fragments. */
export type IndexSearch =
  | {
      readonly kind: 'leaf';
      readonly index: IndexDefinition;
      readonly column: Field;
      readonly test: BoundExpression;
      readonly narrow: boolean;
    }
  | {
      readonly kind: 'and' | 'or';
      readonly operands: readonly IndexSearch[];
      /** Whether all operands of the predicate are included. */
      readonly whole: boolean;
    };

/** An index and its column. */
interface Indexed {
  readonly index: IndexDefinition;
  readonly column: Field;
}

/**
 * Plans which part of a predicate the indices of a version answer; undefined for nothing. Rows on
 * which evaluation would fail are never left out: if a predicate may fail, only operands before the
 * failing one narrow the rows, and rows for which these are unknown are kept.
 */
export function searchOf(
  { root, source, budget }: BoundExpression,
  { indices = [], schema, fieldIds }: Pick<Snapshot, 'indices' | 'schema' | 'fieldIds'>,
): IndexSearch | undefined {
  if (indices.length === 0) return undefined;
  const compiler = new Compiler(indexedColumns({ indices, schema, fieldIds }), source, budget);
  return root.fallible ? compiler.before(root) : compiler.search(root, false);
}

type IndexedColumns = ReadonlyMap<string, readonly Indexed[]>;

/** The last result for each schema, and what it was made of. */
const indexedBySchema = new WeakMap<Schema, { from: IndexedParts; found: IndexedColumns }>();

type IndexedParts = Pick<Snapshot, 'schema' | 'fieldIds'> & {
  readonly indices: readonly IndexDefinition[];
};

/** The indices of a version's columns by the names of the columns, without those of vectors and texts. */
function indexedColumns(from: IndexedParts): IndexedColumns {
  const { indices, schema, fieldIds } = from;
  const known = indexedBySchema.get(schema);
  if (known?.from.indices === indices && known.from.fieldIds === fieldIds) return known.found;
  const found = new Map<string, Indexed[]>();
  for (const index of indices) {
    const column = schema.fields[fieldIds.indexOf(index.field)];
    if (column === undefined || isVectorIndex(index) || index.type === 'FTS') continue;
    found.set(column.name, [...(found.get(column.name) ?? []), { index, column }]);
  }
  indexedBySchema.set(schema, { from, found });
  return found;
}

class Compiler {
  readonly #indexed: IndexedColumns;
  readonly #source: BoundExpression['source'];
  readonly #budget: BoundExpression['budget'];

  constructor(
    indexed: IndexedColumns,
    source: BoundExpression['source'],
    budget: BoundExpression['budget'],
  ) {
    this.#budget = budget;
    this.#indexed = indexed;
    this.#source = source;
  }

  /** The operands before the first one that may fail, as far as they are not false. */
  before(root: Bound): IndexSearch | undefined {
    if (root.kind !== 'and') return undefined;
    const end = root.operands.findIndex(({ fallible }) => fallible);
    const found = root.operands
      .slice(0, end)
      .flatMap((operand) => this.search(operand, true) ?? []);
    return found.length === 0 ? undefined : { kind: 'and', operands: found, whole: false };
  }

  /**
   * @param orUnknown Whether to include rows for which the node is unknown.
   * @param orUnknown Whether rows are wanted too of which the node is unknown.
   */
  search(node: Bound, orUnknown: boolean): IndexSearch | undefined {
    const leaf = this.#leaf(node, orUnknown);
    if (leaf !== undefined) return leaf;
    if (node.kind !== 'and' && node.kind !== 'or') return undefined;
    const found = node.operands.flatMap((operand) => this.search(operand, orUnknown) ?? []);
    const whole = found.length === node.operands.length;
    if (found.length === 0 || (node.kind === 'or' && !whole)) return undefined;
    return { kind: node.kind, operands: found, whole };
  }

  #leaf(node: Bound, orUnknown: boolean): IndexSearch | undefined {
    const [name, ...others] = columnsUsed(this.#expression(node));
    if (name === undefined || others.length > 0 || hasField(node)) return undefined;
    for (const { index, column } of this.#indexed.get(name) ?? []) {
      const search =
        index.type === 'LABEL_LIST'
          ? this.#labels(node, { index, column }, orUnknown)
          : this.#values(node, { index, column }, orUnknown);
      if (search !== undefined) return search;
    }
    return undefined;
  }

  #values(node: Bound, { index, column }: Indexed, orUnknown: boolean): IndexSearch {
    const test = this.#expression(orUnknown ? notFalse(node) : node);
    return { kind: 'leaf', index, column, test, narrow: isNarrow(node) };
  }

  /** Null lists are not in the index. */
  #labels(node: Bound, { index, column }: Indexed, orUnknown: boolean): IndexSearch | undefined {
    const tests = orUnknown ? undefined : labelTests(node);
    if (tests === undefined) return undefined;
    const operands = tests.map(
      (test) =>
        ({ kind: 'leaf', index, column, test: this.#expression(test), narrow: true }) as const,
    );
    return operands.length === 1 ? operands[0] : { kind: 'and', operands, whole: true };
  }

  #expression(root: Bound): BoundExpression {
    return { type: root.type, source: this.#source, root, budget: this.#budget };
  }
}

/** Whether a nested field is read: it is not the column's value. */
function hasField(root: Bound): boolean {
  const seen = new Set<Bound>([root]);
  // The list grows during the iteration; a shared operand is visited once.
  for (const node of seen) {
    if (node.kind === 'field') return true;
    for (const child of boundChildren(node)) seen.add(child);
  }
  return false;
}

function notFalse(operand: Bound): Bound {
  const { position } = operand;
  return {
    kind: 'is',
    type: boolType,
    operand,
    test: 'false',
    negated: true,
    position,
    fallible: false,
  };
}

/** Whether a test is true of few of a column's values. */
function isNarrow(node: Bound): boolean {
  if (node.kind === 'and') return node.operands.some(isNarrow);
  if (node.kind === 'or') return node.operands.every(isNarrow);
  if (node.kind === 'comparison') return node.operator === '=';
  if (node.kind === 'in') return !node.negated;
  if (node.kind !== 'like' || node.negated || node.ignoreCase) return false;
  const { pattern, escape } = node;
  if (pattern.kind !== 'literal' || typeof pattern.value !== 'string') return false;
  return likePrefix(pattern.value, escape).text !== '';
}

/** The lookup for a fragment; undefined if no index that covers it is of use. */
export function lookupOf(search: IndexSearch, fragment: Fragment): FragmentLookup | undefined {
  if (fragment.indices === undefined || fragment.indices.length === 0) return undefined;
  return resolved(search, fragment);
}

function resolved(search: IndexSearch, fragment: Fragment): FragmentLookup | undefined {
  if (search.kind === 'leaf') {
    const { index, column, test, narrow } = search;
    const file = indexFileOf(fragment, index);
    if (file === undefined) return undefined;
    const root = { kind: 'leaf', name: index.name, type: index.type, file, column, test } as const;
    return { root, exact: true, narrow };
  }
  const found = search.operands.flatMap((operand) => resolved(operand, fragment) ?? []);
  const whole = search.whole && found.length === search.operands.length;
  if (found.length === 0 || (search.kind === 'or' && !whole)) return undefined;
  // Narrow lookups come first: the others may then be skipped.
  const sorted = found.toSorted((one, other) => Number(other.narrow) - Number(one.narrow));
  const root: Lookup = { kind: search.kind, operands: sorted.map((each) => each.root) };
  const narrow =
    search.kind === 'and' ? found.some((each) => each.narrow) : found.every((each) => each.narrow);
  return { root, exact: whole && found.every(({ exact }) => exact), narrow };
}
