import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { BucketStorage } from '../../../src/storage/bucket/bucket-storage.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import { objectRoot } from '../../../src/storage/object-key.ts';
import { RoutedStorage } from '../../../src/storage/routed-storage.ts';
import { BucketServer, hasBuckets } from '../../support/bucket-server.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { testFolders } from '../../support/folder.ts';
import { batchCommits } from '../handlers/batch-commits.ts';
import { managedBranches } from '../handlers/managed-branches.ts';
import { managedUpkeep } from './managed-upkeep.ts';
import { createsVersions } from '../handlers/versions/create-version.ts';

const newFolder = testFolders();

/** `npm test` runs a part of the suites. */
const isAll = process.env['ARROWGATE_TEST_BUCKETS'] === 'all';

describe.runIf(hasBuckets)('Lance tables in a bucket', () => {
  let server: BucketServer;
  let bucket: BucketStorage;
  let root: string;

  beforeAll(async () => {
    server = await BucketServer.start('seaweedfs');
    const place = server.place();
    root = objectRoot(place.bucket, place.prefix);
    bucket = new BucketStorage(place, { spill: await newFolder(), root });
  });

  afterAll(async () => {
    bucket.close();
    await server.stop();
  });

  /** An engine whose Lance tables lie in a place of the bucket that nothing else uses. */
  async function openEngine(): Promise<TestEngine> {
    const own = `${root}/${randomUUID()}`;
    const storage = new RoutedStorage(new LocalStorage(), [{ root, storage: bucket }]);
    return freshEngine({}, undefined, {
      storage,
      managed: `${own}/lance`,
      allowed: `${own}/allowed`,
    });
  }

  managedUpkeep('upkeep', openEngine);
  createsVersions('versions', openEngine);
  if (!isAll) return;
  managedBranches('branches', openEngine);
  batchCommits('batches', openEngine);
});
