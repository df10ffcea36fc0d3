import type { StoredFile } from '../arrow/sealed/file-seal.ts';
import type { Backend } from '../protocol/backend.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { TableRecord } from './format/records.ts';
import { isStoreDamage, messageOf, StoreError } from '../store/store-error.ts';
import type { VirtualTable } from '../protocol/virtual-table.ts';
import type { Store } from '../store/store.ts';
import { LocalStorage } from '../storage/local-storage.ts';
import { isOutage } from '../storage/storage-error.ts';
import { RoutedStorage } from '../storage/routed-storage.ts';
import { StrangeStore } from './catalog/records/catalog-id.ts';
import { Catalog } from './catalog/catalog.ts';
import type { Journal } from './catalog/journal/journal.ts';
import { LocalTables, type LocalOptions } from './catalog/local-tables.ts';
import { JournalKeeper } from './catalog/journal/journal-keeper.ts';
import { CATALOG_KEY } from './catalog/records/keys.ts';
import { EmbeddedBackend } from './handlers/call/backend.ts';
import {
  journalOf,
  tablePlacesOf,
  presenceIn,
  rootsOf,
  tablesFolder,
  type PlaceOptions,
} from './engine-places.ts';
import { openCoordination, openReadCoordination } from './coordination.ts';
import type { Storage } from '../storage/storage.ts';
import type { VendingStores } from '../storage/vending/credential-vendor.ts';
import type { HandlerTable } from './handlers/call/handler.ts';
import {
  catalogHandlers,
  historyHandlers,
  schemaHandlers,
  tableObjectHandlers,
  workHandlers,
} from './handlers/tables.ts';
import { countTableRows } from './handlers/rows/count-table-rows.ts';
import { cloneTable } from './handlers/tables/clone-table.ts';
import { createTable } from './handlers/tables/create-table.ts';
import { analyzeQuery, explainQuery } from './handlers/rows/explain-query.ts';
import { deleteFromTable, updateTable } from './handlers/rows/update-table.ts';
import { deregisterTable, renameTable } from './handlers/tables/deregister-table.ts';
import { withFreshness } from './handlers/call/freshness.ts';
import { indexFileHandlers, indexHandlers, type Attend } from './handlers/jobs/indices.ts';
import { withFirstInsert } from './handlers/rows/first-insert.ts';
import { insertIntoTable } from './handlers/rows/insert-into-table.ts';
import { mergeInsertIntoTable } from './handlers/rows/merge-insert-into-table.ts';
import { pastHandlers } from './handlers/past-versions.ts';
import { lanceTables } from './handlers/rows/lance-creation.ts';
import { withLanceChanges, withoutLibrary } from './handlers/rows/lance-handlers.ts';
import { compactLanceLine } from './handlers/rows/library-compaction.ts';
import type { LanceAccess } from './handlers/rows/library-reads.ts';
import { queryTable } from './handlers/rows/table-reads.ts';
import { buildLanceIndex } from './handlers/jobs/lance-index-job.ts';
import { withLanceIndices } from './handlers/jobs/lance-indices.ts';
import type { ManagedParts } from './handlers/call/managed-parts.ts';
import type { Job, JobWork } from './upkeep/jobs/job.ts';
import { JobRunner, type OnFault, type JobRunnerOptions } from './upkeep/jobs/job-runner.ts';
import { Transactions } from './upkeep/jobs/transactions.ts';
import { KnownTables } from './handlers/call/known-tables.ts';
import { KnownAnswers, withRecall } from './handlers/call/known-answers.ts';
import { LateBackend, LateWork } from './late-backend.ts';
import { AnswerSweep } from './once/answer-sweep.ts';
import { StoreClock, type StoreClockOptions } from './once/store-clock.ts';
import { Repeats } from './handlers/call/repeats.ts';
import { adoptionJudge } from './rules/adoption-judge.ts';
import {
  judging,
  noRules,
  CommitJudge,
  type Judging,
  type RulesOptions,
} from './rules/commit-judge.ts';
import { LanceRowReads, type JudgingLimits } from './rules/lance-judged-rows.ts';
import { Adoption, type RecordAdoption } from './versions/managed/adoption.ts';
import { Branches } from './versions/lines/branches.ts';
import { RecordReader } from './catalog/records/reader.ts';
import { Horizon } from './versions/leases/horizon.ts';
import { LeasedBackend } from './upkeep/retention/leased-backend.ts';
import type { RetentionParts } from './upkeep/retention/parts.ts';
import type { Presence } from './versions/leases/presence.ts';
import { Running } from './versions/leases/running.ts';
import { VersionReader } from './catalog/records/version-reader.ts';
import { readingsOf, type EngineReadings } from './readings.ts';
import { FragmentReader } from './query/scan/fragment-reader.ts';
import { MemoryBudget } from './format/memory/memory-budget.ts';
import type { OnDamage } from './format/memory/open-files.ts';
import type { IncomingLimits } from './format/incoming.ts';
import { RequestMemory } from './format/memory/request-memory.ts';
import { LanceTagFolder } from './versions/managed/lance-refs.ts';
import type { LanceLibrary } from './versions/managed/lance-library.ts';
import { KnownManifests } from './versions/managed/known-manifests.ts';
import { OwnFiles } from './versions/managed/lance-files.ts';
import { ManifestStore } from './versions/lines/manifest-store.ts';
import type { TablePlaces } from './format/table-places.ts';
import type { FormatOf } from './versions/table-format.ts';
import { Tables } from './versions/tables.ts';
import { Tags } from './versions/lines/tags.ts';
import { VersionStore } from './versions/lines/version-store.ts';
import { Upkeep } from './upkeep.ts';
import { withVirtualTables } from './virtual/virtual-handlers.ts';
import { AnswerMemory, ANSWERS_BYTES } from './format/memory/answer-memory.ts';
import { RowVerdicts } from './query/restrict/row-verdicts.ts';
import { maskKeyOf, maskSecretIn, type MaskSecret } from './query/restrict/mask-secret.ts';
import { HeavyWork } from './workers/heavy-work.ts';
import { indexerOn, unpackerOn } from './workers/thread-tasks.ts';
import { ThreadPool } from './workers/thread-pool.ts';
import type { CompactionParts } from './upkeep/jobs/background-compaction.ts';
import { VersionWork } from './version-work.ts';
import { operations } from '../protocol/operations/operations.ts';
import type { OperationName } from '../protocol/operations/operation-name.ts';
import { backfill, jobTable, type BackfillParts } from './upkeep/jobs/backfill.ts';
import { versionJudge } from './rules/version-judge.ts';
import { buildIndex, type IndexJobParts } from './upkeep/jobs/index-job.ts';

