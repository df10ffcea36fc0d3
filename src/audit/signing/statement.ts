import { isJsonObject, parseJson, type JsonValue } from '../../protocol/json.ts';
import type { PublicKey, SigningKey } from './keys.ts';

/** A text that is not a signed statement of the expected kind. */
export class StatementFault extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'StatementFault';
  }
}

type Fields = Readonly<Record<string, JsonValue>>;
/** A value of a statement. */
export type StatementValue = string | bigint;

/** The signed text: the purpose, which limits what the signature is valid for, and each value on a line. */
export function signingInput(purpose: string, values: readonly StatementValue[]): string {
  return [purpose, ...values.map((value) => JSON.stringify(String(value))), ''].join('\n');
}

/** A statement with its signature, as a JSON object in one line. */
export function signedText(
  key: SigningKey,
  purpose: string,
  values: Readonly<Record<string, StatementValue>>,
): string {
  const signature = key.sign(signingInput(purpose, Object.values(values)));
  const all = { ...values, key: key.public.id, signature };
  const parts = Object.entries(all).map(([name, value]) => `"${name}":${valueText(value)}`);
  return `{${parts.join(',')}}`;
}

/** Whether one of the keys signed the statement. */
export function isSignedBy(
  keys: readonly PublicKey[],
  signed: { readonly key: string; readonly signature: string },
  statement: string,
): boolean {
  return keys.some((key) => key.id === signed.key && key.verifies(statement, signed.signature));
}

/** The fields of a statement. @throws StatementFault */
export function statementFields(line: string): Fields {
  const value = jsonOf(line);
  if (isJsonObject(value)) return value;
  throw new StatementFault('a signed statement is a JSON object');
}

/** @throws StatementFault */
export function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw missing(name);
}

/** @throws StatementFault */
export function integerIn(fields: Fields, name: string): bigint {
  const value = fields[name];
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  throw missing(name);
}

function jsonOf(line: string): JsonValue {
  try {
    return parseJson(line);
  } catch {
    throw new StatementFault('a signed statement is a JSON object');
  }
}

function valueText(value: StatementValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

function missing(name: string): StatementFault {
  return new StatementFault(
    `the field "${name}" of a signed statement is missing or of another kind`,
  );
}
