import { Field, type Data, type RecordBatch, type Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import {
  int32Values,
  int64Values,
  listValues,
  momentValues,
  structValues,
  textValues,
  flagValues,
  uint64Values,
  wordValues,
} from '../../arrow/value-column.ts';
import { addTo, type GrowingColumn } from '../../arrow/growing-column.ts';
import type { CommitSummary } from '../../protocol/commit-summary.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import type { ReadSummary } from '../../protocol/read-summary.ts';
import type { VendSummary } from '../../protocol/vend-summary.ts';
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
  instance: wordValues,
  sequence: int64Values,
  phase: wordValues,
  time: momentValues,
  duration_us: int64Values,
  request_id: textValues,
  decision_id: textValues,
  principal: structValues<PrincipalRow>({
    subject: wordValues,
    groups: listValues(wordValues),
    roles: listValues(wordValues),
    scopes: listValues(structValues<KeyScope>({ action: wordValues, pattern: wordValues })),
  }),
  subject: wordValues,
  credential: wordValues,
  source_ip: wordValues,
  user_agent: wordValues,
  operation: wordValues,
  object: wordValues,
  objects: listValues(wordValues),
  mode: wordValues,
  branch: wordValues,
  backend: wordValues,
  decision: wordValues,
  rule: wordValues,
  policy_digest: wordValues,
  rights: listValues(
    structValues<ExtraRights>({
      action: wordValues,
      branch: wordValues,
      objects: listValues(wordValues),
    }),
  ),
  shadow: structValues<ShadowRow>({
    decision: wordValues,
    rule: wordValues,
    policy_digest: wordValues,
  }),
  status: int32Values,
  code: int32Values,
  bytes_in: int64Values,
  bytes_out: int64Values,
  context: listValues(structValues<ContextRow>({ key: wordValues, value: textValues })),
  commit: structValues<CommitRow>({
    kind: wordValues,
    base_version: uint64Values,
    version: uint64Values,
    rows_added: int64Values,
    rows_removed: int64Values,
    schema_changed: flagValues,
    rules: listValues(wordValues),
    table: wordValues,
    rows_changed: int64Values,
    columns: listValues(wordValues),
    statement: textValues,
  }),
  hash: textValues,
  restrictions: listValues(wordValues),
  read: structValues<ReadSummary>({
    columns: listValues(wordValues),
    rows: int64Values,
    version: uint64Values,
    filter: textValues,
  }),
  vended: structValues<VendSummary>({ prefix: wordValues, access: wordValues, until: textValues }),
  canary: wordValues,
};

const rows = structValues<RecordRow>(recordKinds);

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
  'restrictions',
]);

/** The columns of the log as a table. */
export const recordFields: readonly Field[] = rows.type.children.map(
  ({ name, type }: Field) => new Field(name, type, !NEVER_NULL.has(name)),
);

/** Records as a batch of a schema of `recordFields`. */
export function batchOfRecords(schema: Schema, records: readonly LoggedRecord[]): RecordBatch {
  const columns = new RecordColumns();
  for (const record of records) columns.add(record);
  return columns.take(schema);
}

/** The record of a row of such a batch. @throws RecordFault for a phase or decision that is unknown */
export function recordAt({ data }: RecordBatch, row: number): LoggedRecord {
  return recordOf(rows.read(data, row)!);
}

type ValuesOf = {
  readonly [Name in keyof RecordRow]: (record: LoggedRecord) => RecordRow[Name] | null;
};

/** The values of records by column. Each is a function of its own, which is several times faster than a lookup by name. */
const valuesOf: ValuesOf = {
  instance: (record) => record.instance,
  sequence: (record) => record.sequence,
  phase: (record) => record.phase,
  time: (record) => microsOf(record.time),
  duration_us: (record) => record.duration_us,
  request_id: (record) => record.request_id,
  decision_id: (record) => record.decision_id,
  principal: ({ principal }) =>
    principal &&
    (principal.scopes === undefined ? { ...principal, scopes: null } : (principal as PrincipalRow)),
  subject: (record) => record.subject,
  credential: (record) => record.credential,
  source_ip: (record) => record.source_ip,
  user_agent: (record) => record.user_agent,
  operation: (record) => record.operation,
  object: (record) => record.object,
  objects: (record) => record.objects,
  mode: (record) => record.mode,
  branch: (record) => record.branch,
  backend: (record) => record.backend,
  decision: (record) => record.decision,
  rule: (record) => record.rule,
  policy_digest: (record) => record.policy_digest,
  rights: (record) => record.rights,
  shadow: (record) => record.shadow,
  status: (record) => record.status,
  code: (record) => record.code,
  bytes_in: (record) => record.bytes_in,
  bytes_out: (record) => record.bytes_out,
  context: ({ context }) => contextRows(context),
  commit: ({ commit }) => commit && commitRow(commit),
  hash: (record) => record.hash,
  restrictions: (record) => record.restrictions,
  read: (record) => record.read,
  vended: (record) => record.vended,
  canary: (record) => record.canary,
};

