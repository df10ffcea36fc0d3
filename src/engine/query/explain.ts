import { typeName } from '../../arrow/types.ts';
import type { ColumnNeed } from './computed-columns.ts';
import type { NearestPlan, QueryPlan } from './plan.ts';
import type { Projection } from './projection.ts';
import type { SortKey } from './sort-plan.ts';

/** A step of a plan in words: what it does, and what is told of it when more is asked for. */
export interface PlanStep {
  readonly name: string;
  readonly text: string;
  readonly details: readonly string[];
}

/**
 * A plan as text: the last step first, each step below the one that takes its
 * rows, as ExplainTableQueryPlan answers it.
 * @param verbose Tells types, files and what is read of each batch, too.
 */
export function explainPlan(plan: QueryPlan, verbose: boolean): string {
  return stepsText(planSteps(plan), verbose);
}

/** Steps in the order of their work as text, the last one first. */
export function stepsText(steps: readonly PlanStep[], verbose: boolean): string {
  return steps
    .toReversed()
    .flatMap((step, depth) => stepLines(step, '  '.repeat(depth), verbose))
    .join('\n');
}

function stepLines({ name, text, details }: PlanStep, indent: string, verbose: boolean): string[] {
  const line = `${indent}${name}: ${text}`;
  return verbose ? [line, ...details.map((detail) => `${indent}  - ${detail}`)] : [line];
}

/** The steps of a plan in the order of their work. */
export function planSteps(plan: QueryPlan): readonly PlanStep[] {
  return [
    scanStep(plan),
    ...filterSteps(plan),
    ...orderSteps(plan),
    windowStep(plan),
    projectStep(plan),
  ];
}

function scanStep({ snapshot, files, filterNeed, need, nearest }: QueryPlan): PlanStep {
  const rows = files.reduce((sum, { fragment }) => sum + fragment.rows, 0);
  const skipped = snapshot.fragments.length - files.length;
  const searched = nearest === null ? [] : [nearest.column.column];
  const columns = new Set([...filterNeed.stored, ...searched, ...need.stored]);
  return {
    name: 'Scan',
    text: `version ${snapshot.version}, ${files.length} of ${snapshot.fragments.length} files, ${rows} rows, columns ${listOf([...columns])}`,
    details: [`files skipped: ${skipped}`, `read first: ${needText(filterNeed)}`],
  };
}

function filterSteps({ filter, need }: QueryPlan): readonly PlanStep[] {
  if (filter === null) return [];
  return [
    {
      name: 'Filter',
      text: filter.text,
      details: [`reads ${listOf(filter.columns)}`, `read for rows that pass: ${needText(need)}`],
    },
  ];
}

function orderSteps({ nearest, sort }: QueryPlan): readonly PlanStep[] {
  if (nearest !== null) return nearestSteps(nearest);
  if (sort === null) return [];
  return [{ name: 'Sort', text: sort.keys.map(sortKeyText).join(', '), details: [] }];
}

function nearestSteps(nearest: NearestPlan): readonly PlanStep[] {
  const { column, metric, vectors, keep, bounds, postfilter } = nearest;
  const search = {
    name: 'Nearest',
    text: `${column.text} by ${metric}, ${vectors.length} vectors of ${vectors[0]?.length ?? 0}, keeps ${keep ?? 'all'}`,
    details: [
      `type ${typeName(column.field.type)}`,
      `lower bound ${bounds.lower ?? 'none'}, upper bound ${bounds.upper ?? 'none'}`,
      'exact: every vector is compared',
    ],
  };
  if (postfilter === null) return [search];
  const details = [`reads ${listOf(postfilter.columns)}`];
  return [search, { name: 'Filter', text: `${postfilter.text} (behind the search)`, details }];
}

function windowStep({ window }: QueryPlan): PlanStep {
  return {
    name: 'Window',
    text: `offset ${window.offset}, limit ${window.limit ?? 'none'}`,
    details: [],
  };
}

function projectStep({ projections }: QueryPlan): PlanStep {
  return {
    name: 'Project',
    text: listOf(projections.map(projectionText)),
    details: projections.map(({ field }) => `${field.name}: ${typeName(field.type)}`),
  };
}

function projectionText(projection: Projection): string {
  const { field } = projection;
  return projection.kind === 'path' ? field.name : `${field.name} = ${projection.formula.text}`;
}

function sortKeyText({ path, ascending, nullsFirst }: SortKey): string {
  return `${path.text} ${ascending ? 'ascending' : 'descending'} nulls ${nullsFirst ? 'first' : 'last'}`;
}

function needText({ stored, placed }: ColumnNeed): string {
  return listOf([...stored, ...placed.map((field) => field.name)]);
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}
