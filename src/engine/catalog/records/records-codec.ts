import type { ObjectPath } from '../../../protocol/identifier.ts';
import type {
  DroppedRecord,
  NamespaceRecord,
  TableGateway,
  TableKind,
  TableRecord,
  BranchRecord,
  TagRecord,
} from '../../format/records.ts';

/**
 * Records as bytes: JSON with sorted keys, so that equal records are equal
 * bytes and a commit can check that one has not changed.
 */
export function encodeNamespace(record: NamespaceRecord): Uint8Array {
  return encode(record);
}

/** The inverse of `encodeNamespace`. Throws on bytes that are no such record. */
export function decodeNamespace(bytes: Uint8Array): NamespaceRecord {
  const fields = decode(bytes);
  return {
    id: text(fields, 'id'),
    properties: texts(fields, 'properties'),
    createdMillis: number(fields, 'createdMillis'),
  };
}

export function encodeTable(record: TableRecord): Uint8Array {
  return encode(record);
}

/** The inverse of `encodeTable`. Throws on bytes that are no such record. */
export function decodeTable(bytes: Uint8Array): TableRecord {
  return tableOf(decode(bytes));
}

export function encodeDropped(record: DroppedRecord): Uint8Array {
  return encode(record);
}

/** The inverse of `encodeDropped`. Throws on bytes that are no such record. */
export function decodeDropped(bytes: Uint8Array): DroppedRecord {
  const fields = decode(bytes);
  return {
    path: path(fields, 'path'),
    record: tableOf(object(fields['record'], 'record')),
    droppedMillis: number(fields, 'droppedMillis'),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function tableOf(fields: Fields): TableRecord {
  return {
    id: text(fields, 'id'),
    kind: kind(fields, 'kind'),
    location: fields['location'] === null ? null : text(fields, 'location'),
    properties: texts(fields, 'properties'),
    createdMillis: number(fields, 'createdMillis'),
    ...(fields['expires'] === true && { expires: true }),
    ...(fields['gateway'] !== undefined && { gateway: gatewayOf(fields['gateway']) }),
  };
}

function gatewayOf(value: unknown): TableGateway {
  const fields = object(value, 'gateway');
  return { id: text(fields, 'id'), name: text(fields, 'name') };
}

function encode(record: object): Uint8Array {
  return Buffer.from(sorted(record));
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${sorted(item)}`).join(',')}}`;
}

function decode(bytes: Uint8Array): Fields {
  return object(JSON.parse(Buffer.from(bytes).toString()), 'record');
}

function object(value: unknown, name: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw damaged(name);
}

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw damaged(name);
}

function number(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value === 'number') return value;
  throw damaged(name);
}

function kind(fields: Fields, name: string): TableKind {
  const value = fields[name];
  if (value === 'declared' || value === 'engine' || value === 'lance') return value;
  throw damaged(name);
}

function texts(fields: Fields, name: string): Readonly<Record<string, string>> {
  const entries = Object.entries(object(fields[name], name));
  return Object.fromEntries(entries.map(([key, value]) => [key, asText(value, name)]));
}

function path(fields: Fields, name: string): ObjectPath {
  const value = fields[name];
  if (Array.isArray(value)) return value.map((segment: unknown) => asText(segment, name));
  throw damaged(name);
}

function asText(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw damaged(name);
}

function damaged(name: string): Error {
  return new Error(`a catalog record is damaged: its ${name} cannot be read`);
}

type Origin = BranchRecord['lineage'][number];
type Parsed = Omit<BranchRecord, 'lineage'> & {
  readonly lineage: readonly (Omit<Origin, 'version'> & { readonly version: string })[];
};

/** The bytes of a branch's record: JSON, versions as decimal strings so that no reader rounds them. */
export function encodeBranch(record: BranchRecord): Uint8Array {
  const lineage = record.lineage.map((origin) => ({ ...origin, version: String(origin.version) }));
  return Buffer.from(JSON.stringify({ ...record, lineage }));
}

/** The inverse of `encodeBranch`. */
export function decodeBranch(bytes: Uint8Array): BranchRecord {
  const parsed = JSON.parse(Buffer.from(bytes).toString()) as Parsed;
  const lineage = parsed.lineage.map((origin) => ({ ...origin, version: BigInt(origin.version) }));
  return { ...parsed, lineage };
}

/** The bytes of a tag's record: JSON, the version as a decimal string so that no reader rounds it. */
export function encodeTag(record: TagRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ ...record, version: String(record.version) }));
}

/** The inverse of `encodeTag`. */
export function decodeTag(bytes: Uint8Array): TagRecord {
  const parsed = JSON.parse(Buffer.from(bytes).toString()) as Omit<
    TagRecord,
    'version' | 'branch'
  > & {
    readonly version: string;
    readonly branch?: string | null;
  };
  return { ...parsed, branch: parsed.branch ?? null, version: BigInt(parsed.version) };
}
