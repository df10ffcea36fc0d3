import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ArchiveCopies,
  CopiesTooLarge,
  type CopyWindow,
} from '../../audit/archive/archive-copies.ts';
import type { ArchiveListing } from '../../audit/archive/archived-objects.ts';
import { forEachOf } from '../../audit/archive/object-copies.ts';
import { copiesOf, instancesOf } from '../../audit/chain/log-files.ts';
import type { CheckpointSource } from '../../audit/checkpoints/places.ts';
import type { Period } from '../../audit/decided/reader.ts';
import { microsOf } from '../../audit/record/time.ts';
import type { OtherLogs } from '../../audit/search/log-table.ts';
import { publicKeyOf, type PublicKey } from '../../audit/signing/keys.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { isOutage } from '../../storage/storage-error.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Config } from '../config/config-table.ts';
import type { Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import type { DataFolder, ReadDataFolder } from './data-folder.ts';
import type { Start } from './opened.ts';
import { openObjectStore } from './object-stores.ts';
import { objectRoot } from '../../storage/object-key.ts';

/** Time for which a gateway uses a listing of the archive again, in ms. */
const FRESH_MILLIS = 2_000;
/** Requests for statements at a time. */
const AT_ONCE = 8;

/** The object store of an archive, and the key of its folder. */
interface OpenArchive {
  readonly storage: Storage;
  readonly root: string;
  readonly close: () => void;
}

/** The archive of a configuration; undefined if it has none. Nothing is tried. */
async function openArchiveStore(
  { object_stores: settings }: Pick<Config, 'object_stores'>,
  { auditArchive: root, root: spill }: Pick<DataFolder, 'auditArchive' | 'root'>,
): Promise<OpenArchive | undefined> {
  if (root === undefined) return undefined;
  const setting = settings.find(({ bucket, prefix }) =>
    root.startsWith(`${objectRoot(bucket, prefix)}/`),
  );
  if (setting === undefined) return undefined;
  const place = objectRoot(setting.bucket, setting.prefix);
  const storage = await openObjectStore(setting, { spill, root: place });
  return { storage, root, close: () => storage.close() };
}

/** The copies of other gateways' logs in a data folder. */
function copiesIn(
  config: Config,
  { audit }: Pick<DataFolder, 'audit'>,
  { storage, root }: OpenArchive,
  freshMillis = 0,
): ArchiveCopies {
  const bytes = config['audit.archive_cache'];
  return new ArchiveCopies({
    storage,
    root,
    folder: audit,
    copies: copiesOf(audit),
    bytes,
    freshMillis,
  });
}

/** The window of a period, whose times are RFC 3339 in UTC. */
export function windowOfPeriod({ since, until }: Period): CopyWindow {
  const micros = (time: string | undefined) => (time === undefined ? undefined : microsOf(time));
  return { since: micros(since), until: micros(until) };
}

/**
 * Brings the logs of other gateways for a command that reads. If the archive is unavailable, the
 * command says so, goes on with what is here, and exits with 1.
 * @throws UsageError if the period has more than the copies may take
 */
export async function bringArchive(
  config: Config,
  folder: ReadDataFolder,
  window: CopyWindow,
  run: Run,
): Promise<void> {
  const archive = await openArchiveStore(config, folder);
  if (archive === undefined) return;
  try {
    await copiesIn(config, folder, archive).refresh(window);
  } catch (error) {
    if (error instanceof CopiesTooLarge) throw new UsageError(error.message);
    if (!isOutage(error)) throw error;
    run.code = 1;
    run.output.note(
      `the records of other gateways may be missing, because the audit archive cannot be read: ${error.message}`,
    );
  } finally {
    archive.close();
  }
}

/** The archive of a gateway. */
export interface ArchivedLogs {
  readonly archive: OpenArchive;
  /** The logs of other gateways, for the console and `system$audit`. */
  readonly logs: OtherLogs & {
    /** Brings what a reading of a period needs. @throws CatalogError */
    readonly prepare: (window: CopyWindow) => Promise<void>;
  };
}

/** Undefined if there is no archive. */
export async function openArchivedLogs(
  { config, opened }: Pick<Start, 'config' | 'opened'>,
  folder: DataFolder,
): Promise<ArchivedLogs | undefined> {
  const archive = await openArchiveStore(config, folder);
  if (archive === undefined) return undefined;
  opened.add(() => archive.close());
  const copies = copiesIn(config, folder, archive, FRESH_MILLIS);
  const logs = {
    refresh: () => forCaller(copies.list()),
    bring: (path: string) => forCaller(copies.bringPath(path)),
    prepare: (window: CopyWindow) => forCaller(copies.refresh(window)),
  };
  return { archive, logs };
}

async function forCaller(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof CopiesTooLarge) throw new CatalogError('InvalidInput', error.message);
    if (!isOutage(error)) throw error;
    throw new CatalogError(
      'ServiceUnavailable',
      `the audit archive cannot be read: ${error.message}`,
    );
  }
}

