import type { Database, Transaction } from 'lmdb';
import {
  encodeWrites,
  type StoreChange,
  type Check,
  type CommitResult,
  type StoreEntry,
  type Write,
} from '../store.ts';
import { boundBytes, keyBytes } from '../key.ts';
import { KeyDigests } from '../key-digest.ts';
import { StoreError } from '../store-error.ts';
import { isSealed, SEAL_BYTES, sealValue, unsealValue } from '../value-seal.ts';

/** Keys and values of a database of the file. */
export type EmbeddedTable = Database<Uint8Array, Uint8Array> & {
  /** Its types do not know the options. */
  getBinaryFast(
    key: Uint8Array,
    options?: { readonly transaction: Transaction },
  ): Uint8Array | undefined;
};

/** Databases of the embedded store's file. */
export interface EmbeddedTables {
  readonly values: EmbeddedTable;
  /** Writes of each commit, by its sequence number, until `forget`. */
  readonly changes: EmbeddedTable;
  /** The sequence number of the last change, the digests of the keys, and whether all values are sealed. */
  readonly counters: EmbeddedTable;
}

/** Tables inside the open transaction, and the keys that it has added and removed so far. */
interface OpenTables extends EmbeddedTables {
  readonly moved: KeyDigests;
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
/** Counter that says whether the values are sealed: absent in a store of an earlier version. */
const SEALING = Buffer.from('sealing');
/** Some values may have been written before values were sealed, and keys have no digests yet. */
const SOME_SEALED = Buffer.from('some');
/** All values are sealed, and keys have digests. */
const ALL_SEALED = Buffer.from('all');
/** Prefix of the counters that hold the digests of the keys; the first byte of the keys follows. */
const DIGEST = 'digest/';

/** Key of a change: its sequence number in eight bytes, big endian, so that changes are in order. */
export function sequenceKey(sequence: bigint): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(sequence);
  return key;
}

/** Sequence number in a key of a change. */
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
  const results = counting(tables, (open) =>
    steps.map((step) => {
      const result = applyStep(open, step, sequence);
      if (result.kind === 'committed') sequence = result.sequence;
      return result;
    }),
  );
  if (sequence !== first) putSequence(tables, sequence);
  return results;
}

/** Sequence number of the last change. @throws StoreError damaged */
export function lastSequence({ counters }: EmbeddedTables): bigint {
  const stored = counters.get(SEQUENCE);
  if (stored === undefined) return 0n;
  const opened = unsealValue(SEQUENCE, Buffer.from(stored));
  if (opened === undefined) throw damagedCounter();
  return sequenceOf(opened);
}

function damagedCounter(): StoreError {
  return new StoreError('damaged', 'the number of the last change does not match its checksum');
}

/** The writes of a change, encoded. @throws StoreError damaged */
export function openChange(key: Uint8Array, stored: Buffer): Buffer {
  const opened = unsealValue(key, stored);
  if (opened !== undefined) return opened;
  throw new StoreError('damaged', `change ${sequenceOf(key)} does not match its checksum`);
}

/** Fills an empty store inside the open transaction. @returns False if it is not empty. */
export function applyRestore(
  tables: EmbeddedTables,
  entries: readonly StoreEntry[],
  sequence: bigint,
): boolean {
  if (!isEmpty(tables.values) || !isEmpty(tables.changes)) return false;
  counting(tables, (open) => {
    for (const entry of entries) apply(open, entry);
  });
  raise(tables, sequence);
  return true;
}

/** Applies the changes that the store does not have, inside the open transaction. */
export function applyReplay(tables: EmbeddedTables, changes: readonly StoreChange[]): void {
  const last = lastSequence(tables);
  counting(tables, (open) => {
    for (const { sequence, writes } of changes) {
      if (sequence <= last) continue;
      for (const write of writes) apply(open, write);
      raise(tables, sequence);
    }
  });
}

function raise(tables: EmbeddedTables, sequence: bigint): void {
  if (sequence > lastSequence(tables)) putSequence(tables, sequence);
}

function putSequence(tables: EmbeddedTables, sequence: bigint): void {
  putCounter(tables, SEQUENCE, sequenceKey(sequence));
}

function isEmpty(table: EmbeddedTable): boolean {
  return [...table.getKeys({ limit: 1 })].length === 0;
}

/** Applies writes inside the open transaction, and brings the digests of the keys up to date. */
function counting<Result>(tables: EmbeddedTables, work: (open: OpenTables) => Result): Result {
  const sealing = sealingOf(tables) ?? noteSealing(tables, 'all');
  const moved = new KeyDigests();
  const result = work({ ...tables, moved });
  if (sealing === 'all') addDigests(tables, moved);
  return result;
}

/**
 * Writes the counter of a store that has none before an upgrade seals its values. It precedes every
 * sealed value: a store with a sealed value has lost its counter, and its keys have no digests to
 * compare with.
 */
function beginSealing(tables: EmbeddedTables): 'some' | 'all' {
  const [first] = tables.values.getRange({ limit: 1 });
  return noteSealing(tables, first === undefined || isSealed(first.value) ? 'all' : 'some');
}

function noteSealing(tables: EmbeddedTables, sealing: 'some' | 'all'): 'some' | 'all' {
  putCounter(tables, SEALING, sealing === 'all' ? ALL_SEALED : SOME_SEALED);
  return sealing;
}

/** Whether some or all values are sealed; undefined in a new store, and in one of an earlier version. */
export function sealingOf({ counters }: EmbeddedTables): 'some' | 'all' | undefined {
  const stored = counters.get(SEALING);
  if (stored === undefined) return undefined;
  // A damaged counter is one of a store whose values are all sealed, so no other value is believed.
  return unsealValue(SEALING, Buffer.from(stored))?.equals(SOME_SEALED) === true ? 'some' : 'all';
}

