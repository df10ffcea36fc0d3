import type { Schema } from 'apache-arrow';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { Flushes } from '../../store/flushes.ts';
import { jsonAnswer } from '../answers.ts';
import { incomingRows } from '../change/computed-rows.ts';
import type { Handler } from '../handler.ts';
import { branchParameter, byQueryMode } from '../parameters.ts';
import { appended, overwritten, type Change } from '../table/change.ts';
import type { WrittenFile } from '../table/fragment-writer.ts';
import { openIncoming } from '../table/incoming.ts';
import { sameSchema } from '../table/schema-match.ts';
import type { Committed } from '../table/tables.ts';
import { commitSummary } from './commit-summary.ts';
import { commitFiles, requireEngineTable, type TableParts } from './table-parts.ts';

interface Mode {
  readonly kind: string;
  readonly change: (files: readonly WrittenFile[]) => Change;
}

const modes: Readonly<Record<string, Mode>> = {
  append: { kind: 'append', change: (files) => (base) => appended(base, files) },
  overwrite: {
    kind: 'overwrite',
    change: (files) => (base) => overwritten(base, base.schema, files),
  },
};

/**
 * InsertIntoTable: the stream's rows in the table's schema, added to the others
 * or in their place. Appends of several writers all take effect.
 */
export function insertIntoTable(parts: TableParts): Handler {
  return async (call) => {
    const { request } = call;
    const mode = byQueryMode(call, modes);
    const table = await parts.catalog.requireTable(request.object);
    requireEngineTable(request.object, table.content);
    const chain = await parts.tables.chain(table.content, branchParameter(call));
    const incoming = await openIncoming(request.body, parts.maxArrowBytes);
    const { schema } = await parts.tables.snapshot(table.content, undefined, chain);
    const rows = incomingRows(incoming, schema);
    const flushes = new Flushes();
    flushes.add(call.recorded?.() ?? Promise.resolve());
    const files = await parts.tables.write(table.content, schema, rows, flushes);
    const change = unlessAltered(schema, mode.change(files));
    const inserted = files.reduce((sum, file) => sum + file.rows, 0);
    const answer = (committed: Committed): Answer =>
      jsonAnswer(
        call,
        { version: committed.manifest.version, num_inserted_rows: inserted },
        { commit: commitSummary(mode.kind, committed) },
      );
    const commit = { table, chain, change, flushes, seal: call.once.seal(answer) };
    return answer(await commitFiles(parts, request.object, files, commit));
  };
}

/** The rows were written in a schema; a table that has another one by now cannot take them. */
function unlessAltered(schema: Schema, change: Change): Change {
  return (base) => {
    if (sameSchema(base.schema, schema)) return change(base);
    throw new CatalogError('ConcurrentModification', "the table's schema was changed meanwhile");
  };
}
