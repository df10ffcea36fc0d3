import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject } from '../../../protocol/json.ts';
import type { Call, Handler } from '../call/handler.ts';
import { attended, whenMuchIsRead } from '../../query/scan/attended.ts';
import { analyzePlan } from '../../query/analyze.ts';
import { explainPlan } from '../../query/rows/explain.ts';
import { flagField } from '../../base/fields.ts';
import { readOfPlan, withRead, type ReadPart } from '../../query/plan/recorded-read.ts';
import { planQuery } from '../../query/plan/plan.ts';
import { statementOf } from '../../base/statement.ts';
import { parseQueryRequest } from '../../request/request.ts';
import { inLibrary, libraryTable } from './library-reads.ts';
import { unrestricted } from '../../query/restrict/visible-rows.ts';
import type { VirtualRows } from '../../query/scan/virtual-rows.ts';
import type { QueryRequest } from '../../request/request.ts';
import { readOfLibrary } from './library-columns.ts';
import { restrictedQuery } from '../call/restricted-reads.ts';
import {
  findEngineTable,
  findVisibleRows,
  requestedTable,
  type TableReads,
} from './table-reads.ts';

/** ExplainTableQueryPlan: the plan of a query as text. Nothing is read but the manifest. */
export function explainQuery(reads: TableReads): Handler {
  return async (call) => {
    const requested = call.body['query'];
    if (!isJsonObject(requested)) throw new CatalogError('InvalidInput', 'query must be an object');
    const verbose = flagField(call.body, 'verbose', false);
    const query = parseQueryRequest(requested);
    const table = await requestedTable(reads, call);
    const restrictions = call.permit.restrictionsOn(call.request.object);
    if (restrictions !== null) {
      const visible = restrictedQuery(query, call, table.content, restrictions);
      const { snapshot } = await findVisibleRows(reads, call, table, restrictions, requested);
      const plan = planQuery(visible, snapshot, statementOf(call));
      return textAnswer(call, explainPlan(plan, verbose), readOfPlan(plan));
    }
    const library = inLibrary(reads.lance, table);
    if (library !== undefined) {
      const place = await libraryTable(reads, call, table, requested);
      const text = await library.explain(place, query, verbose, statementOf(call));
      return textAnswer(call, text, readOfLibrary(query, place));
    }
    const { snapshot } = await findEngineTable(reads, call, table, requested);
    const plan = planQuery(query, unrestricted(snapshot, restrictions), statementOf(call));
    return textAnswer(call, explainPlan(plan, verbose), readOfPlan(plan));
  };
}

/** AnalyzeTableQueryPlan: runs the query and answers its plan with measurements. */
export function analyzeQuery(reads: TableReads): Handler {
  return async (call) => {
    const query = parseQueryRequest(call.body);
    const table = await requestedTable(reads, call);
    const restrictions = call.permit.restrictionsOn(call.request.object);
    if (restrictions !== null) {
      const visible = restrictedQuery(query, call, table.content, restrictions);
      const rows = await findVisibleRows(reads, call, table, restrictions);
      return analyzedRows(rows, visible, call, reads);
    }
    const library = inLibrary(reads.lance, table);
    if (library !== undefined) {
      const place = await libraryTable(reads, call, table, call.body);
      const text = await library.analyze(place, query, statementOf(call));
      return textAnswer(call, text, readOfLibrary(query, place));
    }
    const { snapshot } = await findEngineTable(reads, call, table);
    const plan = planQuery(query, unrestricted(snapshot, restrictions), statementOf(call));
    if (reads.heavy?.isHeavyQuery(plan) === true) {
      return textAnswer(call, await reads.heavy.analyze(query, plan), readOfPlan(plan));
    }
    const source = attended(reads.reader, whenMuchIsRead(call.request.signal));
    return textAnswer(call, await analyzePlan(plan, source), readOfPlan(plan));
  };
}

async function analyzedRows(
  rows: VirtualRows,
  query: QueryRequest,
  call: Call,
  { heavy }: TableReads,
): Promise<Answer> {
  const plan = planQuery(query, rows.snapshot, statementOf(call));
  try {
    const text =
      heavy?.isHeavyQuery(plan) === true
        ? await heavy.analyze(query, plan, rows)
        : await analyzePlan(plan, attended(rows, call.request.signal()));
    return textAnswer(call, text, readOfPlan(plan));
  } finally {
    await rows.close();
  }
}

/**
 * Answers text as a JSON string, which every client reads, or as plain text if the client accepts
 * nothing else.
 */
function textAnswer(call: Call, text: string, read: ReadPart): Answer {
  const status = call.request.operation.success;
  const answer = takesPlainTextOnly(call.request.headers.accept ?? '*/*')
    ? { status, contentType: 'text/plain; charset=utf-8', body: text }
    : { status, contentType: 'application/json', body: JSON.stringify(text) };
  return withRead(answer, read);
}

function takesPlainTextOnly(accept: string): boolean {
  return accept.split(',').every((type) => type.trim().split(';')[0] === 'text/plain');
}