/** Adds digests of keys to the stored ones. A stored digest that is damaged stays, for the next check. */
function addDigests(tables: EmbeddedTables, moved: KeyDigests): void {
  for (const group of moved.groups) {
    const key = digestKey(group);
    const stored = tables.counters.get(key);
    const before = stored && unsealValue(key, Buffer.from(stored))?.toString();
    const sum = new KeyDigests();
    const isSound = stored === undefined || (before !== undefined && sum.addText(group, before));
    if (!isSound || !sum.addText(group, moved.text(group))) continue;
    putCounter(tables, key, Buffer.from(sum.text(group)));
  }
}

/** Values that are sealed in one transaction. */
const SEALED_AT_ONCE = 1000;

/** A page of values that were sealed. */
interface SealedPage {
  /** Number of values that were written before values were sealed. */
  readonly sealed: number;
  /** Key after which the next page begins; undefined after the last page. */
  readonly last: Buffer | undefined;
}

/** Seals values inside the open transaction, from the key after `after` on. */
export function sealPage(tables: EmbeddedTables, after: Buffer | undefined): SealedPage {
  const sealing = sealingOf(tables) ?? beginSealing(tables);
  if (sealing === 'all') return { sealed: 0, last: undefined };
  const span = after === undefined ? {} : { start: after, exclusiveStart: true };
  const page = [...tables.values.getRange({ ...span, limit: SEALED_AT_ONCE })];
  const old = page.filter(({ value }) => !isSealed(value));
  for (const { key, value } of old) {
    const bytes = Buffer.from(key);
    put(tables.values, bytes, sealValue(bytes, value));
  }
  const last = page.length < SEALED_AT_ONCE ? undefined : page.at(-1)?.key;
  return { sealed: old.length, last: last && Buffer.from(last) };
}

/** Length of the sequence number of a version that did not seal it. */
const PLAIN_BYTES = 8;

/**
 * Ends the sealing inside the open transaction: changes and the sequence number get their seals, and keys their
 * digests.
 * @returns Number of changes that were sealed.
 */
export function endSealing(tables: EmbeddedTables): number {
  const plain = [...tables.changes.getRange({})].filter(({ value }) => !isSealed(value));
  for (const { key, value } of plain) {
    const bytes = Buffer.from(key);
    put(tables.changes, bytes, sealValue(bytes, value));
  }
  const sequence = tables.counters.get(SEQUENCE);
  if (sequence?.length === PLAIN_BYTES) putSequence(tables, sequenceOf(sequence));
  if (sealingOf(tables) === 'all') return plain.length;
  const found = new KeyDigests();
  for (const key of tables.values.getKeys({})) found.add(key);
  addDigests(tables, found);
  noteSealing(tables, 'all');
  return plain.length;
}

/** Adds the stored digest of a group of keys, unless it is damaged. */
export function addStoredDigest(
  { counters }: EmbeddedTables,
  group: string,
  digests: KeyDigests,
  transaction: Transaction,
): void {
  const key = digestKey(group);
  const stored = counters.get(key, { transaction });
  const text = stored && unsealValue(key, Buffer.from(stored))?.toString();
  if (text !== undefined) digests.addText(group, text);
}

function digestKey(group: string): Buffer {
  return Buffer.from(`${DIGEST}${group}`, 'latin1');
}

function putCounter({ counters }: EmbeddedTables, key: Buffer, value: Uint8Array): void {
  put(counters, key, sealValue(key, value));
}

function applyStep(tables: OpenTables, step: TransactionStep, last: bigint): CommitResult {
  if (step.kind === 'forget') {
    for (const sequence of step.sequences) tables.changes.removeSync(sequenceKey(sequence));
    return { kind: 'committed', sequence: last };
  }
  const failed = step.checks.findIndex((check) => !holds(tables.values, check, last));
  if (failed >= 0) return { kind: 'conflict', check: failed };
  for (const write of step.writes) apply(tables, write);
  const key = sequenceKey(last + 1n);
  put(tables.changes, key, sealValue(key, encodeWrites(step.writes)));
  return { kind: 'committed', sequence: last + 1n };
}

function holds(values: EmbeddedTable, check: Check, last: bigint): boolean {
  if (check.kind === 'sequence') return last >= check.atLeast;
  if (check.kind === 'count') {
    return countKeys(values, boundBytes(check.start), boundBytes(check.end)) === check.count;
  }
  const stored = values.get(keyBytes(check.key));
  if (stored === undefined || check.value === null) {
    return stored === undefined && check.value === null;
  }
  return holdsContent(stored, stored.length, check.value);
}

/** Whether a stored value has this content. Its checksum is not compared: the content is. */
export function holdsContent(stored: Uint8Array, length: number, content: Uint8Array): boolean {
  const start = SEAL_BYTES;
  if (length - start !== content.byteLength || !isSealed(stored)) return false;
  return (
    Buffer.from(content.buffer, content.byteOffset, content.byteLength).compare(
      stored,
      start,
      length,
    ) === 0
  );
}

function countKeys(values: EmbeddedTable, start: Buffer, end: Buffer): number {
  return Buffer.compare(start, end) < 0 ? values.getKeysCount({ start, end }) : 0;
}

function apply({ values, moved }: OpenTables, { key, value }: Write): void {
  const bytes = keyBytes(key);
  const existed = values.doesExist(bytes);
  if (value === null) {
    if (!existed) return;
    values.removeSync(bytes);
    moved.remove(bytes);
    return;
  }
  put(values, bytes, sealValue(bytes, value));
  if (!existed) moved.add(bytes);
}

function put(table: EmbeddedTable, key: Buffer, value: Uint8Array): void {
  table.putSync(key, value);
}