/** The archived logs for a verification, which reads every object anew. */
export interface ArchiveToVerify {
  /** Instances that are in the archive alone: those of other gateways, and of a folder that was lost. */
  readonly instances: readonly string[];
  /** Instances of the own folder that are in the archive as well. */
  readonly own: readonly string[];
  /** Texts of start statements, by instance. */
  readonly starts: ReadonlyMap<string, string>;
  readonly checkpoints: CheckpointSource;
  readonly keys: readonly PublicKey[];
  /** Folder with the log of the instances. */
  readonly folder: string;
  readonly bring: (instance: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Undefined if there is no archive. @throws the storage's error */
export async function archiveToVerify(
  config: Config,
  folder: ReadDataFolder,
): Promise<ArchiveToVerify | undefined> {
  const archive = await openArchiveStore(config, folder);
  if (archive === undefined) return undefined;
  const temporary = await mkdtemp(join(tmpdir(), 'arrowgate-audit-'));
  const close = async (): Promise<void> => {
    archive.close();
    await rm(temporary, { recursive: true, force: true });
  };
  try {
    const { storage, root } = archive;
    const copies = join(temporary, 'audit');
    const bytes = config['audit.archive_cache'];
    const audit = folder.audit;
    const all = new ArchiveCopies({ storage, root, folder: audit, own: true, copies, bytes });
    const listing = await all.list();
    const bring = async (instance: string): Promise<string> => {
      await all.bring(instance);
      return copies;
    };
    const here = new Set(await instancesOf(audit));
    const archived = await instancesOf(copies);
    const others = archived.filter((instance) => !here.has(instance));
    const own = archived.filter((instance) => here.has(instance));
    const statements = await statementsOf(storage, listing, others);
    return { ...statements, own, folder: copies, bring, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function statementsOf(
  storage: Storage,
  { instances: archived, keys: published }: ArchiveListing,
  instances: readonly string[],
): Promise<Pick<ArchiveToVerify, 'instances' | 'starts' | 'checkpoints' | 'keys'>> {
  const starts = new Map<string, string>();
  const checkpoints: string[] = [];
  const keys: PublicKey[] = [];
  const read = async (key: string): Promise<string> => (await storage.read(key)).toString();
  await forEachOf(instances, AT_ONCE, async (instance) => {
    const { start, checkpoint } = archived.get(instance) ?? {};
    if (start !== undefined) starts.set(instance, await read(start));
    if (checkpoint !== undefined) checkpoints.push(await read(checkpoint));
  });
  for (const [id, key] of published) {
    const found = publicKeyOf(await read(key));
    if (found?.id === id) keys.push(found);
  }
  const source = { name: 'the archive', all: async () => checkpoints };
  return { instances, starts, checkpoints: source, keys };
}
