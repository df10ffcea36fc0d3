import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { isJsonObject, type JsonValue } from '../json.ts';

/** What this file reads of a schema. */
interface Shape extends TSchema {
  readonly $ref?: string;
  readonly expects?: string;
  readonly anyOf?: readonly Shape[];
  readonly type?: string;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape | boolean;
}

/** The models that a schema may refer to, by name. */
export type ModelTable = Readonly<Record<string, TSchema>>;

/** One sentence about the first thing in a value that does not fit the schema. */
export function explainFault(models: ModelTable, schema: TSchema, value: JsonValue): string {
  return faultAt(models, schema, value, '');
}

function faultAt(models: ModelTable, schema: Shape, value: JsonValue, path: string): string {
  const shape = resolved(models, schema);
  return (
    faultWithin(models, shape, value, path) ??
    `${nameOf(path)} must be ${shape.expects ?? 'something else'}, not ${describe(value)}`
  );
}

/** The shape behind a reference, or behind "or null". */
function resolved(models: ModelTable, schema: Shape): Shape {
  const { $ref, anyOf } = schema;
  const referred = $ref === undefined ? undefined : models[$ref];
  if (referred !== undefined) return resolved(models, referred);
  const shapes = anyOf?.filter((shape) => shape.type !== 'null');
  return schema.expects === undefined && shapes?.length === 1
    ? resolved(models, shapes[0]!)
    : schema;
}

function faultWithin(
  models: ModelTable,
  shape: Shape,
  value: JsonValue,
  path: string,
): string | undefined {
  if (isJsonObject(value)) {
    const missing = shape.required?.find((name) => (value[name] ?? null) === null);
    if (missing !== undefined) return `${nameOf(join(path, missing))} is missing`;
  }
  for (const bad of suspects(shape, value, path)) {
    const [inner, member] = bad;
    if (!Check(models, inner, checkable(member))) return faultAt(models, ...bad);
  }
  return undefined;
}

/** A part of a value with its schema and its path. */
type Part = [Shape, JsonValue, string];

/** Parts of one value that are checked; of the others, only those of another kind than the first. */
const MOST_CHECKED = 1024;

function* suspects(shape: Shape, value: JsonValue, path: string): Generator<Part> {
  let first: string | undefined;
  let count = 0;
  for (const [name, member] of entriesOf(value)) {
    const inner = Array.isArray(value) ? shape.items : memberShape(shape, String(name));
    if (inner === undefined || isSilent(value, member)) continue;
    first ??= typeof member;
    if (++count > MOST_CHECKED && typeof member === first) continue;
    yield [inner, member, Array.isArray(value) ? `${path}[${name}]` : join(path, String(name))];
  }
}

/** A member that is null counts as absent. */
function isSilent(value: JsonValue, member: JsonValue): boolean {
  return member === null && !Array.isArray(value);
}

function entriesOf(value: JsonValue): Iterable<[number | string, JsonValue]> {
  if (Array.isArray(value)) return value.entries();
  return isJsonObject(value) ? Object.entries(value) : [];
}

function memberShape(shape: Shape, name: string): Shape | undefined {
  const { properties, additionalProperties } = shape;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

function nameOf(path: string): string {
  return path === '' ? 'the body' : `the field ${JSON.stringify(path)}`;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Describes a value without the text of a string, which may be secret. */
function describe(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'a string';
  return typeof value === 'boolean' ? `${value}` : `the number ${value}`;
}

/** Of longer lists few of the numbers are checked. */
const LONG_LIST = 1024;

/**
 * A value as it is checked. Clients write null for what they leave out,
 * whatever the specification says of the field. A value without nulls and
 * long lists of numbers is not copied; of such a list few numbers are left.
 */
export function checkable(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return checkableList(value);
  if (!isJsonObject(value)) return value;
  let kept: Record<string, JsonValue> | undefined;
  for (const [key, member] of Object.entries(value)) {
    const given = checkable(member);
    if (given === member && member !== null) continue;
    kept ??= { ...value };
    if (member === null) delete kept[key];
    else kept[key] = given;
  }
  return kept ?? value;
}

function checkableList(whole: JsonValue[]): JsonValue[] {
  const list = whole.length > LONG_LIST ? withFewNumbers(whole) : whole;
  let kept: JsonValue[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const entry = list[at]!;
    if (typeof entry !== 'object' || entry === null) continue;
    const given = checkable(entry);
    if (given === entry) continue;
    kept ??= [...list];
    kept[at] = given;
  }
  return kept ?? list;
}

/**
 * A list with only those of its numbers that decide what a model says of all: the least,
 * the greatest and a fraction.
 */
function withFewNumbers(list: readonly JsonValue[]): JsonValue[] {
  const kept: JsonValue[] = [];
  let [least, greatest, fraction] = [Infinity, -Infinity, 0];
  for (const entry of list) {
    if (typeof entry !== 'number') {
      kept.push(entry);
      continue;
    }
    if (entry < least) least = entry;
    if (entry > greatest) greatest = entry;
    if (fraction === 0 && !Number.isInteger(entry)) fraction = entry;
  }
  if (least <= greatest) kept.push(least, greatest);
  if (fraction !== 0) kept.push(fraction);
  return kept;
}
