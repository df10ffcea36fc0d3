import { Field, type Data, type RecordBatch, type Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import {
  int32,
  int64,
  list,
  moment,
  struct,
  text,
  flag,
  uint64,
  word,
} from '../../arrow/value-column.ts';
import type { CommitSummary } from '../../protocol/commit-summary.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import { decisionOf, phaseOf, verdictOf } from './decoding.ts';
import type { ExtraRights, LoggedRecord } from './record.ts';
import { microsOf, timeOf } from './time.ts';

/* The log as a table: a column for each field, of the same name. */

interface PrincipalRow {
  readonly subject: string;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  readonly scopes: readonly KeyScope[] | null;
}

interface ContextRow {
  readonly key: string;
  readonly value: string;
}

interface ShadowRow {
  readonly decision: string;
  readonly rule: string | null;
  readonly policy_digest: string;
}

interface CommitRow {
  readonly kind: string;
  readonly base_version: bigint | null;
  readonly version: bigint | null;
  readonly rows_added: bigint;
  readonly rows_removed: bigint;
  readonly schema_changed: boolean;
  readonly rules: readonly string[];
  /** Null in records of the first versions of the program, like all following fields. */
  readonly table: string | null;
  readonly rows_changed: bigint | null;
  readonly columns: readonly string[] | null;
  readonly statement: string | null;
}

type Different = 'phase' | 'time' | 'decision' | 'principal' | 'shadow' | 'context' | 'commit';
type Same = Omit<LoggedRecord, Different>;

/** A record as a row. */
interface RecordRow extends Same {
  readonly phase: string;
  readonly time: bigint;
  readonly principal: PrincipalRow | null;
  readonly decision: string;
  readonly shadow: ShadowRow | null;
  readonly context: readonly ContextRow[];
  readonly commit: CommitRow | null;
}

/** Column types of the fields of a record. */
export const recordKinds = {
  instance: word,
  sequence: int64,
  phase: word,
  time: moment,
  duration_us: int64,
  request_id: text,
  decision_id: text,
  principal: struct<PrincipalRow>({
    subject: word,
    groups: list(word),
    roles: list(word),
    scopes: list(struct<KeyScope>({ action: word, pattern: word })),
  }),
  subject: word,
  credential: word,
  source_ip: word,
  user_agent: word,
  operation: word,
  object: word,
  objects: list(word),
  mode: word,
  branch: word,
  backend: word,
  decision: word,
  rule: word,
  policy_digest: word,
  rights: list(struct<ExtraRights>({ action: word, branch: word, objects: list(word) })),
  shadow: struct<ShadowRow>({ decision: word, rule: word, policy_digest: word }),
  status: int32,
  code: int32,
  bytes_in: int64,
  bytes_out: int64,
  context: list(struct<ContextRow>({ key: word, value: text })),
  commit: struct<CommitRow>({
    kind: word,
    base_version: uint64,
    version: uint64,
    rows_added: int64,
    rows_removed: int64,
    schema_changed: flag,
    rules: list(word),
    table: word,
    rows_changed: int64,
    columns: list(word),
    statement: text,
  }),
  hash: text,
};

const rows = struct<RecordRow>(recordKinds);

/** Columns without nulls. */
const NEVER_NULL = new Set([
  'instance',
  'sequence',
  'phase',
  'time',
  'request_id',
  'decision_id',
  'objects',
  'decision',
  'rights',
  'context',
  'hash',
]);

/** The columns of the log as a table. */
export const recordFields: readonly Field[] = rows.type.children.map(
  ({ name, type }: Field) => new Field(name, type, !NEVER_NULL.has(name)),
);

/** Records as a batch of a schema of `recordFields`. */
export function batchOfRecords(schema: Schema, records: readonly LoggedRecord[]): RecordBatch {
  const { children } = rows.data(records.map(rowOf));
  return batchOfData(schema, children, records.length);
}

/** The record of a row of such a batch. @throws RecordFault for a phase or decision that is unknown */
export function recordAt({ data }: RecordBatch, row: number): LoggedRecord {
  return recordOf(rows.read(data, row)!);
}

function rowOf(record: LoggedRecord): RecordRow {
  const { commit, context, principal } = record;
  return {
    ...record,
    time: microsOf(record.time),
    principal: principal && { ...principal, scopes: principal.scopes ?? null },
    context: Object.entries(context).map(([key, value]) => ({ key, value })),
    commit: commit && {
      kind: commit.kind,
      base_version: commit.baseVersion,
      version: commit.version,
      rows_added: commit.rowsAdded,
      rows_removed: commit.rowsRemoved,
      schema_changed: commit.schemaChanged,
      rules: commit.rules,
      table: commit.table ?? null,
      rows_changed: commit.rowsChanged ?? null,
      columns: (commit.rowsChanged ?? null) === null ? null : (commit.columns ?? []),
      statement: commit.statement ?? null,
    },
  };
}

function recordOf(row: RecordRow): LoggedRecord {
  const { commit } = row;
  return {
    ...row,
    phase: phaseOf(row.phase),
    time: timeOf(row.time),
    decision: decisionOf(row.decision),
    shadow: row.shadow && { ...row.shadow, decision: verdictOf(row.shadow.decision) },
    context: Object.fromEntries(row.context.map(({ key, value }) => [key, value])),
    commit: commit && {
      kind: commit.kind,
      baseVersion: commit.base_version,
      version: commit.version,
      rowsAdded: commit.rows_added,
      rowsRemoved: commit.rows_removed,
      schemaChanged: commit.schema_changed,
      rules: commit.rules,
      ...furtherOf(commit),
    },
  };
}

/** Commit fields that the first versions did not write. */
function furtherOf({ table, rows_changed, columns, statement }: CommitRow): Partial<CommitSummary> {
  if (rows_changed === null) return {};
  return { table, rowsChanged: rows_changed, columns: columns ?? [], statement };
}

const COMMIT = 'commit';
const commitField = recordFields.find(({ name }) => name === COMMIT)!;

/** A batch of a segment; commit fields that did not exist when it was sealed are added as null. */
export function withNewParts(batch: RecordBatch): RecordBatch {
  const { fields, metadata } = batch.schema;
  const at = fields.findIndex(({ name }) => name === COMMIT);
  const old = batch.data.children[at];
  if (old === undefined) return batch;
  const data = newPartsOf(COMMIT, old);
  if (data === old) return batch;
  const schema = schemaOf(fields.with(at, commitField), metadata);
  return batchOfData(schema, batch.data.children.with(at, data), batch.numRows);
}

/** A column of a segment; commit fields that did not exist when it was sealed are added as null. */
export function newPartsOf(column: string, data: Data): Data {
  const existing = data.children.length;
  if (column !== COMMIT || existing >= commitField.type.children.length) return data;
  const rows = data.offset + data.length;
  const nulls = recordKinds.commit.data(Array.from({ length: rows }, () => null));
  const children = [...data.children, ...nulls.children.slice(existing)];
  const { type } = commitField;
  return data.clone(type, data.offset, data.length, data.nullCount, data.buffers, children);
}
