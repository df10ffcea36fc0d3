import { damageSentence } from '../../../store/damage.ts';
import { isStoreDamage } from '../../../store/store-error.ts';
import type { Store } from '../../../store/store.ts';
import type { Finding } from './finding.ts';

/** Entries that are read at once. */
const CHUNK = 1000;
/** Beyond every key. */
const END = '\u{10ffff}';

/** An entry of the store; undefined in place of a value that is damaged. */
interface ReadEntry {
  readonly key: string;
  readonly value: Uint8Array | undefined;
}

/** All entries of a store in the order of their keys, in pages. */
export async function* readEntries(store: Store): AsyncGenerator<readonly ReadEntry[]> {
  for (let start = ''; ;) {
    const range = { start, end: END, limit: CHUNK };
    const page = await unlessDamaged(store.range(range));
    const entries = page ?? (await singly(store, await store.range({ ...range, keysOnly: true })));
    yield entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < CHUNK) return;
    start = `${last.key}\u0000`;
  }
}

/** The same entries, read one by one, so that a damaged one leaves the others. */
async function singly(
  store: Store,
  keys: readonly { readonly key: string }[],
): Promise<readonly ReadEntry[]> {
  const entries: ReadEntry[] = [];
  for (const { key } of keys) {
    entries.push({ key, value: await unlessDamaged(store.get(key)) });
  }
  return entries;
}

async function unlessDamaged<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isStoreDamage(error)) return undefined;
    throw error;
  }
}

/** Compares every value of a store with its checksum. */
export async function checkValues(store: Store): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const page of readEntries(store)) {
    for (const { key, value } of page) {
      if (value === undefined) findings.push(storeFinding(damageSentence({ kind: 'value', key })));
    }
  }
  return findings;
}

/** Compares the keys of a store with their digests. After a finding, the store answers less than before. */
export async function checkDigests(store: Store): Promise<readonly Finding[]> {
  const check = await store.checkKeys?.();
  return (check?.damaged ?? []).map((damage) => storeFinding(damageSentence(damage)));
}

/** A finding about the store. */
export function storeFinding(fault: string): Finding {
  return { kind: 'store', table: null, file: null, fault };
}
