import { setImmediate } from 'node:timers/promises';
import type { Transaction } from 'lmdb';
import { KeyDigests, type DamagedKeys, type KeyCheck } from '../key-digest.ts';
import { isStoreDamage } from '../store-error.ts';
import { unreadable, type EmbeddedFile } from './file.ts';
import { addStoredDigest, type EmbeddedTable } from './transaction.ts';

/** Largest first byte of a text in UTF-8. */
const LAST_BYTE = 0xf4;
/** Keys that are hashed at once, in about 2 ms. */
const HASHED_AT_ONCE = 1000;

/**
 * Compares the keys of a file with their digests, one group after the other, each in a snapshot of
 * its own. Other work goes on between pages of keys. A group is damaged if a page of it is.
 * @throws StoreError unavailable.
 */
export async function compareKeys(file: EmbeddedFile): Promise<KeyCheck> {
  const damaged: DamagedKeys[] = [];
  let keys = 0;
  for (let byte = 0; byte <= LAST_BYTE; byte++) {
    const { found, damage } = await compareGroup(file, byte);
    keys += found;
    if (damage !== undefined) damaged.push(damage);
  }
  return { keys, damaged };
}

interface ComparedGroup {
  readonly found: number;
  readonly damage: DamagedKeys | undefined;
}

async function compareGroup(file: EmbeddedFile, byte: number): Promise<ComparedGroup> {
  const [expected, found] = [new KeyDigests(), new KeyDigests()];
  const group = String.fromCharCode(byte);
  let isRead = false;
  const snapshot = file.snapshot();
  try {
    addStoredDigest(file.tables, group, expected, snapshot);
    await addKeys(file.tables.values, byte, found, snapshot);
    isRead = true;
  } catch (error) {
    const failure = unreadable(error);
    if (!isStoreDamage(failure)) throw failure;
  } finally {
    snapshot.done();
  }
  const unread = { kind: 'keys', group, expected: expected.count, found: found.count } as const;
  const [damage = isRead ? undefined : unread] = expected.differences(found);
  return { found: found.count, damage };
}

/** Adds the keys of a group that can be looked up. */
async function addKeys(
  values: EmbeddedTable,
  byte: number,
  found: KeyDigests,
  transaction: Transaction,
): Promise<void> {
  const end = Buffer.of(byte + 1);
  let span: { readonly start: Uint8Array; readonly exclusiveStart?: boolean } = {
    start: Buffer.of(byte),
  };
  for (;;) {
    const page = [...values.getKeys({ ...span, end, limit: HASHED_AT_ONCE, transaction })];
    // A damaged branch page can lead a search astray, though a walk over the leaves finds the key.
    for (const key of page) if (values.getBinaryFast(key, { transaction })) found.add(key);
    const last = page.at(-1);
    if (last === undefined || page.length < HASHED_AT_ONCE) return;
    span = { start: last, exclusiveStart: true };
    await setImmediate();
  }
}
