import type { Schema } from 'apache-arrow';
import { typeName } from '../../../arrow/types.ts';
import { NO_COLUMNS, needBeyond, needOf, type ColumnNeed } from '../../request/computed-columns.ts';
import type { StepName } from '../scan/meters.ts';
import type { QueryPlan } from '../plan/plan.ts';
import type { Projection } from '../scan/projection.ts';
import { indexNames } from '../../index/keys/lookup.ts';
import type { IndexDefinition, Snapshot } from '../../format/snapshot.ts';
import { isCovered } from '../../index/vectors/index-use.ts';
import { scanExtent, type Share } from '../scan/pruning.ts';
import type { SortKey } from '../plan/sort-plan.ts';
import { indexFileOf } from '../../index/keys/index-upkeep.ts';
import { textOfQuery } from '../../request/text-query.ts';

/** A step of a plan in words, with details for verbose output. */
export interface PlanStep {
  readonly name: string;
  readonly text: string;
  readonly details: readonly string[];
  /** Name of its measurements. */
  readonly measure: StepName;
}

/**
 * Formats a plan, last step first, each step below its consumer, as in ExplainTableQueryPlan.
 * @param verbose Whether to add types, pruning and the skipped share of the table.
 */
export function explainPlan(plan: QueryPlan, verbose: boolean): string {
  return stepsText(planSteps(plan), verbose);
}

/** Formats steps, last one first. */
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
  const search = plan.nearest ?? plan.text;
  const readsEarly = search !== null && search.postfilter !== null;
  return [
    ...indexSteps(plan),
    ...vectorIndexSteps(plan),
    scanStep(plan),
    ...filterSteps(plan),
    ...nearestSteps(plan),
    ...textSteps(plan),
    ...(readsEarly ? readSteps(plan) : []),
    ...behindSteps(plan),
    ...sortSteps(plan),
    windowStep(plan),
    ...(readsEarly ? [] : readSteps(plan)),
    projectStep(plan),
  ];
}

/** One step for all indices of the filter, which are used together. */
function indexSteps({
  snapshot,
  files,
  requestedFilter: requested,
}: QueryPlan): readonly PlanStep[] {
  const lookups = files.flatMap(({ fragment, lookup }) =>
    lookup === undefined ? [] : [{ fragment, lookup }],
  );
  if (lookups.length === 0 || requested === null) return [];
  const names = [...new Set(lookups.flatMap(({ lookup }) => indexNames(lookup.root)))];
  const used = (snapshot.indices ?? []).filter(({ name }) => names.includes(name));
  const covered = new Set(lookups.map(({ fragment }) => fragment)).size;
  const read = new Set(files.map(({ fragment }) => fragment)).size;
  const exact = lookups.every(({ lookup }) => lookup.exact);
  return [
    {
      name: `Index ${names.join(', ')}`,
      text: `${requested.text}, covers ${covered} of ${read} files`,
      details: [
        ...used.map((index) => `${index.name}: ${index.type} on ${columnOf(index, snapshot)}`),
        exact ? 'finds the rows that pass' : 'finds rows that may pass, which are judged',
      ],
      measure: 'index',
    },
  ];
}

function columnOf({ field }: IndexDefinition, { schema, fieldIds }: Snapshot): string {
  return schema.fields[fieldIds.indexOf(field)]?.name ?? '';
}

function scanStep(plan: QueryPlan): PlanStep {
  const { snapshot, files, requestedFilter: requested } = plan;
  const extent = scanExtent(snapshot, files);
  const need = scanNeed(plan);
  const shares = [`${shareText(extent.files)} files`];
  if (extent.batches !== null) shares.push(`${shareText(extent.batches)} batches`);
  return {
    name: 'Scan',
    text: `version ${snapshot.version}, ${shares.join(', ')}, ${extent.rows} rows, columns ${needText(need)}`,
    details: [
      skippedText('files', extent.files),
      extent.batches === null
        ? 'batches skipped: not known, some files have no statistics'
        : skippedText('batches', extent.batches),
      ...(requested === null ? [] : [`pruned by: ${requested.text}`]),
      ...(requested === null ? [] : [`rows known to pass: ${extent.certain}`]),
      ...typesOf(need, snapshot.schema),
    ],
    measure: 'scan',
  };
}

/** Columns read of every batch. */
function scanNeed({
  snapshot,
  filter,
  filterNeed,
  nearest,
  text,
  sort,
  need,
}: QueryPlan): ColumnNeed {
  if (filter !== null) return filterNeed;
  if (text !== null) return NO_COLUMNS;
  if (nearest !== null) return needOf(snapshot.schema, [nearest.column.column]);
  return sort === null ? need : sort.need;
}

/** Columns read later, of the remaining rows. */
function readNeed(plan: QueryPlan): readonly string[] {
  const { snapshot, nearest, text, sort, need } = plan;
  const first = scanNeed(plan);
  const searched = nearest === null ? [] : [nearest.column.column];
  const keys = needOf(snapshot.schema, [...searched, ...(sort?.columns ?? [])]);
  const late = needBeyond(keys, first).stored;
  // Searched or sorted rows are fetched again.
  const rows =
    nearest === null && text === null && sort === null
      ? needBeyond(need, first).stored
      : need.stored;
  return [...new Set([...late, ...rows])];
}

