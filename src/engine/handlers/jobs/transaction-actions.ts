import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { normalMode } from '../../../protocol/mode.ts';
import {
  hasEnded,
  advancedTransaction,
  type TransactionRecord,
  type JobEvent,
} from '../../upkeep/jobs/transaction.ts';
import { textField, type Fields } from '../../base/fields.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Permit } from '../../../protocol/permit.ts';
import type { Store } from '../../../store/store.ts';
import { LastPaths } from '../../catalog/table-search.ts';
import { transactionNotFound, type Transactions } from '../../upkeep/jobs/transactions.ts';
import {
  Field,
  Int64,
  TimestampMillisecond,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { batchOf } from '../../../arrow/select.ts';
import { StreamWriter } from '../../../arrow/ipc/stream-writer.ts';
import type { Answer } from '../../../protocol/backend.ts';

const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

interface EventRow extends JobEvent {
  readonly record: TransactionRecord;
}

interface EventColumn {
  readonly field: Field;
  readonly value: (row: EventRow) => unknown;
}

function column(name: string, type: DataType, value: (row: EventRow) => unknown): EventColumn {
  return { field: new Field(name, type, false), value };
}

const columns: readonly EventColumn[] = [
  column('job_id', new Utf8(), ({ record }) => record.id),
  column('job_type', new Utf8(), ({ record }) => record.job.type),
  column('time', new TimestampMillisecond('UTC'), ({ millis }) => millis),
  column('status', new Utf8(), ({ status }) => status),
  column('message', new Utf8(), ({ message }) => message),
  column('rows_done', new Int64(), ({ progress }) => BigInt(progress.done)),
  column('rows_total', new Int64(), ({ progress }) => BigInt(progress.total)),
];

const schema = schemaOf(columns.map(({ field }) => field));

/** Events of jobs as an Arrow stream, one row each. */
export function jobEvents(records: readonly TransactionRecord[]): Answer {
  const rows = records.flatMap((record) => record.events.map((event) => ({ ...event, record })));
  const vectors = columns.map(({ field, value }) => vectorFromArray(rows.map(value), field.type));
  const writer = new StreamWriter(schema);
  const pieces = [
    writer.begin(),
    ...writer.batch(batchOf(schema, vectors, rows.length)),
    writer.end(),
  ];
  return { status: 200, contentType: ARROW_STREAM, body: bodyOf(pieces) };
}

async function* bodyOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** An action on a transaction. Throws if it is not possible. */
type TransactionAction = (record: TransactionRecord) => TransactionRecord;

/** Prefix of the service's own properties. */
const RESERVED = 'job.';
const MOST_PROPERTIES = 100;
const MOST_BYTES = 65_536;

type Reader = (fields: Fields) => TransactionAction;

const readers: Readonly<Record<string, Reader>> = {
  setStatusAction: statusAction,
  setPropertyAction: setAction,
  unsetPropertyAction: unsetAction,
};

/**
 * The field `actions` of AlterTransaction.
 * @throws CatalogError InvalidInput for an action that says nothing or too much.
 */
export function actionsField(body: Fields): readonly TransactionAction[] {
  const value = body['actions'];
  const actions = Array.isArray(value) ? value.filter(isJsonObject) : [];
  if (actions.length === 0) throw invalid('actions must have at least one action');
  return actions.map(actionOf);
}

/**
 * Applies all actions to a transaction.
 * @throws CatalogError InvalidInput for an impossible one.
 */
export function altered(
  record: TransactionRecord,
  actions: readonly TransactionAction[],
): TransactionRecord {
  const next = actions.reduce((current, action) => action(current), record);
  checkSize(next);
  return next;
}

function actionOf(entry: Record<string, JsonValue>, at: number): TransactionAction {
  const said = Object.entries(readers).filter(([name]) => isJsonObject(entry[name] ?? null));
  const [first] = said;
  if (first === undefined || said.length > 1) {
    throw invalid(`actions[${at}] must be one of ${Object.keys(readers).join(', ')}`);
  }
  const [name, read] = first;
  return read(entry[name] as Record<string, JsonValue>);
}

const statuses = ['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;

/** The service runs its transactions itself: clients can only cancel them. */
function statusAction(fields: Fields): TransactionAction {
  const text = textField(fields, 'status') ?? '';
  const status = statuses.find((each) => each === text.toUpperCase());
  if (status === undefined) {
    throw invalid(
      `${JSON.stringify(text)} is not a transaction status; there are ${statuses.join(', ')}`,
    );
  }
  return (record) => {
    if (status === record.status) return record;
    if (status === 'CANCELED') return canceled(record);
    throw invalid(
      `the transaction is ${record.status} and cannot be set to ${status}: the service runs it, it can only be CANCELED`,
    );
  };
}

/** Cancels a transaction. @throws CatalogError InvalidInput if it has ended. */
export function canceled(record: TransactionRecord): TransactionRecord {
  if (record.status === 'CANCELED') return record;
  if (hasEnded(record)) {
    throw invalid(`the transaction is ${record.status} and can no longer be cancelled`);
  }
  return advancedTransaction(record, { status: 'CANCELED', lease: null }, 'the job was cancelled');
}

function setAction(fields: Fields): TransactionAction {
  const key = keyOf(fields);
  const value = textField(fields, 'value');
  if (value === null) throw invalid(`setPropertyAction of ${JSON.stringify(key)} has no value`);
  const mode = modeOf(fields, ['overwrite', 'fail', 'skip']);
  return (record) => {
    if (Object.hasOwn(record.properties, key)) {
      if (mode === 'fail') {
        throw invalid(`the transaction already has a property ${JSON.stringify(key)}`);
      }
      if (mode === 'skip') return record;
    }
    return withProperties(record, [...entriesBut(record, key), [key, value]]);
  };
}

function unsetAction(fields: Fields): TransactionAction {
  const key = keyOf(fields);
  const mode = modeOf(fields, ['skip', 'fail']);
  return (record) => {
    if (Object.hasOwn(record.properties, key))
      return withProperties(record, entriesBut(record, key));
    if (mode === 'skip') return record;
    throw invalid(`the transaction has no property ${JSON.stringify(key)}`);
  };
}

function keyOf(fields: Fields): string {
  const key = textField(fields, 'key') ?? '';
  if (key === '') throw invalid('a property must have a key');
  if (key.startsWith(RESERVED)) {
    throw invalid(`the property ${JSON.stringify(key)} is the service's own`);
  }
  return key;
}

/** A mode in canonical spelling; the first if none is named. */
function modeOf(fields: Fields, modes: readonly string[]): string {
  const text = textField(fields, 'mode');
  const mode = text === null ? modes[0] : normalMode(text);
  if (mode !== undefined && modes.includes(mode)) return mode;
  throw invalid(
    `${JSON.stringify(text)} is not a mode of a property; there are ${modes.join(', ')}`,
  );
}

type Entries = readonly (readonly [string, string])[];

function entriesBut({ properties }: TransactionRecord, key: string): Entries {
  return Object.entries(properties).filter(([name]) => name !== key);
}

function withProperties(record: TransactionRecord, entries: Entries): TransactionRecord {
  return { ...record, properties: Object.fromEntries(entries), updatedMillis: Date.now() };
}

function checkSize({ properties }: TransactionRecord): void {
  const entries = Object.entries(properties);
  const bytes = entries.reduce((sum, entry) => sum + Buffer.byteLength(entry.join('')), 0);
  if (entries.length > MOST_PROPERTIES) {
    throw invalid(
      `a transaction may have at most ${MOST_PROPERTIES} properties, not ${entries.length}`,
    );
  }
  if (bytes > MOST_BYTES) {
    throw invalid(`the properties may have at most ${MOST_BYTES} bytes, not ${bytes}`);
  }
}

function invalid(message: string): CatalogError {
  return new CatalogError('InvalidInput', message);
}

export interface TransactionParts {
  readonly store: Store;
  readonly transactions: Transactions;
}

/** A transaction and the current or last place of its table. */
export interface PlacedTransaction {
  readonly record: TransactionRecord;
  readonly path: ObjectPath;
}

/**
 * Finds a transaction whose table the caller may see. Other transactions appear as missing; a
 * caller who may see the table but lacks the right is refused.
 * @throws CatalogError TransactionNotFound, PermissionDenied.
 */
export async function visibleTransaction(
  parts: TransactionParts,
  id: string,
  operation: OperationName,
  permit: Permit,
): Promise<PlacedTransaction> {
  const stored = await parts.transactions.get(id);
  if (stored === undefined) throw transactionNotFound(id);
  const path = await new LastPaths(parts.store).of(stored.content.table);
  if (!permit.sees(path, 'table')) throw transactionNotFound(id);
  permit.require(operation, path);
  return { record: stored.content, path };
}

/** Transactions that a caller may see, oldest first, after an id. */
export async function* visibleTransactions(
  parts: TransactionParts,
  after: string,
  operation: OperationName,
  permit: Permit,
): AsyncGenerator<PlacedTransaction> {
  const paths = new LastPaths(parts.store);
  for await (const record of parts.transactions.after(after)) {
    const path = await paths.of(record.table);
    if (permit.sees(path, 'table') && permit.holds(operation, path)) yield { record, path };
  }
}