/** Judge of the version that a backfill makes. */
function backfillJudge(
  judging: Judging,
  tables: Pick<Tables, 'folder' | 'snapshotOf'>,
): NonNullable<BackfillParts['judge']> {
  return ({ record }, place) =>
    versionJudge(jobJudge(judging, 'AlterTableBackfillColumns', record.id), tables, {
      ...place,
      action: 'backfill',
    });
}

/**
 * Judge of commits without a request. The principal is no longer known, so neither exceptions nor the
 * context of a request apply.
 */
function jobJudge(judging: Judging, operation: OperationName, id: string): CommitJudge {
  const request = { operation: operations[operation], requestId: id, context: null };
  const nobody = { kind: 'key', id: '' } as const;
  const principal = { subject: '', groups: [], roles: [], credential: nobody };
  return new CommitJudge(judging, request, { principal, decisionId: id }, judging.source().all);
}

/** Implementation of each kind of job; its files are not collected meanwhile. */
function jobWorks(
  parts: BackfillParts & IndexJobParts & { readonly local: LocalTables },
  buildingLance: JobWork,
  running: Running,
): JobRunnerOptions['works'] {
  const here = (work: JobWork) => (job: Job) =>
    running.during(async () => {
      // Another gateway takes the job if it has the files.
      parts.local.requireHere((await jobTable(parts.store, job)).table.content);
      await work(job);
    });
  return {
    backfill: here(backfill(parts)),
    index: here(buildIndex(parts)),
    lance_index: here(buildingLance),
  };
}