function readSteps(plan: QueryPlan): readonly PlanStep[] {
  const stored = readNeed(plan);
  if (stored.length === 0) return [];
  const details = typesOf({ stored, placed: [] }, plan.snapshot.schema);
  return [{ name: 'Read', text: `columns ${listOf(stored)}`, details, measure: 'read' }];
}

function filterSteps({
  requestedFilter: requested,
  filter,
  files,
}: QueryPlan): readonly PlanStep[] {
  if (requested === null) return [];
  const note = files.length === 0 ? ' (true of no row)' : ' (true of every row)';
  const text = `${requested.text}${filter === null ? note : ''}`;
  const details = [`reads ${listOf(requested.columns)}`];
  return [{ name: 'Filter', text, details, measure: 'filter' }];
}

function sortSteps({ sort }: QueryPlan): readonly PlanStep[] {
  if (sort === null) return [];
  const details = sort.keys.map(({ path }) => `${path.text}: ${typeName(path.field.type)}`);
  return [{ name: 'Sort', text: sort.keys.map(sortKeyText).join(', '), details, measure: 'sort' }];
}

function nearestSteps({ nearest }: QueryPlan): readonly PlanStep[] {
  if (nearest === null) return [];
  const { column, metric, vectors, keep, bounds } = nearest;
  const text = `${column.text} by ${metric}, ${vectors.length} vectors of ${vectors[0]?.length ?? 0}, keeps ${keep ?? 'all'}`;
  const details = [
    `type ${typeName(column.field.type)}`,
    `lower bound ${bounds.lower ?? 'none'}, upper bound ${bounds.upper ?? 'none'}`,
    nearest.index === null
      ? 'exact: every vector is compared'
      : 'compared: the vectors that the index finds near, and those that it does not cover',
  ];
  return [{ name: 'Nearest', text, details, measure: 'search' }];
}

function vectorIndexSteps({ nearest, files }: QueryPlan): readonly PlanStep[] {
  if (nearest === null || nearest.index === null) return [];
  const { index, fast, least } = nearest.index;
  const fragments = [...new Set(files.map(({ fragment }) => fragment))];
  const covered = fragments.filter((fragment) => isCovered(fragment, index));
  const rows = covered.reduce((sum, fragment) => sum + fragment.rows, 0);
  const share = `covers ${covered.length} of ${fragments.length} files, ${rows} rows`;
  return [
    {
      name: `Index ${index.name}`,
      text: `${nearest.column.text} by ${index.distance}, ${share}`,
      details: [
        `${index.name}: ${index.type} on ${nearest.column.text}`,
        `at least ${least} rows are compared by their vectors`,
        fast ? 'other rows are left out' : 'other rows are scanned',
      ],
      measure: 'index',
    },
  ];
}

function textSteps({ text, snapshot }: QueryPlan): readonly PlanStep[] {
  if (text === null) return [];
  const { texts, fastSearch, keep } = text;
  return [
    {
      name: 'Full text',
      text: `${textOfQuery(text.query)}, keeps ${keep ?? 'all'}`,
      details: texts.map(({ index, column }) => coverageText(index, column, snapshot, fastSearch)),
      measure: 'search',
    },
  ];
}

function coverageText(
  index: IndexDefinition,
  column: string,
  { fragments, rows }: Snapshot,
  fastSearch: boolean,
): string {
  const covered = fragments.filter((fragment) => indexFileOf(fragment, index) !== undefined);
  const left = Number(rows) - covered.reduce((sum, fragment) => sum + fragment.rows, 0);
  const others = fastSearch ? 'left out' : 'read for the search';
  return `${index.name}: FTS on ${column}, covers ${Number(rows) - left} of ${rows} rows, ${left} are ${others}`;
}

function behindSteps(plan: QueryPlan): readonly PlanStep[] {
  const postfilter = (plan.nearest ?? plan.text)?.postfilter ?? null;
  if (postfilter === null) return [];
  const text = `${postfilter.text} (behind the search)`;
  const details = [`reads ${listOf(postfilter.columns)}`];
  return [{ name: 'Filter', text, details, measure: 'filter behind' }];
}

function windowStep({ window }: QueryPlan): PlanStep {
  return {
    name: 'Window',
    text: `offset ${window.offset}, limit ${window.limit ?? 'none'}`,
    details: [],
    measure: 'window',
  };
}

function projectStep({ projections }: QueryPlan): PlanStep {
  return {
    name: 'Project',
    text: listOf(projections.map(projectionText)),
    details: projections.map(({ field }) => `${field.name}: ${typeName(field.type)}`),
    measure: 'project',
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

function typesOf({ stored, placed }: ColumnNeed, schema: Schema): readonly string[] {
  const fields = [...schema.fields.filter(({ name }) => stored.includes(name)), ...placed];
  return fields.map(({ name, type }) => `${name}: ${typeName(type)}`);
}

function shareText({ read, all }: Share): string {
  return `${read} of ${all}`;
}

function skippedText(what: string, { read, all }: Share): string {
  return `${what} skipped: ${all - read} of ${all}`;
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}
