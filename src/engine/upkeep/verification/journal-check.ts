import type { Storage } from '../../../storage/storage.ts';
import { crc32 } from '@node-rs/crc32';
import type { StoreChange, Store } from '../../../store/store.ts';
import { readJournal, type JournalDamage } from '../../catalog/journal/journal-reader.ts';
import { readState } from '../../catalog/journal/journal-state.ts';
import type { Finding } from './finding.ts';
import { readEntries } from './store-check.ts';

/** Results of a journal check. */
interface JournalReport {
  /** How many changes it holds. */
  readonly changes: number;
  readonly findings: readonly Finding[];
}

/** Identifies a value in place of its bytes. */
type Fingerprint = number;

/** Content of the journal, change by change. */
interface Replay {
  /** The number of the last change. */
  readonly sequence: bigint;
  readonly changes: number;
  /** The value of each key in the end. */
  readonly values: ReadonlyMap<string, Fingerprint>;
  /** Numbers that no line has, from one to another, both included. */
  readonly holes: readonly (readonly [bigint, bigint])[];
  /** Numbers that two different lines have. */
  readonly twice: readonly bigint[];
  readonly damages: readonly JournalDamage[];
}

/** Maximum number of changes that the store holds before the journal has their lines. */
const PENDING = 100_000;
/** How often the journal is read again before what it and the store differ in counts: others continue writing. */
const READINGS = 3;

/**
 * Compares the journal with the store: no number is left out, no line is
 * damaged, and what all changes come to is what the store holds.
 */
export async function checkJournal(
  storage: Storage,
  folder: string,
  store: Store,
): Promise<JournalReport> {
  let replay = await replayed(storage, folder);
  let pending = await pendingIn(store);
  let suspects = await differences(store, replay.values);
  for (let reading = 1; reading < READINGS; reading++) {
    if (suspects.length === 0 && unfilled(replay, pending).length === 0) break;
    // Lines come after their commits: what was missing may be there now.
    pending = new Map([...pending, ...(await pendingIn(store))]);
    const before = replay;
    const held = await heldValues(store, suspects);
    replay = await replayed(storage, folder);
    const newer = await newerValues(storage, folder, before.sequence, held);
    const agrees = (key: string) =>
      [
        before.values.get(key),
        replay.values.get(key),
        ...(newer.get(key) ?? []),
        ...pendingValues(pending, key),
      ].includes(held.get(key));
    suspects = suspects.filter((key) => !agrees(key));
  }
  return {
    changes: replay.changes,
    findings: [
      ...replay.damages.filter(({ last }) => !last).map(damageFinding),
      ...unfilled(replay, pending).map(holeFinding),
      ...replay.twice.map((sequence) => about(null, `two lines of change ${sequence} differ`)),
      ...suspects.map((key) => about(null, `the journal and the store differ in ${shown(key)}`)),
    ],
  };
}

async function replayed(storage: Storage, folder: string): Promise<Replay> {
  const state = await readState(storage, folder);
  const values = new Map<string, Fingerprint>();
  for await (const { key, value } of state.entries()) values.set(key, fingerprint(value));
  const { sequence, changes, holes, forks, damages } = state;
  return { sequence, changes, values, holes, twice: forks, damages };
}

/** Changes that the store holds and whose lines are still to come, by their numbers. */
type Pending = ReadonlyMap<bigint, StoreChange>;

/** After a kill the journal may lack them: a check of the journal does not write. */
async function pendingIn(store: Store): Promise<Pending> {
  return new Map((await store.changes(PENDING)).map((change) => [change.sequence, change]));
}

/** Effect of such changes on a key. */
function pendingValues(pending: Pending, key: string): readonly (Fingerprint | undefined)[] {
  return [...pending.values()].flatMap(({ writes }) =>
    writes
      .filter((write) => write.key === key)
      .map(({ value }) => fingerprintOf(value ?? undefined)),
  );
}

/** The holes that no change fills whose line is still to come. */
function unfilled({ holes }: Replay, pending: Pending): Replay['holes'] {
  return holes.filter(([first, last]) => {
    for (let sequence = first; sequence <= last; sequence++) {
      if (!pending.has(sequence)) return true;
    }
    return false;
  });
}

/** The keys whose values are not the same in the store. */
async function differences(
  store: Store,
  values: ReadonlyMap<string, Fingerprint>,
): Promise<readonly string[]> {
  const left = new Set(values.keys());
  const different: string[] = [];
  for await (const page of readEntries(store)) {
    for (const { key, value } of page) {
      left.delete(key);
      // A damaged value is a finding about the store.
      if (value !== undefined && values.get(key) !== fingerprint(value)) different.push(key);
    }
  }
  return [...different, ...left];
}

/** Current values of some keys; undefined for absent ones. */
async function heldValues(
  store: Store,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Fingerprint | undefined>> {
  const held = new Map<string, Fingerprint | undefined>();
  for (const key of keys) held.set(key, fingerprintOf(await store.get(key)));
  return held;
}

/**
 * What some keys have been since a change. A key that is written all the time is never
 * read from the journal and the store at one moment; what the store holds must then be
 * one of its newer values, since an older one would be of a store that went back.
 */
async function newerValues(
  storage: Storage,
  folder: string,
  since: bigint,
  keys: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, readonly (Fingerprint | undefined)[]>> {
  const newer = new Map<string, (Fingerprint | undefined)[]>();
  if (keys.size === 0) return newer;
  for await (const { sequence, writes } of readJournal(storage, folder, () => undefined)) {
    if (sequence <= since) continue;
    for (const { key, value } of writes) {
      if (!keys.has(key)) continue;
      const values = newer.get(key) ?? [];
      values.push(fingerprintOf(value ?? undefined));
      newer.set(key, values);
    }
  }
  return newer;
}

function fingerprintOf(value: Uint8Array | undefined): Fingerprint | undefined {
  return value === undefined ? undefined : fingerprint(value);
}

/** Checksum and length together, as one whole number. */
function fingerprint(value: Uint8Array): Fingerprint {
  return crc32(value) + 2 ** 32 * (value.byteLength % 2 ** 20);
}

function damageFinding({ file, line }: JournalDamage): Finding {
  return about(file, `line ${line} is damaged`);
}

function holeFinding([first, last]: readonly [bigint, bigint]): Finding {
  const which = first === last ? `change ${first} is` : `changes ${first} to ${last} are`;
  return about(null, `${which} not in the journal`);
}

function about(file: string | null, fault: string): Finding {
  return { kind: 'journal', table: null, file, fault };
}

/** A key of the store, with its zero bytes to be seen. */
function shown(key: string): string {
  return JSON.stringify(key);
}
