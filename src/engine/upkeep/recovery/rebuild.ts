import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Store, StoreEntry, Write, StoreChange } from '../../../store/store.ts';
import { idPaths, readId, storedId } from '../../catalog/records/catalog-id.ts';
import { requireFormat } from '../../catalog/journal/data-format.ts';
import { folderJournal, openPlace } from '../../catalog/journal/journal-place.ts';
import { openJournal } from '../../catalog/journal/journal.ts';
import { openJournalLog } from '../../catalog/journal/journal-log.ts';
import { lastInJournal } from '../../catalog/journal/journal-end.ts';
import { readState, type JournalState } from '../../catalog/journal/journal-state.ts';
import { writeSnapshot } from '../../catalog/journal/snapshot-file.ts';
import type { Storage } from '../../../storage/storage.ts';
import { lostLines } from '../../catalog/journal/lost-lines.ts';
import { versionsAhead, type Ahead } from './versions-ahead.ts';
import { CATALOG_KEY } from '../../catalog/records/keys.ts';
import { encodeChange } from '../../catalog/journal/journal-line.ts';

/** Sources of a journal's state. */
interface Survey {
  /** The catalog that it is of. */
  readonly catalog: string | undefined;
  readonly keys: number;
  readonly namespaces: number;
  readonly tables: number;
  /** Tables that were dropped and can be brought back. */
  readonly dropped: number;
  readonly versions: number;
  readonly tags: number;
  readonly branches: number;
}

/** Kind of record by the first letter of its key. */
const letters: ReadonlyMap<string, keyof Omit<Survey, 'catalog' | 'keys'>> = new Map([
  ['N', 'namespaces'],
  ['T', 'tables'],
  ['D', 'dropped'],
  ['V', 'versions'],
  ['G', 'tags'],
  ['B', 'branches'],
]);

/** Counts the keys of a state. */
async function survey(state: JournalState): Promise<Survey> {
  const counts = { namespaces: 0, tables: 0, dropped: 0, versions: 0, tags: 0, branches: 0 };
  let catalog: string | undefined;
  let keys = 0;
  for await (const { key, value } of state.entries()) {
    keys += 1;
    if (key === CATALOG_KEY) catalog = Buffer.from(value).toString();
    const kind = letters.get(key[0] ?? '');
    if (kind !== undefined) counts[kind] += 1;
  }
  return { catalog, keys, ...counts };
}

/** Writes a change that no store has yet at the end of a journal, durably. */
async function appendToJournal(
  storage: Storage,
  folder: string,
  change: StoreChange,
): Promise<void> {
  const log = openJournalLog(storage, folder);
  await log.append({ sequence: change.sequence, bytes: encodeChange(change) });
  await log.close();
}

interface RebuildOptions {
  readonly storage: Storage;
  /** The data folder. */
  readonly data: string;
  /** The journal: a key in an object store; a folder of the data folder unless given. */
  readonly journal?: string | undefined;
  /** A store without a guard. */
  readonly store: Store;
  /** Says what would be restored, and changes nothing. */
  readonly dryRun: boolean;
  /** Goes on without changes that the journal lacks. */
  readonly force: boolean;
  /** Called with the name of each step. */
  readonly progress: (doing: string) => void;
}

/** Result of a rebuild, or of its dry run. */
export interface Rebuilt extends Survey {
  /** Whether all was put back, what the store had lost, or nothing since the store has everything. */
  readonly restored: 'all' | 'lost' | 'nothing';
  /** The numbers of the last change that the store had, and that it has now. */
  readonly from: bigint;
  readonly sequence: bigint;
  /** Versions that were found on disk and not in the journal. */
  readonly versionsAhead: number;
  /** Gaps of the journal, a sentence each. */
  readonly lost: readonly string[];
}

/** The store cannot be rebuilt: the message says why. */
export class RebuildRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RebuildRefusal';
  }
}

/** How often the journal is read again while others write to it. */
const ATTEMPTS = 5;

/**
 * Restores the store of a data folder from its journal and its manifests. A
 * store without anything gets everything at once; one of this catalog that went
 * back gets what it lacks. What was cut off is done again from the beginning.
 * @throws RebuildRefusal
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const { storage, data, dryRun } = options;
  const journal = journalOf(options);
  await (dryRun ? requireFormat(storage, data) : openPlace(storage, { data, journal }));
  for (let attempt = 1; ; attempt++) {
    const done = await attemptRebuild(options);
    if (done !== undefined) return done;
    if (attempt === ATTEMPTS) {
      throw new RebuildRefusal('others go on changing the journal: nothing was changed');
    }
  }
}

function journalOf({ data, journal }: Pick<RebuildOptions, 'data' | 'journal'>): string {
  return journal ?? folderJournal(data);
}

/** Undefined when the journal went on meanwhile: then it is read again. */
async function attemptRebuild(options: RebuildOptions): Promise<Rebuilt | undefined> {
  const { storage, data, store, dryRun, progress } = options;
  const folder = journalOf(options);
  const stored = await storedId(store);
  progress('reading the journal');
  let state = await readState(storage, folder);
  const found = await survey(state);
  await requireOwn(storage, folder, found, stored);
  if (stored === undefined) await requireEmpty(store);
  const lost = requireWhole(state, options.force);
  if (!dryRun) await storage.putIfAbsent(idPaths(folder).final, Buffer.from(found.catalog ?? ''));
  const from = await store.sequence();
  const needed = stored === undefined ? 'all' : from < state.sequence ? 'lost' : 'nothing';
  const done = { ...found, from, lost, restored: needed } as const;
  if (needed === 'nothing') return { ...done, sequence: from, versionsAhead: 0 };
  if (needed === 'lost' && !dryRun) state = await withPending(options, folder);
  progress('looking for versions that the journal does not know');
  const ahead = await versionsAhead(storage, state, join(data, 'tables'));
  if (!dryRun && !(await restore(options, state, ahead))) return undefined;
  const sequence = state.sequence + (ahead.versions.length > 0 ? 1n : 0n);
  return { ...done, sequence, versionsAhead: ahead.versions.length };
}

