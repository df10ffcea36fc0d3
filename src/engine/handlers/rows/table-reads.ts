import type { Catalog } from '../../catalog/catalog.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Call, Handler } from '../call/handler.ts';
import type { Fields } from '../../base/fields.ts';
import type { Chain } from '../../format/chain.ts';
import type { BatchSource } from '../../query/scan/batch-source.ts';
import type { FoundSnapshot, Snapshot } from '../../format/snapshot.ts';
import type { HeavyWork } from '../../workers/heavy-work.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import { restOn } from '../call/answers.ts';
import type { KnownTables } from '../call/known-tables.ts';
import { branchParameter, namesVersion } from '../call/parameters.ts';
import { readPlace, type TableView } from '../call/read-place.ts';
import { requireEngineTable } from '../call/table-parts.ts';
import { inLibrary, libraryRows, libraryTable, type LanceAccess } from './library-reads.ts';
import { attended, whenMuchIsRead } from '../../query/scan/attended.ts';
import { answerSizes, fileAnswer, rowsAnswer } from '../../query/plan/answer.ts';
import { AnswerMemory, ANSWERS_BYTES } from '../../format/memory/answer-memory.ts';
import { readOfPlan, withReadRows } from '../../query/plan/recorded-read.ts';
import { repeatedAnswer } from '../../query/plan/answer-body.ts';
import { reservedBytes } from '../../query/plan/reserved-bytes.ts';
import { rowsAfter, storedRows } from '../../query/rows-after.ts';
import { PlanRun } from '../../query/execute.ts';
import { planQuery } from '../../query/plan/plan.ts';
import type { RowVerdicts } from '../../query/restrict/row-verdicts.ts';
import type { MaskSecret } from '../../query/restrict/mask-secret.ts';
import { unrestricted } from '../../query/restrict/visible-rows.ts';
import type { VirtualRows } from '../../query/scan/virtual-rows.ts';
import type { Restrictions } from '../../../protocol/restrictions.ts';
import { rowsOfQuery } from '../../virtual/row-answers.ts';
import { readOfLibrary } from './library-columns.ts';
import {
  boundTo,
  requireApplicable,
  restrictedQuery,
  restrictedRows,
} from '../call/restricted-reads.ts';
import { visibleLibraryTable } from './visible-library-rows.ts';
import { statementOf } from '../../base/statement.ts';
import { parseQueryRequest } from '../../request/request.ts';

/** Parts of the operations that read rows. */
export interface TableReads {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly tables: Pick<TableView, 'found' | 'foundNow' | 'chain' | 'version'>;
  readonly tags: Pick<Tags, 'require'>;
  readonly reader: BatchSource;
  /** Worker threads; this thread if absent. */
  readonly heavy?: HeavyWork;
  /** Memory that answers in flight share. */
  readonly answerMemory?: AnswerMemory;
  /** The library that reads Lance tables; absent if there is none. */
  readonly lance?: LanceAccess | undefined;
  /** The key of the hashes of masks. */
  readonly maskSecret: MaskSecret;
  /** The newest versions of tables that were read before; if absent, each is looked up. */
  readonly known?: KnownTables | undefined;
  /** Which rows of recent versions are visible under row filters. */
  readonly judged?: RowVerdicts | undefined;
}

/**
 * The table of a request at the version or tag asked for, or at its newest. The
 * newest is looked up each time, which is all that a client's freshness headers
 * can ask for.
 * @param fields Where the version and the tag stand: the body, or a query inside it.
 * @throws CatalogError TableNotFound, TableVersionNotFound, TableTagNotFound,
 * TableBranchNotFound, or why the table's rows are not here.
 */
export async function readTable(reads: TableReads, call: Call, fields?: Fields): Promise<Snapshot> {
  return (await findTable(reads, call, fields)).snapshot;
}

/** A table at a version with the records by which it was found. */
interface FoundTable extends FoundSnapshot {
  readonly table: Stored<TableRecord>;
  readonly chain: Chain;
}

/** As `readTable`, with the records by which it was found. */
export async function findTable(
  reads: TableReads,
  call: Call,
  fields: Fields = call.body,
): Promise<FoundTable> {
  return findEngineTable(reads, call, await requestedTable(reads, call), fields);
}

/**
 * The newest version of a table of the engine, if it was read before and is still the newest: at once, and with the
 * same result as `findTable`.
 */
