import type { Storage } from '../../../storage/storage.ts';
import type { StoreChange, StoreEntry } from '../../../store/store.ts';
import { isMissing } from '../../../storage/storage-error.ts';
import { compareBytewise } from '../records/bytewise.ts';
import { readJournal, type JournalDamage } from './journal-reader.ts';
import { isSound, listSnapshots, readSnapshot, type SnapshotFile } from './snapshot-file.ts';

/** Numbers that no line has, from one to another, both included. */
type Hole = readonly [bigint, bigint];

/** The state of a journal: its newest sound snapshot, and the changes after it. */
export interface JournalState {
  /** The number of the last change; 0 when there is none. */
  readonly sequence: bigint;
  readonly snapshot: SnapshotFile | undefined;
  /** How many changes stand in lines, beyond the snapshot. */
  readonly changes: number;
  /** Every key and its value, in the order of the keys' bytes. */
  readonly entries: () => AsyncGenerator<StoreEntry>;
  readonly holes: readonly Hole[];
  /** Numbers that two different changes have. */
  readonly forks: readonly bigint[];
  readonly damages: readonly JournalDamage[];
  /** Snapshots that are damaged. */
  readonly spoilt: readonly string[];
}

/** How often a journal is read again whose files others take away meanwhile. */
const READINGS = 4;

/**
 * Reads a journal to its end, or up to a change.
 * @param upTo The number of the last change that counts.
 */
export async function readState(
  storage: Storage,
  folder: string,
  upTo?: bigint,
): Promise<JournalState> {
  for (let reading = 1; ; reading++) {
    try {
      return await readOnce(storage, folder, upTo);
    } catch (error) {
      // Somebody has made a snapshot and taken the lines away that it holds.
      if (reading === READINGS || !isMissing(error)) throw error;
    }
  }
}

async function readOnce(
  storage: Storage,
  folder: string,
  upTo: bigint | undefined,
): Promise<JournalState> {
  const { snapshot, spoilt } = await newestSound(storage, folder, upTo);
  const damages: JournalDamage[] = [];
  const replay = new Replay(snapshot?.sequence ?? 0n);
  const onDamage = (damage: JournalDamage): void => void damages.push(damage);
  for await (const change of readJournal(storage, folder, onDamage, snapshot?.sequence ?? 0n)) {
    if (upTo !== undefined && change.sequence > upTo) break;
    replay.add(change);
  }
  const { sequence, changes, holes, forks, values } = replay;
  const base = () => (snapshot === undefined ? nothing() : readSnapshot(storage, folder, snapshot));
  const entries = () => merged(base(), values);
  return { sequence, snapshot, changes, entries, holes, forks, damages, spoilt };
}

async function newestSound(storage: Storage, folder: string, upTo: bigint | undefined) {
  const spoilt: string[] = [];
  for (const snapshot of await listSnapshots(storage, folder)) {
    if (upTo !== undefined && snapshot.sequence > upTo) continue;
    if (await isSound(storage, folder, snapshot)) return { snapshot, spoilt };
    spoilt.push(snapshot.name);
  }
  return { snapshot: undefined, spoilt };
}

/** The net effect of the changes after a snapshot. */
class Replay {
  readonly values = new Map<string, Uint8Array | null>();
  readonly holes: Hole[] = [];
  readonly forks: bigint[] = [];
  readonly #base: bigint;
  sequence: bigint;
  changes = 0;

  constructor(base: bigint) {
    this.#base = base;
    this.sequence = base;
  }

  add({ sequence, writes }: StoreChange): void {
    if (sequence <= this.#base) return;
    if (sequence === this.sequence) this.forks.push(sequence);
    if (sequence > this.sequence + 1n) this.holes.push([this.sequence + 1n, sequence - 1n]);
    this.sequence = sequence;
    this.changes += 1;
    for (const { key, value } of writes) this.values.set(key, value);
  }
}

async function* nothing(): AsyncGenerator<never> {}

/** Entries in order, with those replaced, added and removed that changes replaced, added and removed. */
async function* merged(
  entries: AsyncGenerator<StoreEntry>,
  values: ReadonlyMap<string, Uint8Array | null>,
): AsyncGenerator<StoreEntry> {
  const keys = [...values.keys()].sort(compareBytewise);
  let at = 0;
  const next = (): readonly StoreEntry[] => {
    const key = keys[at++]!;
    const value = values.get(key);
    return value === null || value === undefined ? [] : [{ key, value }];
  };
  for await (const entry of entries) {
    while (at < keys.length && compareBytewise(keys[at]!, entry.key) < 0) yield* next();
    if (keys[at] === entry.key) yield* next();
    else yield entry;
  }
  while (at < keys.length) yield* next();
}
