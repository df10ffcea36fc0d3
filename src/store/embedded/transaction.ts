import type { Database } from 'lmdb';
import {
  encodeWrites,
  type StoreChange,
  type Check,
  type CommitResult,
  type StoreEntry,
  type Write,
} from '../store.ts';
import { boundBytes, keyBytes } from '../key.ts';

/** Keys and values of a database of the file. */
export type EmbeddedTable = Database<Uint8Array, Uint8Array>;

/** Databases of the embedded store's file. */
export interface EmbeddedTables {
  readonly values: EmbeddedTable;
  /** Writes of each commit, by its sequence number, until `forget`. */
  readonly changes: EmbeddedTable;
  readonly counters: EmbeddedTable;
}

/** A conditional commit. */
interface CommitStep {
  readonly kind: 'commit';
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
}

/** Changes that are no longer needed. */
interface ForgetStep {
  readonly kind: 'forget';
  readonly sequences: readonly bigint[];
}

export type TransactionStep = CommitStep | ForgetStep;

const SEQUENCE = Buffer.from('sequence');

/** Key of a change: its sequence number in eight bytes, big endian, so that changes are in order. */
export function sequenceKey(sequence: bigint): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(sequence);
  return key;
}

/** Sequence number in a key of a change, or in the counter. */
export function sequenceOf(bytes: Uint8Array): bigint {
  return Buffer.from(bytes).readBigUInt64BE();
}

/**
 * Applies steps in order inside the open transaction. A step whose checks fail writes
 * nothing and does not affect the others.
 */
export function applySteps(
  tables: EmbeddedTables,
  steps: readonly TransactionStep[],
): readonly CommitResult[] {
  const first = lastSequence(tables);
  let sequence = first;
  const results = steps.map((step) => {
    const result = applyStep(tables, step, sequence);
    if (result.kind === 'committed') sequence = result.sequence;
    return result;
  });
  if (sequence !== first) put(tables.counters, SEQUENCE, sequenceKey(sequence));
  return results;
}

/** Sequence number of the last change. */
export function lastSequence(tables: EmbeddedTables): bigint {
  const stored = tables.counters.get(SEQUENCE);
  return stored === undefined ? 0n : sequenceOf(stored);
}

/** Fills an empty store inside the open transaction. @returns False if it is not empty. */
export function applyRestore(
  tables: EmbeddedTables,
  entries: readonly StoreEntry[],
  sequence: bigint,
): boolean {
  if (!isEmpty(tables.values) || !isEmpty(tables.changes)) return false;
  for (const entry of entries) apply(tables.values, entry);
  raise(tables, sequence);
  return true;
}

/** Applies the changes that the store does not have, inside the open transaction. */
export function applyReplay(tables: EmbeddedTables, changes: readonly StoreChange[]): void {
  const last = lastSequence(tables);
  for (const { sequence, writes } of changes) {
    if (sequence <= last) continue;
    for (const write of writes) apply(tables.values, write);
    raise(tables, sequence);
  }
}

function raise(tables: EmbeddedTables, sequence: bigint): void {
  if (sequence > lastSequence(tables)) put(tables.counters, SEQUENCE, sequenceKey(sequence));
}

function isEmpty(table: EmbeddedTable): boolean {
  return [...table.getKeys({ limit: 1 })].length === 0;
}

function applyStep(tables: EmbeddedTables, step: TransactionStep, last: bigint): CommitResult {
  if (step.kind === 'forget') {
    for (const sequence of step.sequences) tables.changes.removeSync(sequenceKey(sequence));
    return { kind: 'committed', sequence: last };
  }
  const failed = step.checks.findIndex((check) => !holds(tables.values, check, last));
  if (failed >= 0) return { kind: 'conflict', check: failed };
  for (const write of step.writes) apply(tables.values, write);
  put(tables.changes, sequenceKey(last + 1n), encodeWrites(step.writes));
  return { kind: 'committed', sequence: last + 1n };
}

function holds(values: EmbeddedTable, check: Check, last: bigint): boolean {
  if (check.kind === 'sequence') return last >= check.atLeast;
  if (check.kind === 'count') {
    return countKeys(values, boundBytes(check.start), boundBytes(check.end)) === check.count;
  }
  const value = values.get(keyBytes(check.key));
  if (value === undefined || check.value === null) {
    return value === undefined && check.value === null;
  }
  return Buffer.compare(value, check.value) === 0;
}

function countKeys(values: EmbeddedTable, start: Buffer, end: Buffer): number {
  return Buffer.compare(start, end) < 0 ? values.getKeysCount({ start, end }) : 0;
}

function apply(values: EmbeddedTable, { key, value }: Write): void {
  if (value === null) values.removeSync(keyBytes(key));
  else put(values, keyBytes(key), value);
}

function put(table: EmbeddedTable, key: Buffer, value: Uint8Array): void {
  table.putSync(key, value);
}