export interface EngineOptions extends PlaceOptions {
  /** This gateway, where gateways share no folder. */
  readonly local?: LocalOptions | undefined;
  /** Where files and objects lie; a disk alone unless given. The engine does not close it. */
  readonly storage?: Storage;
  /** Store that coordinates versions and names. The engine does not close it. */
  readonly store: Store;
  /** Memory for what is read often, in bytes. */
  readonly cacheBytes: number;
  /** Threads for heavy work, at most; none unless given. */
  readonly workers?: number;
  /** The largest JSON body, in bytes. */
  readonly jsonBody: number;
  /** The longest Arrow body, in bytes; null for any length. */
  readonly arrowBody: number | null;
  /** Memory that all requests may hold together for bodies and sorts, in bytes; any unless given. */
  readonly requestMemory?: number;
  /** The most entries that a listing answers at once. */
  readonly page: number;
  /** How long a request that comes again is recognised, in milliseconds; 15 minutes unless it is given. */
  readonly repeatMillis?: number;
  /** Milliseconds since 1970; the machine's clock unless it is given. */
  readonly clock?: () => number;
  /** Called with a sentence when that clock and the store's begin to differ by over a second, and with undefined when they agree again. */
  readonly onSkew?: StoreClockOptions['onSkew'];
  /** Called with each read of a table's file that does not match its seal. */
  readonly onDamage?: OnDamage;
  /** The commit rules in force; none unless they are given. */
  readonly rules?: RulesOptions;
  /** Records adoptions in the audit log; without it they are in none. */
  readonly recordAdoption?: RecordAdoption;
  /** How small fragments are merged in the background. */
  readonly compaction?: Pick<CompactionParts, 'fewest' | 'record'>;
  /** How callers get credentials of tables in object stores; not at all unless given. */
  readonly vending?: VendingStores | undefined;
  /** How the rows of Lance tables are read; not at all unless it is given. */
  readonly lance?: LanceAccess;
  /** Bounds of what commit rules read of Lance tables; such rules refuse without. */
  readonly judgingLimits?: JudgingLimits;
  /** The format of tables that CreateTable makes; Arrow files unless it is given. */
  readonly formatOf?: FormatOf;
  /** Tables that the service answers for itself. */
  readonly virtual?: readonly VirtualTable[];
}

const REPEAT_MILLIS = 900_000;

const arrow: FormatOf = () => 'arrow';

/** The catalog engine, open on a data folder. */
export interface Engine {
  readonly backend: Backend;
  /** Null while the store is unavailable or not this folder's: then nothing may be changed. */
  readonly upkeep: Upkeep | null;
  /**
   * Begins the work that no request waits for: jobs, and merging of small files. It
   * continues until the engine is closed; its faults are passed to `onFault`.
   */
  startWork(onFault: OnFault): void;
  /** Readings of the engine; null while it is not open. */
  readings(): EngineReadings | null;
  close(): Promise<void>;
}

/**
 * Opens the engine on a data folder and finishes what a crash left undone. With
 * a store that is unavailable, or not this folder's, it opens as well, refuses
 * everything, and serves as soon as the store is there.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const opened = await openNow(options);
  if (typeof opened !== 'string') return opened;
  const work = new LateWork();
  let upkeep: Upkeep | null = null;
  let readings: Engine['readings'] = () => null;
  const backend = new LateBackend(opened, async () => {
    const late = work.of(await openNow(options));
    if (typeof late === 'string') return late;
    ({ upkeep } = late);
    readings = () => late.readings();
    return late;
  });
  return {
    backend,
    get upkeep() {
      return upkeep;
    },
    startWork: (onFault) => work.start(onFault),
    readings: () => readings(),
    close: () => backend.close(),
  };
}

/** Errors of a store that may be repaired while the service runs. */
const LATER: ReadonlySet<StoreError['kind']> = new Set(['unavailable', 'busy', 'damaged']);

/** The engine, or why its store keeps it from opening. */
async function openNow(options: EngineOptions): Promise<Engine | string> {
  try {
    return await openOwn(options);
  } catch (error) {
    const passes = error instanceof StoreError ? LATER.has(error.kind) : isOutage(error);
    if (passes || error instanceof StrangeStore) return messageOf(error);
    throw error;
  }
}

