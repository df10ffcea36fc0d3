import type { JsonValue } from '../../protocol/json.ts';
import { describe, fieldError, type Fields } from '../base/fields.ts';

/** The query vectors of a request. A batch answers with a `query_index`, one vector does not. */
export interface QueryVectors {
  readonly batch: boolean;
  readonly vectors: readonly Float32Array[];
}

/**
 * The field `vector` in every form that clients send: absent, null or empty for
 * no search; one flat array; an array of arrays; and both of them wrapped as
 * `single_vector` and `multi_vector`.
 */
export function vectorField(fields: Fields): QueryVectors | null {
  const value = fields['vector'];
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return vectorsOf(value, 'vector');
  if (typeof value === 'object') return wrappedVectors(value);
  throw fieldError('vector', 'a list or an object', describe(value));
}

function wrappedVectors(wrapper: Fields): QueryVectors | null {
  const single = arrayField(wrapper, 'single_vector');
  const multi = arrayField(wrapper, 'multi_vector');
  if (single.length > 0 && multi.length > 0) {
    throw fieldError('vector', 'single_vector or multi_vector', 'both');
  }
  if (multi.length > 0) return batchOf(multi, 'vector.multi_vector');
  return single.length > 0 ? one(single, 'vector.single_vector') : null;
}

function arrayField(wrapper: Fields, name: string): readonly JsonValue[] {
  const value = wrapper[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw fieldError(`vector.${name}`, 'a list', describe(value));
  return value;
}

function vectorsOf(values: readonly JsonValue[], name: string): QueryVectors | null {
  if (values.length === 0) return null;
  return Array.isArray(values[0]) ? batchOf(values, name) : one(values, name);
}

function one(values: readonly JsonValue[], name: string): QueryVectors {
  return { batch: false, vectors: [floats(values, name)] };
}

/** Limit of query vectors: each is compared with every row. */
const MAX_VECTORS = 10_000;

function batchOf(values: readonly JsonValue[], name: string): QueryVectors {
  if (values.length > MAX_VECTORS) {
    throw fieldError(name, `at most ${MAX_VECTORS} vectors`, String(values.length));
  }
  const vectors = values.map((value, index) => {
    if (!Array.isArray(value)) {
      throw fieldError(`${name}[${index}]`, 'a list of numbers', describe(value));
    }
    return floats(value, `${name}[${index}]`);
  });
  return { batch: true, vectors };
}

/** Clients send 32-bit floats as decimal 64-bit ones, so rounding restores them. */
function floats(values: readonly JsonValue[], name: string): Float32Array {
  const floats = new Float32Array(values.length);
  for (const [index, value] of values.entries()) {
    const rounded = roundedOf(value);
    // The name is made only for an error.
    if (!Number.isFinite(rounded)) throw floatError(value, `${name}[${index}]`);
    floats[index] = rounded;
  }
  return floats;
}

/** NaN for anything but a number. */
function roundedOf(value: JsonValue): number {
  if (typeof value === 'number') return Math.fround(value);
  return typeof value === 'bigint' ? Math.fround(Number(value)) : NaN;
}

function floatError(value: JsonValue, name: string): Error {
  return typeof value === 'number' || typeof value === 'bigint'
    ? fieldError(name, 'a 32-bit float', String(value))
    : fieldError(name, 'a number', describe(value));
}
