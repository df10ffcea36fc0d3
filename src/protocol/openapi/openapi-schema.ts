import type { TSchema } from 'typebox';

/** The read part of a model's schema. */
interface Shape extends TSchema {
  readonly $ref?: string;
  readonly width?: string;
  readonly type?: string;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape | boolean;
}

/** Numbers of each width as OpenAPI has them; the models hold bigints beside. */
const numbers: Readonly<Record<string, object>> = {
  int64: { type: 'integer', format: 'int64' },
  int32: { type: 'integer', format: 'int32' },
  integer: { type: 'integer' },
  limit: { type: 'integer', minimum: 1 },
  float: { type: 'number' },
};

/** The place of a model in a document. */
export function schemaReference(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** A model's schema as plain JSON Schema 2020-12, which is what OpenAPI 3.1 holds. */
export function plainSchema(schema: TSchema): object {
  const shape: Shape = schema;
  if (shape.$ref !== undefined) return schemaReference(shape.$ref);
  if (shape.width !== undefined) return numbers[shape.width] ?? {};
  if (shape.anyOf !== undefined) return { anyOf: shape.anyOf.map(plainSchema) };
  if (shape.type === 'array') return { type: 'array', items: plainSchema(shape.items ?? {}) };
  if (shape.type === 'object') return plainObject(shape);
  return shape.type === undefined ? {} : { type: shape.type };
}

function plainObject({ properties, required, additionalProperties }: Shape): object {
  const members = Object.entries(properties ?? {}).map(([name, member]) => [
    name,
    plainSchema(member),
  ]);
  return {
    type: 'object',
    ...(properties !== undefined && { properties: Object.fromEntries(members) }),
    ...(required !== undefined && required.length > 0 && { required }),
    ...(additionalProperties !== undefined && {
      additionalProperties: others(additionalProperties),
    }),
  };
}

function others(additional: Shape | boolean): object | boolean {
  return typeof additional === 'boolean' ? additional : plainSchema(additional);
}
