import { hash } from 'node:crypto';
import type { StoreEntry, Write } from '../../store/store.ts';
import { storedKeyOf } from './key-document.ts';
import { sealedText, type KeySeal } from './key-seal.ts';
import type { StoredKey } from './keys.ts';

/** Key of the store under which the head of the shared keys stands. */
export const KEY_HEAD = 'K';
/** Prefix of the keys of the store under which single API keys stand. */
export const KEY_RECORDS = 'K/';

/** All keys of a catalog after a change. */
export interface SharedKeySet {
  /** Number of the change; the first is 1. */
  readonly change: number;
  readonly keys: ReadonlyMap<string, StoredKey>;
}

/** Something about the keys in the store that no gateway of the catalog has written. */
export interface KeyFault {
  readonly kind: 'forged' | 'missing' | 'older';
  readonly sentence: string;
}

/** The keys that were read from the store. */
export interface SealedKeys {
  /** The bytes of the head; null if there is none. */
  readonly head: Uint8Array | null;
  readonly entries: readonly StoreEntry[];
  /** The keys, if head and records belong together; otherwise undefined. */
  readonly set: SharedKeySet | undefined;
  /** Authentic keys, which may be outdated. */
  readonly authentic: readonly StoredKey[];
  readonly faults: readonly KeyFault[];
}

/** Texts of keys: one change compares all keys several times. */
const texts = new WeakMap<StoredKey, string>();

/** The text of a key, with its fields in one order. */
export function keyJson(key: StoredKey): string {
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = writtenKey(key);
  texts.set(key, text);
  return text;
}

function writtenKey(key: StoredKey): string {
  const { id, subject, roles, scopes, context, hash: digest, created, expires, revoked } = key;
  const { frozen, change } = key;
  const rest = { hash: digest, created, expires, revoked, frozen, change };
  return JSON.stringify({ id, subject, roles, scopes, context, ...rest });
}

interface Head {
  readonly change: number;
  readonly count: number;
  /** SHA-256 of all sealed records. */
  readonly digest: string;
}

/** The entries of the store for a set of keys, the head first. */
export function sealKeys(seal: KeySeal, { change, keys }: SharedKeySet): readonly StoreEntry[] {
  const records = [...keys.values()]
    .map((key) => ({ key: `${KEY_RECORDS}${key.id}`, value: sealedOf(seal, key) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const head: Head = { change, count: records.length, digest: digestOf(records) };
  return [
    { key: KEY_HEAD, value: Buffer.from(seal.seal('set', JSON.stringify(head))) },
    ...records,
  ];
}

/** The record of a key. One change needs the records of all keys several times, and most are as they were read. */
function sealedOf(seal: KeySeal, key: StoredKey): Uint8Array {
  const known = seal.records.get(key);
  if (known !== undefined) return known;
  const sealed = Buffer.from(seal.seal('key', keyJson(key)));
  seal.records.set(key, sealed);
  return sealed;
}

function digestOf(records: readonly StoreEntry[]): string {
  return hash('sha256', records.map(({ value }) => textOf(value)).join('\n'), 'base64url');
}

const textOf = (value: Uint8Array): string => Buffer.from(value).toString();

/** Checks entries of the store. @param records In the order of their keys. */
export function openSealedKeys(
  seal: KeySeal,
  head: Uint8Array | undefined,
  records: readonly StoreEntry[],
): SealedKeys {
  const said = head && headOf(seal, head);
  const isWhole = said?.count === records.length && said.digest === digestOf(records);
  const faults: KeyFault[] = [];
  const authentic: StoredKey[] = [];
  for (const { key, value } of records) {
    // A digest that the head has was made of authentic records.
    const found = openRecord(seal, key, value, isWhole);
    if (found === undefined) faults.push(forged(`the API key ${key.slice(KEY_RECORDS.length)}`));
    else authentic.push(found);
  }
  const read = { head: head ?? null, entries: records, authentic };
  if (head === undefined) {
    if (records.length > 0)
      faults.push({ kind: 'missing', sentence: 'the head of the API keys is missing' });
    return { ...read, set: undefined, faults };
  }
  if (said === undefined) faults.push(forged('the head of the API keys'));
  if (said === undefined || faults.length > 0) return { ...read, set: undefined, faults };
  const { change, count } = said;
  if (!isWhole) {
    const sentence =
      records.length < count
        ? 'API keys are missing'
        : 'an API key has an older state than the last change';
    const kind = records.length < count ? 'missing' : 'older';
    return { ...read, set: undefined, faults: [{ kind, sentence }] };
  }
  const keys = new Map(authentic.map((key) => [key.id, key]));
  return { ...read, set: { change, keys }, faults };
}

/** What an authentic head says. */
function headOf(seal: KeySeal, head: Uint8Array): Head | undefined {
  const text = seal.open('set', textOf(head));
  return text === undefined ? undefined : (JSON.parse(text) as Head);
}

function openRecord(
  seal: KeySeal,
  key: string,
  value: Uint8Array,
  isAuthentic: boolean,
): StoredKey | undefined {
  const known = seal.opened.get(key);
  if (known !== undefined && Buffer.compare(known.value, value) === 0) return known.found;
  const sealed = textOf(value);
  const text = isAuthentic ? sealedText(sealed) : seal.open('key', sealed);
  if (text === undefined) return undefined;
  const found = storedKeyOf(JSON.parse(text), key);
  if (`${KEY_RECORDS}${found.id}` !== key) return undefined;
  seal.records.set(found, value);
  seal.opened.set(key, { value, found });
  return found;
}

function forged(what: string): KeyFault {
  return { kind: 'forged', sentence: `${what} was not written by a gateway of this catalog` };
}

/** The writes that turn entries of the store into others. */
export function writesBetween(
  before: readonly StoreEntry[],
  after: readonly StoreEntry[],
): readonly Write[] {
  const old = new Map(before.map(({ key, value }) => [key, textOf(value)]));
  const kept = new Set(after.map(({ key }) => key));
  const removed = [...old.keys()].filter((key) => !kept.has(key));
  return [
    ...after.filter(({ key, value }) => old.get(key) !== textOf(value)),
    ...removed.map((key) => ({ key, value: null })),
  ];
}
