import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { isJsonObject, type JsonValue } from '../json.ts';

/** The read part of a schema. */
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
  if (Array.isArray(value)) {
    if (shape.items !== undefined) yield* suspectEntries(shape.items, value, path);
    return;
  }
  if (!isJsonObject(value)) return;
  let first: string | undefined;
  let count = 0;
  for (const [name, member] of Object.entries(value)) {
    const inner = memberShape(shape, name);
    // A member that is null counts as absent.
    if (inner === undefined || member === null) continue;
    first ??= typeof member;
    if (++count > MOST_CHECKED && typeof member === first) continue;
    yield [inner, member, join(path, name)];
  }
}

/** The same of a list, which may have millions of entries. */
function* suspectEntries(inner: Shape, list: readonly JsonValue[], path: string): Generator<Part> {
  const first = typeof list[0];
  for (let at = 0; at < list.length; at++) {
    const entry = list[at]!;
    if (at < MOST_CHECKED || typeof entry !== first) yield [inner, entry, `${path}[${at}]`];
  }
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

/** Of longer lists only some numbers are checked. */
const LONG_LIST = 1024;

/**
 * A value as it is checked. Clients write null for what they leave out,
 * whatever the specification says of the field. A value without nulls and
 * long lists of numbers is not copied; of such a list few numbers are left.
 */
export function checkable(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return checkableList(value);
  if (!isJsonObject(value)) return value;
  let retained: Record<string, JsonValue> | undefined;
  for (const [key, member] of Object.entries(value)) {
    const given = checkable(member);
    if (given === member && member !== null) continue;
    retained ??= { ...value };
    if (member === null) delete retained[key];
    else retained[key] = given;
  }
  return retained ?? value;
}

function checkableList(whole: JsonValue[]): JsonValue[] {
  const list = whole.length > LONG_LIST ? withFewNumbers(whole) : whole;
  let retained: JsonValue[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const entry = list[at]!;
    if (typeof entry !== 'object' || entry === null) continue;
    const given = checkable(entry);
    if (given === entry) continue;
    retained ??= [...list];
    retained[at] = given;
  }
  return retained ?? list;
}

/** The lists that were shortened in turns, as they are checked. */
const shortened = new WeakMap<readonly JsonValue[], JsonValue[]>();

/** A list with only those of its numbers that decide what a model says of all. */
function withFewNumbers(list: readonly JsonValue[]): JsonValue[] {
  const cached = shortened.get(list);
  if (cached !== undefined) return cached;
  const few = new FewNumbers();
  few.add(list, 0, list.length);
  return few.entries();
}

/** The least and the greatest number of a list and a fraction, the least and the greatest bigint, and all that is no number. */
class FewNumbers {
  readonly #others: JsonValue[] = [];
  readonly #big: bigint[] = [];
  #least = Infinity;
  #greatest = -Infinity;
  #fraction = 0;

  add(list: readonly JsonValue[], from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const entry = list[at]!;
      if (typeof entry === 'number') this.#addNumber(entry);
      else if (typeof entry === 'bigint') this.#addBig(entry);
      else this.#others.push(entry);
    }
  }

  entries(): JsonValue[] {
    const retained = [...this.#others, ...this.#big];
    if (this.#least <= this.#greatest) retained.push(this.#least, this.#greatest);
    if (this.#fraction !== 0) retained.push(this.#fraction);
    return retained;
  }

  #addNumber(value: number): void {
    if (value < this.#least) this.#least = value;
    if (value > this.#greatest) this.#greatest = value;
    if (this.#fraction === 0 && !Number.isInteger(value)) this.#fraction = value;
  }

  #addBig(value: bigint): void {
    const [least = value, greatest = value] = this.#big;
    if (this.#big.length === 0 || value < least) this.#big[0] = value;
    if (this.#big.length < 2 || value > greatest) this.#big[1] = value;
  }
}

/** Entries of a list that are looked at between two looks at the clock. */
const LOOK_ENTRIES = 2 ** 16;
/** Time of one turn, in ms. */
const TURN_MILLIS = 8;

/**
 * Looks through the long lists of a value, so that checking it later takes no time for their
 * numbers. Works for a few milliseconds at a time.
 * @param pause Resolves when others have had their turn.
 */
export async function shortenInTurns(
  value: JsonValue,
  pause: () => Promise<unknown>,
): Promise<void> {
  const open: JsonValue[] = [value];
  let until = performance.now() + TURN_MILLIS;
  let looked = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const list = Array.isArray(next) ? next : isJsonObject(next) ? Object.values(next) : [];
    const few = new FewNumbers();
    for (let from = 0; from < list.length || from === 0; from += LOOK_ENTRIES) {
      few.add(list, from, Math.min(list.length, from + LOOK_ENTRIES));
      looked += Math.min(list.length, LOOK_ENTRIES) + 16;
      if (looked < LOOK_ENTRIES) continue;
      looked = 0;
      if (performance.now() < until) continue;
      await pause();
      until = performance.now() + TURN_MILLIS;
    }
    const entries = few.entries();
    if (Array.isArray(next) && list.length > LONG_LIST) shortened.set(next, entries);
    for (const entry of entries) if (typeof entry === 'object' && entry !== null) open.push(entry);
  }
}
