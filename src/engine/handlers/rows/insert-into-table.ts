import { restrictionReasons } from '../../../protocol/restriction-reasons.ts';
import { statementOf } from '../../base/statement.ts';
import type { Schema, Field } from 'apache-arrow';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Action } from '../../../protocol/operations/operation.ts';
import { Flushes } from '../../../storage/flushes.ts';
import { jsonAnswer } from '../call/answers.ts';
import { incomingRows, withoutComputed } from '../../change/computed-rows.ts';
import type { Call, Handler } from '../call/handler.ts';
import { branchParameter, byQueryMode } from '../call/parameters.ts';
import { appended, overwritten, rowsReplaced, type ContentsChange } from '../../format/change.ts';
import type { WrittenFile } from '../../format/fragment-writer.ts';
import { openIncoming, sameSchema, checkColumns, type Incoming } from '../../format/incoming.ts';
import type { Committed } from '../../versions/lines/version-commits.ts';
import { versionJudge } from '../../rules/version-judge.ts';
import { commitSummary } from '../../once/commit-summary.ts';
import { commitFiles, requireEngineTable } from '../call/table-parts.ts';
import type { TableChanges } from './change-table.ts';
import { visibleChange, visibleIncoming } from './restricted-changes.ts';
import { fits } from '../../../arrow/types.ts';
import { pairs } from '../../base/items.ts';

interface Mode {
  readonly kind: 'append' | 'overwrite';
  /** Further actions that it counts as. */
  readonly classes: ReadonlySet<Action>;
  /** Prepares the rows to write, in the schema of the resulting table. */
  readonly rows: (call: Call, branch: string, incoming: Incoming, table: Schema) => Incoming;
  readonly change: (schema: Schema, files: readonly WrittenFile[]) => ContentsChange;
}

const modes: Readonly<Record<string, Mode>> = {
  append: {
    kind: 'append',
    classes: new Set(),
    rows: (call, _branch, incoming, schema) => ({
      schema,
      batches: incomingRows(incoming, schema, statementOf(call)),
    }),
    change: (_schema, files) => (base) => appended(base, files),
  },
  overwrite: {
    kind: 'overwrite',
    classes: new Set(['modify']),
    rows: overwriting,
    change: (schema, files) => (base) =>
      sameSchema(base.schema, schema)
        ? rowsReplaced(base, files)
        : overwritten(base, schema, files),
  },
};

/**
 * InsertIntoTable: the stream's rows in the table's schema, added to the others
 * or in their place. Appends of several writers all take effect; rows of other
 * columns that take the place of all give the table their schema.
 */
export function insertIntoTable(parts: TableChanges): Handler {
  return async (call) => {
    const { request } = call;
    const mode = byQueryMode(call, modes);
    const table = await parts.catalog.requireTable(request.object);
    const restricted = visibleChange(parts, call, table.content, 'insert');
    if (restricted !== undefined && mode.kind !== 'append') {
      throw restricted.refusal(restrictionReasons.overwrite());
    }
    requireEngineTable(request.object, table.content);
    const branch = branchParameter(call);
    const chain = await parts.tables.chain(table.content, branch);
    const incoming = await openIncoming(request, parts);
    const before = await parts.tables.snapshot(table.content, undefined, chain);
    const { schema, batches } =
      restricted === undefined
        ? mode.rows(call, branch, incoming, before.schema)
        : visibleIncoming(call, incoming, before.schema, restricted);
    const flushes = new Flushes();
    flushes.add(call.recorded?.() ?? Promise.resolve());
    const files = await parts.tables.write(table.content, schema, batches, flushes);
    const change = unlessAltered(before.schema, mode.change(schema, files));
    const inserted = files.reduce((sum, file) => sum + file.rows, 0);
    const answer = (committed: Committed): Answer =>
      jsonAnswer(
        call,
        { version: committed.manifest.version, num_inserted_rows: inserted },
        { commit: commitSummary(mode.kind, committed) },
      );
    const judge = versionJudge(call.rules, parts.tables, {
      path: request.object,
      table: table.content,
      branch: chain.branch,
      action: mode.kind,
      classes: mode.classes,
    });
    const commit = { table, chain, change, flushes, judge, seal: call.once.seal(answer) };
    return answer(await commitFiles(parts, request.object, files, commit));
  };
}

/** Rows written in one schema do not fit a table whose schema has changed since. */
function unlessAltered(schema: Schema, change: ContentsChange): ContentsChange {
  return (base) => {
    if (sameSchema(base.schema, schema)) return change(base);
    throw new CatalogError('ConcurrentModification', "the table's schema was changed meanwhile");
  };
}

/**
 * The rows that an overwrite puts into a table, and the schema that it has with them. Rows that have its columns stand in its
 * schema, and what the table says of its columns stays; with other rows the
 * table gets the schema of the stream and all its columns are new, as LanceDB
 * has it. That asks for the right to change schemas too.
 * @throws CatalogError PermissionDenied; TableSchemaValidationError for a name
 * that no column may have.
 */
function overwriting(call: Call, branch: string, incoming: Incoming, table: Schema): Incoming {
  if (hasColumnsOf(incoming.schema, table)) {
    return { schema: table, batches: incomingRows(incoming, table, statementOf(call)) };
  }
  call.permit.require('schema', call.request.object, branch);
  checkColumns(incoming.schema);
  return incoming;
}

/** Whether rows have the columns of a table in order; computed columns may be missing. */
function hasColumnsOf(incoming: Schema, table: Schema): boolean {
  const sent = new Set(incoming.fields.map(({ name }) => name));
  const open = withoutComputed(table, sent);
  const requested = table.fields.filter(
    (field, at) => sent.has(field.name) || open.fields[at] === field,
  );
  return (
    incoming.fields.length === requested.length &&
    pairs(incoming.fields, requested).every(([field, other]) => isAlike(field, other))
  );
}

function isAlike(left: Field, right: Field): boolean {
  return (
    left.name === right.name && left.nullable === right.nullable && fits(left.type, right.type)
  );
}