/** Columns that grow by one record after the other, and become a batch. */
export class RecordColumns {
  readonly #columns = recordFields.map(({ name }) => columnOfValues(name as keyof RecordRow));
  #rows = 0;

  /** Number of records. */
  get rows(): number {
    return this.#rows;
  }

  add(record: LoggedRecord): void {
    this.#rows += 1;
    for (const { valueOf, column } of this.#columns) addTo(column, valueOf(record) ?? null);
  }

  /** The records as a batch of a schema of `recordFields`; none are left. */
  take(schema: Schema): RecordBatch {
    const rows = this.#rows;
    this.#rows = 0;
    const children = this.#columns.map(({ column }) => column.take());
    return batchOfData(schema, children, rows);
  }
}

interface ValueColumn {
  readonly valueOf: (record: LoggedRecord) => unknown;
  readonly column: GrowingColumn<unknown>;
}

function columnOfValues(name: keyof RecordRow): ValueColumn {
  return { valueOf: valuesOf[name], column: recordKinds[name].grow() };
}

const NO_CONTEXT: readonly ContextRow[] = [];

function contextRows(context: LoggedRecord['context']): readonly ContextRow[] {
  for (const _ in context) return Object.entries(context).map(([key, value]) => ({ key, value }));
  return NO_CONTEXT;
}

function commitRow(commit: CommitSummary): CommitRow {
  return {
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

/** The last columns of the segments of each version, the first version first. */
const LAST_COLUMNS: readonly string[] = ['hash', 'read', 'vended', 'canary'];

/** Whether a segment has the columns of this version, or those of an earlier one, which had fewer of the last ones. */
export function hasRecordColumns(fields: readonly Field[]): boolean {
  const isSame = fields.every(({ name }, at) => recordFields[at]?.name === name);
  return isSame && LAST_COLUMNS.includes(fields.at(-1)?.name ?? '');
}

/** A batch with columns that its segment does not have, empty in each row. */
export function withLaterColumns(batch: RecordBatch, columns: readonly string[]): RecordBatch {
  const { schema, data, numRows } = batch;
  const at = columns.map((name) => schema.fields.findIndex((field) => field.name === name));
  const fields = at.map((place, index) => schema.fields[place] ?? fieldOf(columns[index]!));
  const children = at.map(
    (place, index) => data.children[place] ?? empty(columns[index]!, numRows),
  );
  return batchOfData(schemaOf(fields, schema.metadata), children, numRows);
}

function fieldOf(column: string): Field {
  return recordFields.find(({ name }) => name === column)!;
}

function empty(column: string, rows: number): Data {
  const values = <Value>(value: Value) => Array.from({ length: rows }, () => value);
  if (column === 'restrictions') return recordKinds.restrictions.data(values([]));
  if (column === 'read') return recordKinds.read.data(values(null));
  return column === 'vended'
    ? recordKinds.vended.data(values(null))
    : recordKinds.canary.data(values(null));
}

/** A batch of a segment; commit fields that did not exist when it was sealed are added as null. */
export function withNewParts(batch: RecordBatch): RecordBatch {
  const { fields, metadata } = batch.schema;
  const at = fields.findIndex(({ name }) => name === COMMIT);
  const old = batch.data.children[at];
  if (old === undefined) return batch;
  const data = newPartsOf(old);
  if (data === old) return batch;
  const schema = schemaOf(fields.with(at, commitField), metadata);
  return batchOfData(schema, batch.data.children.with(at, data), batch.numRows);
}

function newPartsOf(data: Data): Data {
  const existing = data.children.length;
  if (existing >= commitField.type.children.length) return data;
  const rows = data.offset + data.length;
  const nulls = recordKinds.commit.data(Array.from({ length: rows }, () => null));
  const children = [...data.children, ...nulls.children.slice(existing)];
  const { type } = commitField;
  return data.clone(type, data.offset, data.length, data.nullCount, data.buffers, children);
}
