import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { openEngine, type Engine, type EngineOptions } from '../../engine/engine.ts';
import type { RecordAdoption } from '../../engine/versions/managed/adoption.ts';
import type { RecordMerge } from '../../engine/upkeep/jobs/background-compaction.ts';
import type { RulesOptions } from '../../engine/rules/commit-judge.ts';
import { logTable, type OtherLogs } from '../../audit/search/log-table.ts';
import { openNotes, openStore, openStoreForReading } from '../../store/open/open-store.ts';
import { formatOfConfig } from '../config/config-formats.ts';
import { keyOfLocation } from '../config/config-object-stores.ts';
import type { Config } from '../config/config-table.ts';
import { managedMode } from '../config/file-modes.ts';
import type { OnAvailability } from '../../store/redis/client.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { isStoreDamage, StoreError } from '../../store/store-error.ts';
import type { StoreIntegrity } from './store-integrity.ts';
import { storeOf, type DataFolder } from './data-folder.ts';
import { sharedNothing } from './shared-nothing.ts';
import { openStorage, type OpenStorage } from './object-stores.ts';
import type { Opened } from './opened.ts';
import type { OpenedReading } from './read-only.ts';
import { descriptorLimit, threadsWithin } from '../../storage/descriptors.ts';
import type { Store } from '../../store/store.ts';

/** Additions of a gateway to the catalog that commands open. */
export interface CatalogWatch {
  readonly rules?: RulesOptions;
  readonly recordAdoption?: RecordAdoption;
  readonly recordMerge?: RecordMerge;
  /** Called when Redis becomes unavailable, and when it is available again. */
  readonly onAvailability?: OnAvailability;
  /** Learns of damage of the store. Without it, the keys are compared before this resolves. */
  readonly integrity?: StoreIntegrity;
  /** Called with the store once it is open. */
  readonly onStore?: (store: Store) => void;
  /** Called with the object stores of the configuration once they are open. */
  readonly onObjectStores?: (stores: OpenStorage['stores']) => void;
  /** Called when the clocks of this machine and of the store begin to differ, and when they agree again. */
  readonly onSkew?: EngineOptions['onSkew'];
  /** Called with each read of a table's file that does not match its seal. */
  readonly onDamage?: EngineOptions['onDamage'];
  /** How the rows of Lance tables are read. */
  readonly lance?: EngineOptions['lance'];
  /** How callers get credentials of tables in object stores. */
  readonly vending?: EngineOptions['vending'];
  /** The audit logs of other gateways, if there is an archive. */
  readonly others?: OtherLogs | undefined;
}

/** Opens the store and the engine of a data folder; the caller closes them. */
export async function openCatalog(
  config: Config,
  folder: DataFolder,
  opened: Opened,
  {
    rules,
    recordAdoption,
    recordMerge,
    onAvailability,
    onStore,
    onObjectStores,
    integrity,
    onSkew,
    onDamage,
    lance,
    vending,
    others,
  }: CatalogWatch = {},
): Promise<Engine> {
  const place = { ...storeOf(config, folder), waitMillis: config['coordination.wait'] };
  const store = await openStore({
    ...place,
    onAvailability: (isAvailable) => {
      onAvailability?.(isAvailable);
      // Another server may have taken over.
      if (isAvailable) void integrity?.compare(store);
    },
    onDamage: (damage) => integrity?.report(damage),
  });
  opened.add(() => store.close());
  onStore?.(store);
  const bound = rules && { ...rules, verdicts: await openNotes(place, 'verdicts') };
  opened.add(async () => bound?.verdicts.close());
  const { storage, stores, close } = await openStorage(config, folder);
  opened.add(close);
  onObjectStores?.(stores);
  const engine = await openEngine({
    ...engineOptions(config, folder, store, others),
    ...(await sharedNothing(config, folder)),
    storage,
    ...(bound !== undefined && { rules: bound }),
    ...(recordAdoption !== undefined && { recordAdoption }),
    compaction: { fewest: config['compaction.fragments'], record: recordMerge },
    onSkew,
    ...(onDamage !== undefined && { onDamage }),
    ...(lance !== undefined && { lance }),
    vending,
  });
  opened.add(() => engine.close());
  opened.add(() => integrity?.close());
  // Commands that write must not take a lost key for an absent one.
  if (integrity === undefined) await store.checkKeys?.().catch(unlessUnavailable);
  else await integrity.compare(store);
  return engine;
}

/** Opens the catalog of a data folder that cannot be written, for reading. */
export async function openReadingCatalog(
  config: Config,
  folder: DataFolder,
  { onSkew, onDamage, onObjectStores, integrity, lance, vending, others }: CatalogWatch,
): Promise<OpenedReading> {
  const store = await openStoreForReading({
    ...storeOf(config, folder),
    onDamage: (damage) => integrity?.report(damage),
  });
  const { storage, stores, close } = await openStorage(config, folder);
  onObjectStores?.(stores);
  try {
    const engine = await openEngine({
      ...engineOptions(config, folder, store, others),
      ...(await sharedNothing(config, folder)),
      storage,
      onSkew,
      ...(onDamage !== undefined && { onDamage }),
      ...(lance !== undefined && { lance }),
      vending,
      readOnly: true,
    });
    // It reports what it finds; a failure is one of the reads, which report it too.
    const compared = store.checkKeys?.().catch(() => undefined);
    return {
      engine,
      close: async () => {
        await compared;
        await store.close();
        return { rest: engine.close().finally(close) };
      },
    };
  } catch (error) {
    close();
    await store.close();
    throw error;
  }
}

function workersOf({ workers }: Config): number {
  return workers === 'auto' ? Math.max(1, availableParallelism() - 1) : workers;
}

/** What every engine of a configuration has. */
function engineOptions(
  config: Config,
  folder: DataFolder,
  store: Store,
  others: OtherLogs | undefined,
): EngineOptions {
  return {
    data: folder.root,
    store,
    locations: {
      managed: folder.lance,
      mode: managedMode(config),
      allowed: config['locations.allowed'].map(
        (place) => keyOfLocation(place, config.object_stores) ?? resolve(place),
      ),
    },
    cacheBytes: config['cache.bytes'],
    workers: threadsWithin(descriptorLimit, workersOf(config)),
    jsonBody: config['limits.json_body'],
    arrowBody: config['limits.arrow_body'],
    requestMemory: config['budget.memory'],
    page: config['limits.page'],
    judgingLimits: {
      bytes: config['lance.rules.bytes'],
      millis: config['lance.rules.time'],
    },
    formatOf: formatOfConfig(config['tables.formats'], config['tables.format']),
    repeatMillis: config['idempotence.window'],
    virtual: [logTable(folder.audit, others)],
  };
}

/** The engine reports a store that is unavailable, or that is not this catalog's. */
function unlessUnavailable(error: unknown): void {
  const isKnown =
    error instanceof StoreError ? !isStoreDamage(error) : error instanceof CatalogError;
  if (!isKnown) throw error;
}
