import type { Logger } from 'pino';
import { bucketLimits, type BucketLimits } from '../../storage/bucket/bucket-calls.ts';
import type { BucketOptions, BucketStorage } from '../../storage/bucket/bucket-storage.ts';
import { objectRoot } from '../../storage/object-key.ts';
import { RoutedStorage } from '../../storage/routed-storage.ts';
import { StorageRefused, StorageUnavailable } from '../../storage/storage-error.ts';
import { processEnvironment, silenceSdk, storeCredentials } from '../config/config-environment.ts';
import type { ObjectStoreSetting } from '../config/config-object-stores.ts';
import type { Config } from '../config/config-table.ts';
import { UsageError } from '../output/service-error.ts';
import { disk, type DataFolder } from './data-folder.ts';

/** How long a start waits for a call to an object store. */
export const STORE_TRIAL_MILLIS = 5_000;

const trialLimits: BucketLimits = {
  ...bucketLimits,
  deadline: STORE_TRIAL_MILLIS,
  attempt: STORE_TRIAL_MILLIS,
};

/** Dependencies of a trial. */
interface TrialParts {
  /** Folder of the disk for temporary objects. */
  readonly spill: string;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Tries the object stores of a configuration. One that is unavailable is reported in the log.
 * @throws UsageError for one that refuses the gateway or does not do what it needs
 */
export async function tryObjectStores(
  settings: readonly ObjectStoreSetting[],
  { spill, log }: TrialParts,
): Promise<void> {
  for (const fault of await faultsOf(settings, spill, (store) => store.probe())) log.warn(fault);
}

/**
 * Which object stores of a configuration are unavailable. Nothing is written to them.
 * @throws UsageError for one that refuses the gateway
 */
export async function objectStoreFaults(
  settings: readonly ObjectStoreSetting[],
  spill: string,
): Promise<readonly string[]> {
  return faultsOf(settings, spill, (store) => store.look());
}

async function faultsOf(
  settings: readonly ObjectStoreSetting[],
  spill: string,
  look: (store: BucketStorage) => Promise<void>,
): Promise<readonly string[]> {
  const faults = await Promise.all(
    settings.map(async (setting) => {
      const store = await openObjectStore(setting, { spill }, trialLimits);
      try {
        await look(store);
        return [];
      } catch (error) {
        if (error instanceof StorageRefused) throw new UsageError(error.message);
        if (error instanceof StorageUnavailable) return [error.message];
        throw error;
      } finally {
        store.close();
      }
    }),
  );
  return faults.flat();
}

/** A storage of folders and object stores. */
export interface OpenStorage {
  readonly storage: RoutedStorage;
  /** The object stores of the configuration, in its order. */
  readonly stores: readonly BucketStorage[];
  /** Closes the connections to the object stores. */
  readonly close: () => void;
}

/** The storage of a configuration. Nothing is tried. */
export async function openStorage(
  { object_stores: settings }: Pick<Config, 'object_stores'>,
  { root: spill }: Pick<DataFolder, 'root'>,
): Promise<OpenStorage> {
  const mounts = await Promise.all(
    settings.map(async (setting) => {
      const root = objectRoot(setting.bucket, setting.prefix);
      return { root, storage: await openObjectStore(setting, { spill, root }) };
    }),
  );
  const close = (): void => mounts.forEach(({ storage }) => storage.close());
  const stores = mounts.map(({ storage }) => storage);
  return { storage: new RoutedStorage(disk, mounts), stores, close };
}

/** The client of object stores is loaded by those who have one: it costs a start some 100 ms. */
export async function openObjectStore(
  setting: ObjectStoreSetting,
  options: BucketOptions,
  limits: BucketLimits = bucketLimits,
): Promise<BucketStorage> {
  silenceSdk();
  const { BucketStorage } = await import('../../storage/bucket/bucket-storage.ts');
  const { name, bucket, prefix, endpoint, region, path_style: pathStyle } = setting;
  const credentials = storeCredentials(setting, processEnvironment());
  const place = { name, bucket, prefix, endpoint, region, pathStyle, credentials, limits };
  return new BucketStorage(place, options);
}
