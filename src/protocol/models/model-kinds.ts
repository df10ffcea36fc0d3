import { Type, type TSchema } from 'typebox';

/*
 * The kinds of field that the models are made of. `expects` is what a refusal
 * says of a wrong value; `width` is how an OpenAPI document tells integers apart.
 */

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_UINT64 = 2n ** 64n - 1n;

function within(minimum: bigint, maximum: bigint) {
  return Type.Refine(Type.BigInt(), (value) => value >= minimum && value <= maximum);
}

function wide(width: string, maximum: bigint, expects: string) {
  const safe = Type.Integer({
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  });
  return Type.Union([safe, within(MIN_INT64, maximum)], { width, expects });
}

export const text = () => Type.String({ expects: 'a string' });

export const flag = () => Type.Boolean({ expects: 'true or false' });

/** A signed integer of 64 bits: a number where it fits, a bigint beyond. */
export const int64 = () => wide('int64', MAX_INT64, 'a whole number of 64 bits');

/** An integer without a width: also the unsigned ones of 64 bits. */
export const integer = () => wide('integer', MAX_UINT64, 'a whole number of at most 64 bits');

export const int32 = () =>
  Type.Integer({
    minimum: -(2 ** 31),
    maximum: 2 ** 31 - 1,
    width: 'int32',
    expects: 'a whole number of 32 bits',
  });

/** The size of a page. Larger sizes are cut, negative ones mean none; nothing is refused. */
export const pageLimit = () =>
  Type.Union([Type.Integer(), within(-MAX_INT64, MAX_INT64)], {
    width: 'limit',
    expects: 'a whole number',
  });

/** A decimal number; an integer beyond 2^53 arrives as a bigint. */
export const float = () =>
  Type.Union([Type.Number(), Type.BigInt()], { width: 'float', expects: 'a number' });

export const anyObject = () =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    expects: 'an object',
  });

export const listOf = <Item extends TSchema>(item: Item) => Type.Array(item, { expects: 'a list' });

export const anyList = () => listOf(Type.Unknown());

/** An object whose every member is of one kind. */
export const mapOf = <Value extends TSchema>(value: Value) =>
  Type.Unsafe<Record<string, Type.Static<Value>>>({
    type: 'object',
    additionalProperties: value,
    expects: 'an object',
  });

export const textList = () => listOf(text());

export const textMap = () => mapOf(text());

/** Another model, by its name. */
export const model = <Name extends string>(name: Name) => Type.Ref(name);

/** An optional field. In a request null means absent. */
export const optional = <Field extends TSchema>(field: Field) => Type.Optional(field);

/** A field that need not be there and may also be null in an answer. */
export const maybe = <Field extends TSchema>(field: Field) =>
  Type.Optional(Type.Union([field, Type.Null()]));

/** One of several shapes; `expects` names them all. */
export const oneOf = <Shapes extends TSchema[]>(expects: string, shapes: [...Shapes]) =>
  Type.Union(shapes, { expects });

/** A model that is an object. Members beside the named ones are ignored. */
export const record = <Fields extends Type.TProperties>(fields: Fields) =>
  Type.Object(fields, { expects: 'an object' });

/** Fields of every request. */
export const common = () => ({
  identity: optional(model('Identity')),
  context: optional(model('Context')),
});

/** Fields of a request about one object. */
export const named = () => ({ ...common(), id: optional(textList()) });

/** Fields of a request about a table, on one of its branches. */
export const branched = () => ({ ...named(), branch: optional(text()) });

/** The page parameters of a listing request. */
export const paged = () => ({ page_token: maybe(text()), limit: maybe(pageLimit()) });

/** Fields of every answer. */
export const answered = () => ({ context: optional(model('Context')) });