async function openOwn(given: EngineOptions): Promise<Engine> {
  const { data, virtual = [], readOnly = false } = given;
  const storage = given.storage ?? new RoutedStorage(new LocalStorage(), []);
  const root = await tablesFolder(storage, data);
  const folder = journalOf(given);
  const coordinated = readOnly ? openReadCoordination : openCoordination;
  const { journal, committer, store, recent } = await coordinated(
    storage,
    { data, journal: folder },
    given.store,
  );
  const options = { ...given, store };
  const clock = await clockOf(given);
  const places = await tablePlacesOf(storage, options);
  const local = new LocalTables(given.local);
  const catalog = new Catalog(store, committer, pathsOf(virtual), local);
  const memory = new MemoryBudget(options.cacheBytes);
  const { reader, manifests, removed, onLargeFile } = readersOf(storage, memory, given);
  const running = new Running();
  const presence = await presenceIn(storage, given, running);
  const horizon = new Horizon(running, presence);
  const tableParts = { storage, root, places, manifests, store, committer, memory };
  const tables: Tables = new Tables({
    ...tableParts,
    horizon,
    removed,
    onLargeFile,
    clock: clock.now,
    onCommit: (table, chain, manifest) => following.notice({ table, chain }, manifest),
  });
  const { pool, unpack, threads } = threadsOf(options);
  const indexer = indexerOn(pool);
  const indexing = { store, tables, reader, running, indexer };
  const following = new VersionWork({ ...indexing, ...options.compaction });
  const transactions = new Transactions(store, committer);
  const held = new RequestMemory(options.requestMemory ?? Infinity);
  const heavy = new HeavyWork(pool, memory, held);
  const reading = {
    heavy,
    answerMemory: new AnswerMemory(ANSWERS_BYTES),
    reader,
    maskSecret: maskSecretIn(storage, maskKeyOf(given.data, given.journal), readOnly),
    judged: new RowVerdicts(),
    known: new KnownTables(store),
  };
  const judges = judgingOf(options, heavy, lanceReadsOf(options, storage, root));
  const judge = backfillJudge(judges, tables);
  const filling = { judge, threads: heavy, memory: options.requestMemory ?? Infinity };
  const { retained } = places;
  const managed = managedParts(options, { storage, catalog, store, committer, tables, retained });
  const { buildingLance, compactLance } = lanceWork(managed, judges);
  const jobParts = { store, tables, reader, indexer, local, ...filling };
  const works = jobWorks(jobParts, buildingLance, running);
  const isGone = (name: string) => presence.isGone(name);
  const runner = new JobRunner({ transactions, works, holder: presence.name, isGone });
  const keeper = new JournalKeeper({ storage, folder, store, committer });
  const attend: Attend = (...seen) => following.attend(...seen);
  const working = { ...reading, transactions, runner, attend, held, unpack };
  const built = builtHandlers(options, { ...managed, ...working });
  const found = { ...reading, storage, root, places, memory, manifests };
  const past = pastHandlers({ ...found, local, store: recent.store });
  const handlers = withRecall(withFreshness({ catalog, tables }, built), past);
  const answers = { store, committer, ...timesOf(options, clock) };
  const sweep = new AnswerSweep(answers);
  const backend = new EmbeddedBackend({
    threads: heavy,
    handlers: withVirtualTables(virtual, handlers, reading),
    repeats: new Repeats(answers),
    known: new KnownAnswers(store),
    judging: judges,
    adoption: adoptionOf(options, judges, managed),
    jsonBody: options.jsonBody,
    memory: held,
    health: healthOf(store, journal),
    weakness: () => store.weakness(),
  });
  const files = { storage, root, tables, places, horizon, removed, local };
  const shared = { ...files, store, committer, presence };
  const retention = retentionOf(options, { ...shared, clock: clock.now });
  const more = { library: libraryOf(options), compactLance };
  return {
    backend: new LeasedBackend(backend, running),
    upkeep: readOnly ? null : new Upkeep({ ...shared, catalog, reader, retention, ...more }),
    startWork: (onFault) => {
      reader.onDamage = onFault;
      if (readOnly) return;
      runner.start(onFault);
      following.start(onFault);
      for (const each of [sweep, clock]) each.begin();
      keeper.start(onFault);
    },
    readings: () => readingsOf({ memory, reader, pool, clock, compaction: following.compaction }),
    close: async () => {
      await Promise.all([runner.stop(), following.stop(), keeper.stop(), clock.close()]);
      await sweep.close();
      await running.settled();
      for (const each of [presence, threads, reader, journal]) await each.close();
    },
  };
}

/** Readers of data files and manifests, which report damage, and what follows from new and removed files. */
function readersOf(storage: Storage, memory: MemoryBudget, options: EngineOptions) {
  const reader = new FragmentReader(storage, memory);
  const manifests = new ManifestStore(storage, memory, options.readOnly);
  for (const each of [reader, manifests]) each.onDamagedFile = onDamageOf(options);
  const removed = () => reader.closeRemoved();
  const onLargeFile = (stored: StoredFile) => reader.openSoon(stored);
  return { reader, manifests, removed, onLargeFile };
}

