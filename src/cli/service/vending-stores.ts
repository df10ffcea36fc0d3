import type {
  IssueCredentials,
  VendingStore,
  VendingStores,
} from '../../storage/vending/credential-vendor.ts';
import { objectRoot } from '../../storage/object-key.ts';
import { processEnvironment, silenceSdk, storeCredentials } from '../config/config-environment.ts';
import type { ObjectStoreSetting } from '../config/config-object-stores.ts';
import { clientOptions } from './library-stores.ts';
import { openObjectStore } from './object-stores.ts';
import type { Opened } from './opened.ts';

/** How callers get credentials of tables in the configured object stores. */
export async function openVending(
  settings: readonly ObjectStoreSetting[],
  opened: Opened,
): Promise<VendingStores> {
  const stores = await Promise.all(
    settings.map(async (setting): Promise<VendingStore> => {
      const root = objectRoot(setting.bucket, setting.prefix);
      return { name: setting.name, root, issue: await issuerOf(setting, opened) };
    }),
  );
  return (location) => stores.find(({ root }) => location.startsWith(`${root}/`));
}

async function issuerOf(
  setting: ObjectStoreSetting,
  opened: Opened,
): Promise<IssueCredentials | null> {
  const { role_arn: arn, static: isStatic } = setting.vend;
  if (isStatic) return staticCredentials(setting);
  return arn === null ? null : sessionsOf(setting, arn, opened);
}

/** The credentials of the store itself, for every caller. */
function staticCredentials(setting: ObjectStoreSetting): IssueCredentials {
  const own = storeCredentials(setting, processEnvironment());
  const options = own === null ? {} : clientOptions(setting, { ...own, token: null });
  return async () => ({ options, untilMillis: null });
}

/** The client of the service is loaded by those who have one. */
async function sessionsOf(
  setting: ObjectStoreSetting,
  arn: string,
  opened: Opened,
): Promise<IssueCredentials> {
  silenceSdk();
  const { StsClient } = await import('../../storage/vending/sts-client.ts');
  const { sessionCredentials } = await import('../../storage/vending/session-credentials.ts');
  const { name, region, vend } = setting;
  const store = await openObjectStore(setting, { spill: '/' });
  opened.add(() => store.close());
  const { duration, endpoint } = vend;
  const role = { name, region, arn, duration, endpoint: endpoint ?? setting.endpoint };
  const client = new StsClient(role, () => store.credentials());
  opened.add(() => client.close());
  return sessionCredentials({
    assume: (session) => client.assume(session),
    optionsOf: (credentials) => clientOptions(setting, credentials),
  });
}

/** Warnings about object stores whose own credentials are handed out. */
export function vendingWarnings(settings: readonly ObjectStoreSetting[]): readonly string[] {
  return settings
    .filter(({ vend }) => vend.static)
    .map(
      ({ name }) =>
        `vend.static of the object store ${name}: whoever may read or commit to one of its tables gets the credentials of the store itself, which do not end and open all of its tables; configure vend.role_arn if the store has a security token service`,
    );
}
