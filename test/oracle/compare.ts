import type { Outcome, Statement } from './statement.ts';
import { textOf, type Column } from './value.ts';

/**
 * What two outcomes of a statement differ in; undefined when they are the same. Rows are
 * compared as a set in which each counts as often as it is there, and their order only
 * where the statement asks for one.
 */
export function differenceOf(
  statement: Statement,
  theirs: Outcome,
  ours: Outcome,
): string | undefined {
  if (theirs.kind === 'refused' || ours.kind === 'refused') {
    if (theirs.kind === ours.kind) return undefined;
    return `LanceDB: ${shown(theirs)}; the service: ${shown(ours)}`;
  }
  if (theirs.kind === 'count') return unequal('rows', [shown(theirs)], [shown(ours)]);
  if (theirs.kind === 'told') {
    return unequal('lines', theirs.lines, ours.kind === 'told' ? ours.lines : [shown(ours)]);
  }
  if (ours.kind === 'count' || ours.kind === 'told') return 'the service answers something else';
  if (theirs.kind === 'changed' && ours.kind === 'changed') {
    const counts = unequal('counts', theirs.counts.map(String), ours.counts.map(String));
    if (counts !== undefined) return counts;
  }
  // Without rows LanceDB answers no schema either.
  if (theirs.columns.length === 0 && rowsIn(ours.columns).length === 0) return undefined;
  const names = unequal('columns', namesIn(theirs.columns), namesIn(ours.columns));
  if (names !== undefined) return names;
  if (theirs.kind === 'changed') {
    const types = unequal('types', typesIn(theirs.columns), typesIn(ours.columns));
    if (types !== undefined) return types;
  }
  if (statement.kind === 'nearest') {
    return nearestDifference(statement.limit, theirs.columns, ours.columns);
  }
  const inOrder = orderDifference(statement, theirs.columns, ours.columns);
  // Of rows that sort alike, a limit may keep any.
  if (statement.kind === 'query' && statement.limit !== null) return inOrder;
  return (
    unequal('rows', rowsIn(theirs.columns).toSorted(), rowsIn(ours.columns).toSorted()) ?? inOrder
  );
}

function shown(outcome: Outcome): string {
  if (outcome.kind === 'refused') return `refused: ${outcome.message.split('\n')[0]}`;
  if (outcome.kind === 'told') return outcome.lines.join('; ');
  if (outcome.kind === 'count') return `${outcome.count} rows`;
  return `${outcome.columns[0]?.values.length ?? 0} rows answered`;
}

function namesIn(columns: readonly Column[]): readonly string[] {
  return columns.map(({ name }) => name);
}

function typesIn(columns: readonly Column[]): readonly string[] {
  return columns.map(({ name, type }) => `${name}: ${JSON.stringify(type)}`);
}

/** Each row as a text. */
export function rowsIn(columns: readonly Column[]): readonly string[] {
  const texts = columns.map(({ values }) => values.map(textOf));
  return Array.from({ length: texts[0]?.length ?? 0 }, (_, row) =>
    texts.map((column) => column[row]).join(' | '),
  );
}

function unequal(
  what: string,
  theirs: readonly string[],
  ours: readonly string[],
): string | undefined {
  const at = theirs.findIndex((text, index) => text !== ours[index]);
  if (at < 0 && theirs.length === ours.length) return undefined;
  const index = at < 0 ? theirs.length : at;
  const lengths = `${theirs.length} and ${ours.length} ${what}`;
  return `${lengths}; LanceDB has ${theirs[index] ?? 'no more'}, the service ${ours[index] ?? 'no more'}`;
}

/** The columns that rows are sorted by must be the same, row by row; rows that sort alike may change places. */
function orderDifference(
  statement: Statement,
  theirs: readonly Column[],
  ours: readonly Column[],
): string | undefined {
  if (statement.kind !== 'query' || statement.order.length === 0) return undefined;
  const sortedBy = new Set(statement.order.map(({ column }) => column));
  const sorted = (columns: readonly Column[]) =>
    rowsIn(columns.filter(({ name }) => sortedBy.has(name)));
  return unequal('rows in order', sorted(theirs), sorted(ours));
}

/** Distances differ in their last bits. */
const CLOSE = 1e-4;

function nearestDifference(
  limit: number,
  theirs: readonly Column[],
  ours: readonly Column[],
): string | undefined {
  const [a, b] = [distancesIn(theirs), distancesIn(ours)];
  if (a.length !== b.length) return `${a.length} and ${b.length} rows found`;
  const far = a.findIndex(
    (distance, row) => !(Math.abs(distance - b[row]!) <= CLOSE * Math.max(1, Math.abs(distance))),
  );
  if (far >= 0) return `row ${far} is ${a[far]} away, the service says ${b[far]}`;
  // Of rows equally far away as the last, either may be left out.
  const edge = a.length < limit ? Infinity : a.at(-1)! - CLOSE * Math.max(1, Math.abs(a.at(-1)!));
  const surely = (columns: readonly Column[]) =>
    rowsIn(columns.filter(({ name }) => name !== '_distance'))
      .filter((_, row) => a[row]! < edge)
      .toSorted();
  return unequal('rows', surely(theirs), surely(ours));
}

function distancesIn(columns: readonly Column[]): readonly number[] {
  return (columns.find(({ name }) => name === '_distance')?.values ?? []).map(Number);
}
