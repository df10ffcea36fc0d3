import { createHmac } from 'node:crypto';
import { DataType, Field, Schema, Vector, vectorFromArray, type Data } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { concatData } from '../../../arrow/concat.ts';
import { nullsOf } from '../../../arrow/nullability.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import type { Mask } from '../../../protocol/restrictions.ts';
import { Pace } from '../../base/pace.ts';
import type { Statement } from '../../base/statement.ts';
import { assignmentFormula, valuesOf } from '../../request/formula.ts';

/** Replaces the values of a column. The result has its type and its number of rows. */
export interface Masking {
  /** Whether the values are read; otherwise the column is null. */
  readonly reads: boolean;
  /** Whether the result may be null where the column is not. */
  readonly nulls: boolean;
  /** @param column Null if the values are not read. */
  apply(column: Data | null, rows: number): MaybePromise<Data>;
}

/** What masks of one request share. */
export interface MaskUse {
  readonly statement: Statement;
  /** The key of the hashes; absent only if no mask needs it. */
  readonly secret?: Uint8Array | undefined;
}

/** The masking of a column; undefined if its type has none of that kind. */
export function maskingOf(mask: Mask, type: DataType, use: MaskUse): Masking | undefined {
  if (mask.mask === 'null') {
    return { reads: false, nulls: true, apply: (_, rows) => nullsOf(type, rows) };
  }
  if (mask.mask === 'sha256') return isText(type) ? hashing(type, use) : undefined;
  const sql = sqlOf(mask, type);
  return sql === undefined ? undefined : computed(sql, mask.mask !== 'constant', type, use);
}

/** The name of the masked column in the SQL of masks. */
const VALUE = 'v';

/** The SQL of a mask over `v`; undefined if the type has none. */
function sqlOf(mask: Mask, type: DataType): string | undefined {
  if (mask.mask === 'null' || mask.mask === 'sha256') return undefined;
  if (mask.mask === 'constant') return isNested(type) ? undefined : literalOf(mask.value);
  if (mask.mask === 'year' || mask.mask === 'month') {
    const isDate = DataType.isDate(type) || DataType.isTimestamp(type);
    return isDate ? `date_trunc('${mask.mask}', v)` : undefined;
  }
  if (mask.mask === 'round') return roundingOf(mask.to, type);
  return isText(type) ? textMasks[mask.mask](mask) : undefined;
}

/** A null stays null. */
const kept = (sql: string) => `CASE WHEN v IS NULL THEN NULL ELSE ${sql} END`;

const stars = (n: number) => `repeat('*', greatest(character_length(v) - ${n}, 0))`;

const textMasks = {
  first: (mask: Mask) => kept(`left(v, ${charactersOf(mask)}) || ${stars(charactersOf(mask))}`),
  last: (mask: Mask) => kept(`${stars(charactersOf(mask))} || right(v, ${charactersOf(mask)})`),
  alphanum: () =>
    `regexp_replace(regexp_replace(v, '[\\p{L}\\p{M}]', 'x', 'g'), '\\p{N}', 'n', 'g')`,
};

function charactersOf(mask: Mask): number {
  return 'n' in mask ? mask.n : 0;
}

/** The nearest multiple; of integers, the one towards zero where the nearest is beyond the type. */
function roundingOf(to: number, type: DataType): string | undefined {
  if (DataType.isFloat(type)) return `round(v / ${to}) * ${to}`;
  if (!DataType.isInt(type) || !Number.isSafeInteger(to)) return undefined;
  const bits = BigInt(type.bitWidth);
  if (!type.isSigned && bits === 64n) return undefined;
  const [least, greatest] = type.isSigned
    ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]
    : [0n, 2n ** bits - 1n];
  const step = BigInt(to);
  // A step beyond the type leaves nothing but zero.
  if (step > greatest) return 'CASE WHEN v IS NULL THEN NULL ELSE 0 END';
  const rest = `(x % ${step})`.replace('x', 'CAST(v AS bigint)');
  const half = (step + 1n) / 2n;
  const [up, down] = [greatest - step, least + step];
  const cut = `(CAST(v AS bigint) - ${rest})`;
  return `CASE WHEN ${rest} >= ${half} AND CAST(v AS bigint) <= ${up} THEN ${cut} + ${step} WHEN ${rest} <= -${half} AND CAST(v AS bigint) >= ${down} THEN ${cut} - ${step} ELSE ${cut} END`;
}

function literalOf(value: string | number | boolean): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** A mask that is an expression. @throws CatalogError if the type cannot hold the value */
function computed(sql: string, reads: boolean, type: DataType, { statement }: MaskUse): Masking {
  const fields = reads ? [new Field(VALUE, type, true)] : [];
  const schema = new Schema(fields);
  const formula = assignmentFormula('mask', sql, fields, type, statement);
  return {
    reads,
    nulls: false,
    apply(column, rows) {
      const batch = batchOfData(schema, column === null ? [] : [column], rows);
      return concatData(valuesOf(formula, batch).data);
    },
  };
}

/** Length of a hash as text. */
const HASH_BYTES = 64;
/** Hashes between looks at the clock. */
const HASHES = 256;

/** HMAC-SHA-256 of the UTF-8 of each text, in hexadecimal. */
function hashing(type: DataType, { statement, secret }: MaskUse): Masking {
  return {
    reads: true,
    nulls: false,
    async apply(column, rows) {
      if (secret === undefined) throw new Error('a hash needs the key of the catalog');
      const texts = new Vector(column === null ? [] : [column]);
      const pace = new Pace(statement.budget);
      statement.budget.charge(rows * HASH_BYTES);
      const hashed: (string | null)[] = [];
      for (let row = 0; row < rows; row++) {
        const text: unknown = texts.get(row);
        const isText = typeof text === 'string';
        hashed.push(isText ? createHmac('sha256', secret).update(text).digest('hex') : null);
        if (row % HASHES === 0) await pace.turn();
      }
      statement.budget.release(rows * HASH_BYTES);
      return concatData(vectorFromArray(hashed, type).data);
    },
  };
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type);
}

function isNested(type: DataType): boolean {
  return type.children !== null && type.children !== undefined && type.children.length > 0;
}