/** The library, or how to get it. */
function libraryOf({ lance }: EngineOptions): LanceLibrary | string {
  return lance?.library ?? lance?.missing ?? 'this catalog was opened without it';
}

function onDamageOf({ onDamage = () => undefined }: EngineOptions): OnDamage {
  return onDamage;
}

/** Threads for heavy work, and one of its own for bodies: a heavy query of their sender must not delay them. */
function threadsOf(options: EngineOptions) {
  const { workers = 0 } = options;
  const pool = new ThreadPool(workers, onDamageOf(options));
  const unpackers = new ThreadPool(Math.min(1, workers));
  const unpack = workers > 0 ? unpackerOn(unpackers) : undefined;
  const close = async (): Promise<void> => {
    await Promise.all([pool.close(), unpackers.close()]);
  };
  return { pool, unpack, threads: { close } };
}

interface Kept extends Pick<
  RetentionParts,
  'storage' | 'store' | 'committer' | 'root' | 'horizon' | 'removed' | 'clock'
> {
  readonly tables: Tables;
  readonly places: TablePlaces;
  readonly presence: Presence;
  readonly local: LocalTables;
}

/** Dependencies of the upkeep of files. */
function retentionOf(options: EngineOptions, engine: Kept): RetentionParts {
  const { tables, places, presence, local, ...parts } = engine;
  const versions = new VersionReader(parts.storage);
  return {
    ...parts,
    journal: journalOf(options),
    maskKey: maskKeyOf(options.data, options.journal),
    managed: options.locations.managed,
    retained: places.retained,
    reader: new RecordReader(parts.store),
    folder: (table) => tables.folder(table),
    named: (folder, record) => versions.named(folder, record),
    waste: tables.waste,
    removing: (table, work) => tables.removing(table, work),
    isHere: (table) => local.isHere(table),
    process: presence.name,
    isAlive: (name) => presence.isAlive(name),
  };
}

function adoptionOf(
  { recordAdoption: record }: EngineOptions,
  judges: Judging,
  parts: Pick<HandlerParts, 'storage' | 'catalog' | 'store' | 'committer' | 'branches'>,
): Adoption {
  const { storage, catalog, store, committer, branches } = parts;
  const versions = new VersionStore(store);
  const judge = adoptionJudge(judges, versions);
  return new Adoption({ storage, catalog, store, committer, versions, branches, judge, record });
}

async function clockOf({ store, clock = Date.now, onSkew }: EngineOptions): Promise<StoreClock> {
  const measured = new StoreClock({ store, machine: clock, onSkew });
  await measured.measure();
  return measured;
}

function timesOf({ repeatMillis = REPEAT_MILLIS }: EngineOptions, { now }: StoreClock) {
  return { windowMillis: repeatMillis, clock: now };
}

/** Reads rows of Lance tables for rules; undefined without the library. */
function lanceReadsOf(
  { lance, store, judgingLimits: limits }: EngineOptions,
  storage: Storage,
  folder: string,
): LanceRowReads | undefined {
  const library = lance?.library;
  if (library === undefined || limits === undefined) return undefined;
  return new LanceRowReads({ library, storage, versions: new VersionStore(store), folder, limits });
}

function judgingOf(
  { rules, clock = Date.now }: EngineOptions,
  threads: HeavyWork,
  lanceRows: LanceRowReads | undefined,
): Judging {
  const [source, secret] = [rules?.source ?? (() => noRules), rules?.secret ?? (() => undefined)];
  return judging(source, secret, clock, rules?.verdicts, threads, lanceRows);
}

type LanceParts = ManagedParts & { readonly lance: LanceAccess | undefined };

type GivenPart = 'storage' | 'catalog' | 'store' | 'committer' | 'tables' | 'retained';

/** Dependencies of operations on Lance tables. */
function managedParts(options: EngineOptions, parts: Pick<ManagedParts, GivenPart>): LanceParts {
  const { storage, store, committer } = parts;
  const manifests = new KnownManifests();
  return {
    ...parts,
    versions: new VersionStore(store),
    branches: new Branches(store, committer),
    tags: new Tags(store, committer, new LanceTagFolder(storage, options.locations.mode)),
    locations: rootsOf(storage, options),
    manifests,
    vending: options.vending,
    lance: options.lance && { ...options.lance, files: new OwnFiles(storage, manifests) },
  };
}