/** The journal with what the store still holds for it: that belongs to what is restored. */
async function withPending(
  { storage, store, force }: RebuildOptions,
  folder: string,
): Promise<JournalState> {
  const journal = await openJournal(storage, folder, store);
  await journal.close();
  const state = await readState(storage, folder);
  requireWhole(state, force);
  return state;
}

/** @throws RebuildRefusal when folder, journal and store are not of one catalog. */
async function requireOwn(
  storage: Storage,
  folder: string,
  { catalog, keys }: Survey,
  stored: string | undefined,
): Promise<void> {
  const existing = await readId(storage, idPaths(folder).final);
  if (catalog === undefined) {
    const which = existing === undefined ? '' : `, which is ${existing}`;
    const holds = keys === 0 ? 'holds no change' : 'does not say which catalog it is of';
    throw new RebuildRefusal(
      `the journal in ${folder} ${holds}: it cannot restore the catalog${which}`,
    );
  }
  if (existing !== undefined && existing !== catalog) {
    throw new RebuildRefusal(
      `the journal is of the catalog ${catalog}, but the folder of ${existing}`,
    );
  }
  if (stored !== undefined && stored !== catalog) {
    throw new RebuildRefusal(
      `the store belongs to the catalog ${stored}, but the folder to ${catalog}: nothing was changed`,
    );
  }
}

async function requireEmpty(store: Store): Promise<void> {
  const first = await store.range({ start: '', end: '\u{10ffff}', limit: 1 });
  if (first.length > 0 || (await store.changes(1)).length > 0) {
    throw new RebuildRefusal(
      'the store holds something, but no catalog: only an empty store is filled, so nothing was changed',
    );
  }
}

function requireWhole(state: JournalState, force: boolean): readonly string[] {
  const lost = lostLines(state);
  if (state.forks.length > 0 || (lost.length > 0 && !force)) {
    const whatElse = lost.length > 1 ? `, and ${lost.length - 1} more of the kind` : '';
    const forced = state.forks.length > 0 ? '' : '; --force goes on without';
    throw new RebuildRefusal(`${lost[0]}${whatElse}: nothing was changed${forced}`);
  }
  return lost;
}

/** False, and nothing is changed in the store, when somebody has written to the journal since it was read. */
async function restore(
  options: RebuildOptions,
  read: JournalState,
  ahead: Ahead,
): Promise<boolean> {
  const { storage, store, progress } = options;
  const folder = journalOf(options);
  for (const path of ahead.unsound) await putAside(storage, path);
  const state = await withVersions(storage, folder, read, ahead);
  progress(`restoring all changes up to ${state.sequence}`);
  if ((await lastInJournal(storage, folder)) !== state.sequence) return false;
  if ((await storedId(store)) === undefined) await store.restore(state.entries(), state.sequence);
  else await bringForward(store, state);
  if (state.snapshot?.sequence === state.sequence) return true;
  progress('writing a snapshot of the journal');
  await writeSnapshot(storage, folder, state.sequence, state.entries());
  return true;
}

/** A manifest that is no version gets a name that no version has. */
async function putAside(storage: Storage, path: string): Promise<void> {
  await storage.renameIfAbsent(path, `${path}-${randomUUID()}`);
  await storage.flush(dirname(path));
}

/** The state with the versions that were found; the journal has them first. */
async function withVersions(
  storage: Storage,
  folder: string,
  state: JournalState,
  { versions }: Ahead,
): Promise<JournalState> {
  if (versions.length === 0) return state;
  const writes = versions.flatMap((version) => version.writes);
  await appendToJournal(storage, folder, { sequence: state.sequence + 1n, writes });
  return readState(storage, folder);
}

/** Gives a store that went back what it lacks, as one change with the number of the last. */
async function bringForward(store: Store, state: JournalState): Promise<void> {
  const writes: Write[] = [];
  const held = allOf(store);
  let next = await held.next();
  for await (const entry of state.entries()) {
    for (; next.done !== true && isBefore(next.value, entry); next = await held.next()) {
      writes.push({ key: next.value.key, value: null });
    }
    const same = next.done !== true && next.value.key === entry.key;
    if (!same || Buffer.compare(next.value.value, entry.value) !== 0) writes.push(entry);
    if (same) next = await held.next();
  }
  for (; next.done !== true; next = await held.next()) {
    writes.push({ key: next.value.key, value: null });
  }
  await store.replay([{ sequence: state.sequence, writes }]);
}

function isBefore(left: StoreEntry, right: StoreEntry): boolean {
  return Buffer.compare(Buffer.from(left.key), Buffer.from(right.key)) < 0;
}

/** How many entries of the store are read at once. */
const CHUNK = 1000;

async function* allOf(store: Store): AsyncGenerator<StoreEntry> {
  for (let start = ''; ;) {
    const entries = await store.range({ start, end: '\u{10ffff}', limit: CHUNK });
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < CHUNK) return;
    start = `${last.key}\u0000`;
  }
}