export function rememberedTable({ known, tables }: TableReads, call: Call): FoundTable | undefined {
  if (known === undefined || tables.foundNow === undefined || namesVersion(call)) return undefined;
  const found = known.find(call.request.object, branchParameter(call));
  if (found === undefined) return undefined;
  const version = tables.foundNow(found.table.content, found.record);
  if (version === undefined) return undefined;
  const { table, chain, record } = found;
  return { table, chain, record, snapshot: version.snapshot };
}

/** The table of a request, of any kind. @throws CatalogError TableNotFound. */
export async function requestedTable(
  { catalog }: TableReads,
  call: Call,
): Promise<Stored<TableRecord>> {
  return catalog.requireTable(call.request.object);
}

/** As `findTable`, for a table whose record is known. */
export async function findEngineTable(
  { tables, tags, lance, known }: TableReads,
  call: Call,
  table: Stored<TableRecord>,
  fields: Fields = call.body,
): Promise<FoundTable> {
  const { content } = table;
  requireEngineTable(call.request.object, content, lance?.instead);
  const { branch, version } = await readPlace(tags, content, call, fields);
  const chain = await tables.chain(content, branch);
  const { snapshot, record } = await tables.found(content, version, chain);
  if (content.kind === 'engine' && version === undefined)
    known?.keep(call.request.object, branch, { table, chain, record });
  return { snapshot, record, table, chain };
}

/**
 * As `findEngineTable`, with the rows that a caller may see whom restrictions bind. Reports the records by which
 * they were found.
 */
export async function findVisibleRows(
  reads: TableReads,
  call: Call,
  table: Stored<TableRecord>,
  restrictions: Restrictions,
  fields?: Fields,
): Promise<VirtualRows> {
  const library = inLibrary(reads.lance, table);
  if (library !== undefined) {
    const place = await libraryTable(reads, call, table, fields ?? call.body);
    const bound = await boundTo(place.columns.schema, reads, call, restrictions);
    return (await visibleLibraryTable({ library, place, bound })).rows;
  }
  requireApplicable(call, table.content, restrictions);
  const { snapshot, chain, record } = await findEngineTable(reads, call, table, fields);
  restOn(call, table, chain, record);
  return restrictedRows({ ...reads, snapshot }, call, restrictions);
}

/** QueryTable: the rows as an Arrow file, sent while they are found. */
export function queryTable(reads: TableReads): Handler {
  let announces = true;
  const { answerMemory = new AnswerMemory(ANSWERS_BYTES) } = reads;
  const libraryAnswers = AnswerMemory.forThreads();
  return async (call) => {
    const query = parseQueryRequest(call.body);
    const known = rememberedTable(reads, call);
    const table = known?.table ?? (await requestedTable(reads, call));
    const restrictions = call.permit.restrictionsOn(call.request.object);
    if (restrictions !== null) {
      const visible = restrictedQuery(query, call, table.content, restrictions);
      const rows = await findVisibleRows(reads, call, table, restrictions);
      return rowsOfQuery(rows, visible, call, { ...reads, answerMemory });
    }
    const library = inLibrary(reads.lance, table);
    if (library !== undefined) {
      const place = await libraryTable(reads, call, table, call.body);
      const statement = statementOf(call);
      const run = () => library.query(place, query, statement);
      const answer = fileAnswer(
        place.at.version,
        await libraryRows(library, run, libraryAnswers, statement),
      );
      return withReadRows(answer, readOfLibrary(query, place));
    }
    const { snapshot } = known ?? (await findEngineTable(reads, call, table));
    const plan = planQuery(query, unrestricted(snapshot, restrictions), statementOf(call));
    if (reads.heavy?.isHeavyQuery(plan) === true) {
      const { heavy } = reads;
      const run = () => heavy.query(query, plan);
      const answer = fileAnswer(snapshot.version, await repeatedAnswer(run, heavy.claimOf(plan)));
      return withReadRows(answer, readOfPlan(plan));
    }
    const source = attended(reads.reader, whenMuchIsRead(call.request.signal));
    const run = new PlanRun(plan, source);
    const answer = await rowsAnswer({
      schema: plan.schema,
      few: () => run.few(),
      batches: run.batches(),
      memory: answerMemory,
      reserve: reservedBytes(plan),
      isCached: (memory) => reads.reader.isCached?.(memory) === true,
      after: (sent) => rowsAfter(plan, source, storedRows(plan, reads.reader), sent),
      version: snapshot.version,
      signal: call.request.signal,
      sizes: announces ? await answerSizes(plan, reads.reader) : null,
      // A retry gets the rows.
      misjudged: () => {
        announces = false;
      },
      giveBack: (memory) => reads.reader.giveBack?.(memory),
    });
    return withReadRows(answer, readOfPlan(plan));
  };
}