/** Work on Lance tables that no request waits for. */
function lanceWork(parts: LanceParts, judges: Judging) {
  const judge = ({ record }: Job) => jobJudge(judges, 'CreateTableIndex', record.id);
  const library = parts.lance?.library;
  type Line = readonly [ObjectPath, TableRecord, string];
  return {
    buildingLance: buildLanceIndex({ ...parts, judge }),
    compactLance: library && ((...line: Line) => compactLanceLine({ ...parts, library }, ...line)),
  };
}

interface HandlerParts extends LanceParts {
  readonly reader: FragmentReader;
  readonly heavy: HeavyWork;
  readonly answerMemory: AnswerMemory;
  readonly maskSecret: MaskSecret;
  readonly judged: RowVerdicts;
  readonly known: KnownTables;
  readonly transactions: Transactions;
  readonly runner: JobRunner;
  readonly attend: Attend;
  /** Memory of all requests together. */
  readonly held: RequestMemory;
  readonly unpack: IncomingLimits['unpack'];
}

/** Every operation that is built, on tables that exist. */
function builtHandlers(options: EngineOptions, parts: HandlerParts): HandlerTable {
  const { catalog, tables, reader, lance } = parts;
  const { page } = options;
  const writing = writingParts(options, parts);
  const built = {
    ...handlerTable(options, parts, writing),
    ...schemaHandlers({ catalog, tables, reader }),
    ...tableObjectHandlers(parts),
    ...indexHandlers({ ...parts, pageLimit: page }),
    ...indexFileHandlers({ catalog, tables, reader }),
    ...historyHandlers({ ...parts, pageLimit: page }),
    ...workHandlers({ ...parts, page, cacheBytes: options.cacheBytes }),
  };
  if (lance === undefined) return built;
  const { library, instead } = lance;
  const first = { ...parts, ...writing, formatOf: options.formatOf ?? arrow };
  if (library === undefined)
    return withFirstInsert(first, withoutLibrary({ catalog, instead }, built));
  const changing = { ...parts, ...writing, library };
  const changed = withFirstInsert(first, withLanceChanges(changing, built));
  return withLanceIndices({ ...changing, pageLimit: page }, changed);
}

function writingParts({ arrowBody }: EngineOptions, parts: HandlerParts) {
  const { catalog, tables, store, locations, held: memory, unpack } = parts;
  return { catalog, tables, store, locations, maxArrowBytes: arrowBody, memory, unpack };
}

/** The operations that read and write. */
function handlerTable(
  options: EngineOptions,
  parts: HandlerParts,
  writing: ReturnType<typeof writingParts>,
): HandlerTable {
  const { catalog, tables, tags, reader, heavy, answerMemory, maskSecret, judged, known, lance } =
    parts;
  const answering = { heavy, answerMemory, maskSecret, judged, known };
  const reading = { catalog, tables, tags, reader, lance, ...answering };
  const changing = { ...writing, reader, maskSecret };
  return {
    ...catalogHandlers(catalog, tables, tags, options.page, options.vending),
    RenameTable: (call) => renameTable(catalog, tables, call),
    DeregisterTable: (call) => deregisterTable(catalog, tables, call),
    CreateTable: createTable({
      ...writing,
      formatOf: options.formatOf ?? arrow,
      lanceTables: lanceTables({ ...parts, ...writing }),
    }),
    CloneTable: cloneTable({ catalog, tables, tags }),
    InsertIntoTable: insertIntoTable(changing),
    MergeInsertIntoTable: mergeInsertIntoTable(changing),
    UpdateTable: updateTable(changing),
    DeleteFromTable: deleteFromTable(changing),
    QueryTable: queryTable(reading),
    CountTableRows: countTableRows(reading),
    ExplainTableQueryPlan: explainQuery(reading),
    AnalyzeTableQueryPlan: analyzeQuery(reading),
  };
}

function pathsOf(tables: readonly VirtualTable[]): readonly ObjectPath[] {
  return tables.map(({ path }) => path);
}

function healthOf(store: Store, journal: Journal): () => Promise<string | undefined> {
  return async () => {
    if (journal.fault !== undefined) return 'the catalog journal cannot be written';
    return store.get(CATALOG_KEY).then(
      () => undefined,
      (error: unknown) =>
        error instanceof StrangeStore || isStoreDamage(error)
          ? error.message
          : 'the store does not answer',
    );
  };
}
