import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer } from '../call/answers.ts';
import { commitDerived, type DerivedOutcome } from '../../change/derived-commit.ts';
import { RowMerge, type MergeCounts } from '../../change/merge-rows.ts';
import type { Call, Handler } from '../call/handler.ts';
import { branchParameter } from '../call/parameters.ts';
import { statementOf } from '../../base/statement.ts';
import { openIncoming } from '../../format/incoming.ts';
import type { TableChanges } from './change-table.ts';
import { changeJudge } from '../../rules/version-judge.ts';
import { changeSummary } from '../../once/commit-summary.ts';
import { mergeParameters } from './merge-parameters.ts';
import { requireEngineTable } from '../call/table-parts.ts';
import { visibleChange, visibleMerge } from './restricted-changes.ts';

/**
 * MergeInsertIntoTable: rows sent update the rows that they match, are inserted where
 * they match none, and rows that none of them matches may be deleted. A null never
 * matches. It makes a version also when nothing changes.
 */
export function mergeInsertIntoTable(parts: TableChanges): Handler {
  return async (call) => {
    const { catalog, tables, reader } = parts;
    const { object, query } = call.request;
    const request = mergeParameters(query, timeoutOf(call));
    const table = await catalog.requireTable(object);
    const change = visibleChange(parts, call, table.content, 'merge');
    requireEngineTable(object, table.content);
    const chain = await tables.chain(table.content, branchParameter(call));
    const incoming = await openIncoming(call.request, parts);
    const base = await tables.snapshot(table.content, undefined, chain);
    const merge = await RowMerge.open({
      reader,
      base,
      request,
      incoming,
      statement: statementOf(call),
      visible: change && visibleMerge(call, incoming, request, base.schema, change),
    });
    try {
      const { derive } = merge;
      const current = () => catalog.requireTable(object);
      const outcome = await commitDerived({
        tables,
        table,
        chain,
        current,
        derive,
        check: request.checkTime,
        judge: changeJudge(
          call.rules,
          tables,
          { path: object, table: table.content, branch: chain.branch, action: 'merge' },
          rowsOf,
        ),
        recorded: call.recorded,
        seal: call.once.seal((made: DerivedOutcome<MergeCounts>) => answer(call, made)),
      });
      return answer(call, outcome);
    } finally {
      await merge.close();
    }
  };
}

/** The timeout that the client keeps to, in ms. */
export function timeoutOf({ request }: Call): string | undefined {
  return [request.headers['x-request-timeout-ms']].flat()[0];
}

function answer(call: Call, { committed, result, attempts }: DerivedOutcome<MergeCounts>): Answer {
  const { updated, inserted, removed } = result;
  const body = {
    version: committed.manifest.version,
    num_updated_rows: updated,
    num_inserted_rows: inserted,
    num_deleted_rows: removed,
    num_attempts: attempts,
    num_rows: updated + inserted,
  };
  const rows = rowsOf(result);
  const columns = committed.manifest.schema.fields.map(({ name }) => name);
  const summary = changeSummary('merge', committed, rows, rows.changed > 0n ? columns : []);
  return jsonAnswer(call, body, { commit: summary });
}

function rowsOf({ inserted, updated, removed }: MergeCounts) {
  return { added: BigInt(inserted), removed: BigInt(removed), changed: BigInt(updated) };
}
