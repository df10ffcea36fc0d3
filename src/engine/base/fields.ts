import { CatalogError } from '../../protocol/errors.ts';
import type { JsonValue } from '../../protocol/json.ts';

/** The fields of a JSON body; null and absent are the same. */
export type Fields = Readonly<Record<string, JsonValue | undefined>>;

/** The refusal of a field: its name, what it should have been and what it was. */
export function fieldError(name: string, expected: string, found: string): CatalogError {
  return new CatalogError('InvalidInput', `${name} must be ${expected}, not ${found}`);
}

/** Describes a JSON value for a refusal. The content of a string is omitted: it may be a secret. */
export function describe(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'a string';
  return typeof value === 'boolean' ? String(value) : `the number ${value}`;
}

export function textField(fields: Fields, name: string): string | null {
  const value = fields[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw fieldError(name, 'a string', describe(value));
  return value;
}

export function flagField(fields: Fields, name: string, absent: boolean): boolean {
  const value = fields[name];
  if (value === undefined || value === null) return absent;
  if (typeof value !== 'boolean') throw fieldError(name, 'true or false', describe(value));
  return value;
}

export function numberField(fields: Fields, name: string): number | null {
  const value = fields[name];
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'number') throw fieldError(name, 'a number', describe(value));
  return value;
}

/** An integer of any size; `2.0` counts as one. */
export function integerField(fields: Fields, name: string): bigint | null {
  const value = fields[name];
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw fieldError(name, 'a whole number', describe(value));
  }
  return BigInt(value);
}

/** An integer that is not negative. */
export function countField(fields: Fields, name: string): bigint | null {
  const value = integerField(fields, name);
  if (value !== null && value < 0n) throw fieldError(name, 'at least 0', String(value));
  return value;
}
