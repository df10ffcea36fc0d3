import type { Field } from 'apache-arrow';
import { excerpt, SqlError } from '../values/sql-error.ts';
import type { Name } from '../values/expression.ts';
import type { EvaluationBudget } from '../values/meter.ts';
import { nearestNames } from '../values/nearest.ts';
import type { Parameter } from './parameters.ts';

/** The columns that an expression may name. */
export interface ColumnScope {
  /** Fields in the order of the batch; pseudo columns such as `_rowid` are among them. */
  readonly fields: readonly Field[];
  /** The moment of the statement in nanoseconds since 1970, when several expressions must see the same. */
  readonly now?: bigint;
  /** Values of `$1`, `$2` and so on; absent if the caller gives none, as over HTTP. */
  readonly parameters?: readonly Parameter[];
  /** Budget of the evaluation; without one only the limits of the language apply. */
  readonly budget?: EvaluationBudget;
}

/** The current time, in nanoseconds since 1970. */
export function momentNow(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** A column or field, and its index. */
interface Found {
  readonly field: Field;
  readonly index: number;
}

function ambiguous(name: Name, candidates: readonly Field[], position: number): SqlError {
  const names = candidates.map((field) => field.name).join(', ');
  return new SqlError(
    'unknown-column',
    `expected the name of one column, found ${excerpt(name.text)} for each of ${names}`,
    position,
  );
}

function unknown(name: Name, fields: readonly Field[], what: string, position: number): SqlError {
  const nearest = nearestNames(
    name.text,
    fields.map((field) => field.name),
  );
  const choice = nearest.length === 0 ? 'there is none' : `the nearest are ${nearest.join(', ')}`;
  // Some dialects take double quotes for strings.
  const hint = name.quoted ? ', and a string stands in single quotes' : '';
  return new SqlError(
    'unknown-column',
    `expected the name of a ${what}, found ${excerpt(name.text)}; ${choice}${hint}`,
    position,
  );
}

/**
 * The field of a name: the exact one, or for a bare name the only one that
 * differs in case. Throws SqlError `unknown-column` for none or several.
 */
export function findField(
  name: Name,
  fields: readonly Field[],
  what: string,
  position: number,
): Found {
  const index = fields.findIndex((field) => field.name === name.text);
  if (index >= 0) return { field: fields[index]!, index };
  const lower = name.text.toLowerCase();
  const alike = name.quoted ? [] : fields.filter((field) => field.name.toLowerCase() === lower);
  if (alike.length > 1) throw ambiguous(name, alike, position);
  const [field] = alike;
  if (field === undefined) throw unknown(name, fields, what, position);
  return { field, index: fields.indexOf(field) };
}
