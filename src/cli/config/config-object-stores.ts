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
  readonly vend: VendSetting;
}

/** How clients get credentials of an object store. */
export interface VendSetting {
  /** The role whose sessions they get; null for none. */
  readonly role_arn: string | null;
  /** Of a session, in ms. */
  readonly duration: number;
  /** Whether they get the credentials of the store itself. */
  readonly static: boolean;
  /** Address of the security token service; null for that of the store. */
  readonly endpoint: string | null;
}

/** The list of object stores. */
export const objectStores: SettingKind<readonly ObjectStoreSetting[]> = listKind(
  '[{ name: lake, url: "s3://bucket/prefix" }]',
  readList,
);

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
  const place = (key: string): SettingPlace => [at, key];
  const credentials = readVariable(members['credentials_env'] ?? null, place('credentials_env'));
  return {
    name: readName(members, at),
    ...readUrl(members['url'], place('url')),
    endpoint: readEndpoint(members['endpoint'] ?? null, place('endpoint')),
    region: readAs(textSetting, members['region'] ?? 'us-east-1', place('region')),
    path_style: readTruth(members['path_style'] ?? false, place('path_style')),
    credentials_env: credentials,
    vend: readVend(members['vend'] ?? {}, place('vend'), credentials !== null),
  };
}

/** What AWS allows. */
const SHORTEST_SESSION = 15 * 60_000;
const LONGEST_SESSION = 12 * 3_600_000;

/** @param isNamed Whether the store has credentials of its own, which can be handed out. */
function readVend(value: unknown, place: SettingPlace, isNamed: boolean): VendSetting {
  const members = membersOf(value, place);
  onlyKnown(members, place, ['role_arn', 'duration', 'static', 'endpoint']);
  const at = (key: string): SettingPlace => [...place, key];
  const role = members['role_arn'] ?? null;
  const isStatic = readTruth(members['static'] ?? false, at('static'));
  if (isStatic && role !== null) {
    throw wrong(at('static'), true, 'false where role_arn names a role');
  }
  if (isStatic && !isNamed) throw wrong(at('static'), true, 'false without credentials_env');
  return {
    role_arn: role === null ? null : readAs(textSetting, role, at('role_arn')),
    duration: readSession(members['duration'] ?? '1h', at('duration')),
    static: isStatic,
    endpoint: readEndpoint(members['endpoint'] ?? null, at('endpoint')),
  };
}

function readSession(value: unknown, place: SettingPlace): number {
  const millis = readAs(duration, value, place);
  if (millis >= SHORTEST_SESSION && millis <= LONGEST_SESSION) return millis;
  throw wrong(place, value, 'from 15m to 12h');
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
