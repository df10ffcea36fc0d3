import { CatalogError } from '../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import { normalMode } from '../../protocol/mode.ts';
import { hasEnded, moved, type TransactionRecord } from '../jobs/transaction.ts';
import { textField, type Fields } from '../query/fields.ts';

/** A step of a change of a transaction. Throws when it cannot be taken. */
export type TransactionAction = (record: TransactionRecord) => TransactionRecord;

/** Properties beginning so are the service's own. */
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

/** A transaction after all actions. @throws CatalogError InvalidInput for one that cannot be taken. */
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

/** The service runs its transactions itself: others can only cancel them. */
function statusAction(fields: Fields): TransactionAction {
  const text = textField(fields, 'status') ?? '';
  const status = statuses.find((known) => known === text.toUpperCase());
  if (status === undefined) {
    throw invalid(
      `${JSON.stringify(text)} is no status of a transaction; there are ${statuses.join(', ')}`,
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

/** A transaction that was cancelled before it ended. @throws CatalogError InvalidInput when it has. */
export function canceled(record: TransactionRecord): TransactionRecord {
  if (record.status === 'CANCELED') return record;
  if (hasEnded(record)) {
    throw invalid(`the transaction is ${record.status} and cannot be cancelled any more`);
  }
  return moved(record, { status: 'CANCELED', lease: null }, 'the job was cancelled');
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

/** A mode in its one spelling; the first when none is named. */
function modeOf(fields: Fields, modes: readonly string[]): string {
  const text = textField(fields, 'mode');
  const mode = text === null ? modes[0] : normalMode(text);
  if (mode !== undefined && modes.includes(mode)) return mode;
  throw invalid(`${JSON.stringify(text)} is no mode of a property; there are ${modes.join(', ')}`);
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
