import { createHmac } from 'node:crypto';
import { DataType, Field, Schema, Vector, vectorFromArray, type Data } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { concatData } from '../../../arrow/concat.ts';
import { nullsOf } from '../../../arrow/nullability.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import type { Mask } from '../../../protocol/restrictions.ts';
import { constantSql, maskFits } from '../../../rules/mask-fit.ts';
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
  if (!maskFits(mask, type)) return undefined;
  if (mask.mask === 'null') {
    return { reads: false, nulls: true, apply: (_, rows) => nullsOf(type, rows) };
  }
  if (mask.mask === 'constant') return computed(constantSql(mask.value), false, type, use);
  if (mask.mask === 'round') return computed(roundingOf(mask.to, type), true, type, use);
  if (mask.mask === 'year' || mask.mask === 'month') {
    return computed(`date_trunc('${mask.mask}', ${VALUE})`, true, type, use);
  }
  return replacingTexts(textOf(mask, use), type, use);
}

/** The name of the masked column in the SQL of masks. */
const VALUE = 'v';

/** What a mask of texts makes of one. Characters are code points. */
function textOf(mask: Mask, { secret }: MaskUse): (text: string) => string {
  if ('n' in mask) return starring(mask);
  if (mask.mask === 'alphanum') {
    return (text) => text.replaceAll(/[\p{L}\p{M}]/gu, 'x').replaceAll(/\p{N}/gu, 'n');
  }
  return (text) => {
    if (secret === undefined) throw new Error('a hash needs the key of the catalog');
    return createHmac('sha256', secret).update(text).digest('hex');
  };
}

function starring({
  mask,
  n,
}: Extract<Mask, { mask: 'first' | 'last' }>): (text: string) => string {
  return (text) => {
    const characters = Array.from(text);
    const hidden = '*'.repeat(Math.max(0, characters.length - n));
    const isFirst = mask === 'first';
    const kept = isFirst
      ? characters.slice(0, n)
      : characters.slice(Math.max(0, characters.length - n));
    return isFirst ? kept.join('') + hidden : hidden + kept.join('');
  };
}

/** The nearest multiple; of integers, the one towards zero where the nearest is beyond the type. */
function roundingOf(to: number, type: DataType): string {
  if (!DataType.isInt(type)) return `round(v / ${to}) * ${to}`;
  const bits = BigInt(type.bitWidth);
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

/** Texts between looks at the clock. */
const TEXTS = 256;

/** Replaces each text; a null stays null. */
function replacingTexts(
  replace: (text: string) => string,
  type: DataType,
  { statement: { budget } }: MaskUse,
): Masking {
  return {
    reads: true,
    nulls: false,
    async apply(column, rows) {
      const texts = new Vector(column === null ? [] : [column]);
      const pace = new Pace(budget);
      const replaced: (string | null)[] = [];
      let held = 0;
      for (let row = 0; row < rows; row++) {
        const text: unknown = texts.get(row);
        const value = typeof text === 'string' ? replace(text) : null;
        const bytes = 2 * (value?.length ?? 0);
        budget.charge(bytes);
        held += bytes;
        replaced.push(value);
        if (row % TEXTS === 0) await pace.turn();
      }
      const result = concatData(vectorFromArray(replaced, type).data);
      budget.release(held);
      return result;
    },
  };
}
