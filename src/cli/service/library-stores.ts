import type { AccessOf } from '../../lance/lance-rows.ts';
import type { LibraryStores } from '../../lance/store-looks.ts';
import type { LibraryEnvironment } from '../../lance/library-process.ts';
import type { BucketCredentials } from '../../storage/bucket/bucket-place.ts';
import { objectRoot, storeRoot, wireLocation } from '../../storage/object-key.ts';
import {
  Unvendable,
  type VendedCredentials,
  type VendingStores,
} from '../../storage/vending/credential-vendor.ts';
import { libraryCertificates, processEnvironment } from '../config/config-environment.ts';
import type { ObjectStoreSetting } from '../config/config-object-stores.ts';
import { openObjectStore } from './object-stores.ts';
import type { Opened } from './opened.ts';

/** Bounds of the library's own attempts: the gateway has reached the store just before. Seconds. */
const ATTEMPTS = { client_max_retries: '3', client_retry_timeout: '10' };

/** The name of the library's sessions. No caller has it. */
const SUBJECT = 'gateway library';

/**
 * How the Lance library reaches tables in object stores: with a session for the one table where the store
 * has a security token service, else with the credentials that the gateway has at that moment.
 */
export function libraryStores(
  settings: readonly ObjectStoreSetting[],
  vending: VendingStores,
  opened: Opened,
): LibraryStores {
  const stores = settings.map((setting) => {
    const root = objectRoot(setting.bucket, setting.prefix);
    let store: ReturnType<typeof openObjectStore> | undefined;
    opened.add(async () => (await store)?.close());
    const open = () => (store ??= openObjectStore(setting, { spill: '/' }));
    const credentials = async (): Promise<BucketCredentials> => (await open()).credentials();
    return { setting, root, credentials, look: async () => (await open()).look() };
  });
  const storeOf = (location: string) => stores.find(({ root }) => location.startsWith(`${root}/`));
  const access: AccessOf = async (location) => {
    const found = storeOf(location);
    if (found === undefined) return undefined;
    const { name } = found.setting;
    const session = await sessionOf(vending, found.setting, location);
    const own = session ?? clientOptions(found.setting, await found.credentials());
    const options = { ...ATTEMPTS, ...own };
    const folder = location.slice(storeRoot(location).length);
    return { name, uri: wireLocation(location), folder, options };
  };
  return { access, look: async (location) => storeOf(location)?.look() };
}

/** Options with credentials of one table; undefined where there can be none. @throws as `IssueCredentials` */
async function sessionOf(
  vending: VendingStores,
  { vend }: ObjectStoreSetting,
  location: string,
): Promise<VendedCredentials['options'] | undefined> {
  const issue = vend.role_arn === null ? null : vending(location)?.issue;
  const request = {
    location,
    table: location,
    subject: SUBJECT,
    access: 'read and commit',
  } as const;
  try {
    return (await issue?.(request))?.options;
  } catch (error) {
    if (error instanceof Unvendable) return undefined;
    throw error;
  }
}

/** The options with which a Lance client reaches a store. */
export function clientOptions(
  { endpoint, region, path_style: isPathStyle, bucket }: ObjectStoreSetting,
  { id, secret, token }: BucketCredentials,
): Readonly<Record<string, string>> {
  return {
    aws_access_key_id: id,
    aws_secret_access_key: secret,
    ...(token !== null && { aws_session_token: token }),
    aws_region: region,
    ...(endpoint !== null && {
      aws_endpoint: isPathStyle ? endpoint : hostOf(endpoint, bucket),
      aws_virtual_hosted_style_request: String(!isPathStyle),
      allow_http: String(endpoint.startsWith('http:')),
    }),
  };
}

/** The address of a bucket that is in the host of requests. */
function hostOf(endpoint: string, bucket: string): string {
  return endpoint.replace('://', `://${bucket}.`);
}

/** The environment of the library where it reaches stores over TLS; undefined where it does not. */
export function libraryEnvironment(
  settings: readonly ObjectStoreSetting[],
): LibraryEnvironment | undefined {
  const overTls = settings.some(({ endpoint }) => endpoint?.startsWith('http:') !== true);
  return overTls ? libraryCertificates(processEnvironment()) : undefined;
}
