import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { isJsonObject, type JsonValue } from './json.ts';

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
    const missing = shape.required?.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) return `${nameOf(join(path, missing))} is missing`;
  }
  const bad = members(shape, value, path).find(([inner, member]) => !Check(models, inner, member));
  return bad === undefined ? undefined : faultAt(models, ...bad);
}

/** The parts of a value, each with its schema and its path. */
function members(shape: Shape, value: JsonValue, path: string): [Shape, JsonValue, string][] {
  const { items } = shape;
  if (Array.isArray(value)) {
    return items === undefined ? [] : value.map((item, at) => [items, item, `${path}[${at}]`]);
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]): [Shape, JsonValue, string][] => {
    const inner = memberShape(shape, name);
    return inner === undefined ? [] : [[inner, member, join(path, name)]];
  });
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

/** What a value is, without the text of a string: it may hold a secret. */
function describe(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'a string';
  return typeof value === 'boolean' ? `${value}` : `the number ${value}`;
}
