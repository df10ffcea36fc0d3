import { objectRoot } from '../../storage/object-key.ts';
import { duration, httpUrl, textSetting, type SettingKind } from './config-kinds.ts';
import {
  Fault,
  listKind,
  membersOf,
  onlyKnown,
  readName,
  readTruth,
  readVariable,
  readAs,
  wrong,
  type Members,
  type SettingPlace,
} from './config-members.ts';

/** An object store, as the configuration names it: everything filled in. */
export interface ObjectStoreSetting {
  readonly name: string;
  readonly bucket: string;
  /** Names before each key, with `/` between them; empty for the whole bucket. */
  readonly prefix: string;
  /** Null for AWS. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly path_style: boolean;
  /** Begin of the names of two variables that hold the credentials; null for the chain of the AWS SDK. */
  readonly credentials_env: string | null;
}

/** The list of object stores. */
export const objectStores: SettingKind<readonly ObjectStoreSetting[]> = listKind(readList);

/** The variables of the credentials of an object store. */
export function storeVariables(name: string): { readonly id: string; readonly secret: string } {
  return { id: `${name}_ACCESS_KEY_ID`, secret: `${name}_SECRET_ACCESS_KEY` };
}

/** A location of the configuration in an object store, such as `lake:/lance`. */
const IN_STORE = /^([A-Za-z0-9][\w.-]*):\/(.*)$/s;

/** Names that all clients of object stores write alike, with `/` between them. */
const PLAIN_NAMES = /^(?!\.{1,2}(?:\/|$))[\w.=@+-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.=@+-]+)*$/;

/** The key of a location in an object store; undefined for the path of a folder. */
export function keyOfLocation(
  location: string,
  stores: readonly ObjectStoreSetting[],
): string | undefined {
  const [, store, path = ''] = IN_STORE.exec(location) ?? [];
  const found = stores.find(({ name }) => name === store);
  return found && `${objectRoot(found.bucket, found.prefix)}/${path.replace(/\/$/, '')}`;
}

/** What is wrong with a location of the configuration, as a sentence continues; undefined if nothing is. */
export function locationFault(
  location: string,
  stores: readonly ObjectStoreSetting[],
): string | undefined {
  const [, store, path = ''] = IN_STORE.exec(location) ?? [];
  if (store === undefined) return undefined;
  const found = stores.find(({ name }) => name === store);
  if (found === undefined) return `object_stores has no store ${JSON.stringify(store)}`;
  const names = [...(found.prefix === '' ? [] : [found.prefix]), path.replace(/\/$/, '')];
  if (names.every((each) => PLAIN_NAMES.test(each))) return undefined;
  return `a place in this store is ${store}:/PATH, and PATH and the prefix of the store consist of letters, digits and . _ = @ + -`;
}

function readList(value: unknown): readonly ObjectStoreSetting[] {
  if (!Array.isArray(value)) throw wrong([], value, 'a list of object stores');
  const list = value.map((entry, at) => readStore(entry, at));
  for (const [at, store] of list.entries()) {
    const others = list.slice(0, at);
    if (others.some(({ name }) => name === store.name)) {
      throw wrong([at, 'name'], store.name, 'a name that no other object store has');
    }
    if (others.some((other) => overlap(other, store))) {
      const must = 'a place that does not overlap with that of another object store';
      throw new Fault({ kind: 'wrong', must, at: [at, 'url'], found: urlOf(store) });
    }
  }
  return list;
}

const keys = ['name', 'url', 'endpoint', 'region', 'path_style', 'credentials_env', 'vend'];

function readStore(value: unknown, at: number): ObjectStoreSetting {
  const members = membersOf(value, [at]);
  onlyKnown(members, [at], keys);
  requireNoVending(members, at);
  const place = (key: string): SettingPlace => [at, key];
  return {
    name: readName(members, at),
    ...readUrl(members['url'], place('url')),
    endpoint: readEndpoint(members['endpoint'] ?? null, place('endpoint')),
    region: readAs(textSetting, members['region'] ?? 'us-east-1', place('region')),
    path_style: readTruth(members['path_style'] ?? false, place('path_style')),
    credentials_env: readVariable(members['credentials_env'] ?? null, place('credentials_env')),
  };
}

/** Clients get no credentials of object stores: only the settings that say so are accepted. */
function requireNoVending({ vend }: Members, at: number): void {
  if (vend === undefined || vend === null) return;
  const place = [at, 'vend'];
  const members = membersOf(vend, place);
  onlyKnown(members, place, ['role_arn', 'duration', 'static']);
  readAs(duration, members['duration'] ?? '1h', [...place, 'duration']);
  for (const [key, none] of [
    ['role_arn', null],
    ['static', false],
  ] as const) {
    const value = members[key] ?? none;
    const must = `${none}: the gateway hands out no credentials of object stores`;
    if (value !== none) throw wrong([...place, key], value, must);
  }
}

const URL_FORM =
  /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/(?!\.{1,2}(?:\/|$))[^/\0]+)*)\/?$/;

function readUrl(value: unknown, place: SettingPlace): { bucket: string; prefix: string } {
  const [, bucket, path = ''] = (typeof value === 'string' && URL_FORM.exec(value)) || [];
  if (bucket === undefined) throw wrong(place, value, 'of the form s3://BUCKET/PREFIX');
  return { bucket, prefix: path.slice(1) };
}

function readEndpoint(value: unknown, place: SettingPlace): string | null {
  if (value === null) return null;
  const reading = httpUrl.read(value);
  const url = reading.kind === 'value' ? new URL(reading.value) : undefined;
  if (url?.pathname === '/' && url.search === '') return url.origin;
  // The value is not repeated: it may contain a password.
  const must = 'an address such as https://s3.example.com';
  throw new Fault({ kind: 'wrong', must, at: place, hidden: true });
}

/** Whether one of two object stores lies in the other. */
function overlap(one: ObjectStoreSetting, other: ObjectStoreSetting): boolean {
  // The URIs of objects do not say the endpoint.
  if (one.bucket !== other.bucket) return false;
  const [left, right] = [one, other].map(({ prefix }) => (prefix === '' ? '' : `${prefix}/`));
  return left!.startsWith(right!) || right!.startsWith(left!);
}

function urlOf({ bucket, prefix }: ObjectStoreSetting): string {
  return `s3://${bucket}/${prefix}`;
}
