import type { Logger } from 'pino';
import { bucketLimits } from '../../storage/bucket/bucket-calls.ts';
import type { BucketStorage } from '../../storage/bucket/bucket-storage.ts';
import { StorageRefused, StorageUnavailable } from '../../storage/storage-error.ts';
import { processEnvironment, silenceSdk, storeCredentials } from '../config/config-environment.ts';
import type { ObjectStoreSetting } from '../config/config-object-stores.ts';
import { UsageError } from '../output/service-error.ts';

/** How long a start waits for a call to an object store. */
export const STORE_TRIAL_MILLIS = 5_000;

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
      const store = await openObjectStore(setting, spill);
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

/** The client of object stores is loaded by those who have one: it costs a start some 100 ms. */
async function openObjectStore(
  { name, bucket, prefix, endpoint, region, path_style, credentials_env }: ObjectStoreSetting,
  spill: string,
): Promise<BucketStorage> {
  silenceSdk();
  const { BucketStorage } = await import('../../storage/bucket/bucket-storage.ts');
  const credentials = storeCredentials({ name, credentials_env }, processEnvironment());
  const limits = { ...bucketLimits, deadline: STORE_TRIAL_MILLIS, attempt: STORE_TRIAL_MILLIS };
  const place = { name, bucket, prefix, endpoint, region, pathStyle: path_style, credentials };
  return new BucketStorage({ ...place, limits }, { spill });
}
