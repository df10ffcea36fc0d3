import type { Bound } from '../bound.ts';
import { bindConcat } from '../concatenate.ts';
import { excerpt, SqlError } from '../errors.ts';
import { nearestNames } from '../nearest.ts';
import { arrowCastFunctions } from './arrow-cast.ts';
import { choiceFunctions } from './choice.ts';
import { tokenFunctions } from './contains-tokens.ts';
import { clockFunctions } from './clock.ts';
import type { FunctionCall, FunctionRow } from './function-row.ts';
import { characterFunctions } from './character.ts';
import { typeOfRow } from './type-of.ts';
import { checkCount } from './function-row.ts';
import { jsonFunctions } from './json.ts';
import { listChangeFunctions } from './list-change.ts';
import { listFunctions } from './list.ts';
import { listSetFunctions } from './list-set.ts';
import { listShapeFunctions } from './list-shape.ts';
import { listValueFunctions } from './list-values.ts';
import { integerFunctions } from './integer.ts';
import { listNumberFunctions } from './list-numbers.ts';
import { mapFunctions } from './map.ts';
import { listZipFunctions } from './list-zip.ts';
import { zoneFunctions } from './zone.ts';
import { numericFunctions } from './numeric.ts';
import { roundingFunctions } from './rounding.ts';
import { regexpFunctions } from './regexp.ts';
import { temporalFunctions } from './temporal.ts';
import { encodingFunctions } from './encoding.ts';
import { partFunctions } from './part.ts';
import { structFunctions } from './struct.ts';
import { textFunctions } from './text.ts';

const concatRow: FunctionRow = {
  usage: 'concat(value, ...)',
  bind: (made) => {
    checkCount('concat(value, ...)', made, 1, Infinity);
    return bindConcat(made.arguments, made.position);
  },
};

/** Every function of the language, by its lower-case name. */
export const functions: ReadonlyMap<string, FunctionRow> = new Map([
  ...Object.entries(textFunctions),
  ...Object.entries(regexpFunctions),
  ...Object.entries(roundingFunctions),
  ...Object.entries(numericFunctions),
  ...Object.entries(integerFunctions),
  ...Object.entries(listNumberFunctions),
  ...Object.entries(temporalFunctions),
  ...Object.entries(clockFunctions),
  ...Object.entries(listFunctions),
  ...Object.entries(listChangeFunctions),
  ...Object.entries(listSetFunctions),
  ...Object.entries(listShapeFunctions),
  ...Object.entries(listValueFunctions),
  ...Object.entries(mapFunctions),
  ...Object.entries(jsonFunctions),
  ...Object.entries(tokenFunctions),
  ...Object.entries(listZipFunctions),
  ...Object.entries(zoneFunctions),
  ...Object.entries(choiceFunctions),
  ...Object.entries(characterFunctions),
  ...Object.entries(partFunctions),
  ...Object.entries(encodingFunctions),
  ...Object.entries(structFunctions),
  ...Object.entries(arrowCastFunctions),
  ['concat', concatRow] as const,
  ['arrow_typeof', typeOfRow] as const,
]);

/** Known so that the refusal can say why: an expression sees one row at a time. */
const aggregates: ReadonlySet<string> = new Set([
  'approx_distinct',
  'approx_median',
  'array_agg',
  'avg',
  'bit_and',
  'bit_or',
  'bit_xor',
  'bool_and',
  'bool_or',
  'corr',
  'count',
  'covar_pop',
  'covar_samp',
  'first_value',
  'last_value',
  'max',
  'mean',
  'median',
  'min',
  'mode',
  'nth_value',
  'percentile_cont',
  'row_number',
  'stddev',
  'stddev_pop',
  'stddev_samp',
  'string_agg',
  'sum',
  'var',
  'var_pop',
  'var_samp',
  'variance',
]);

/** Known so that the refusal can say why: a value is computed again after a conflict, and must be the same. */
const chances: ReadonlySet<string> = new Set(['gen_random_uuid', 'rand', 'random', 'uuid']);

/** Binds a call. Throws SqlError `unknown-function`, and what the function says of its arguments. */
export function bindCall(made: FunctionCall): Bound {
  const row = functions.get(made.name);
  if (row !== undefined) {
    return row.bind(made);
  }
  if (aggregates.has(made.name)) {
    const message = `expected a function of one row, found the aggregate ${made.name}`;
    throw new SqlError('unknown-function', message, made.position);
  }
  if (chances.has(made.name)) {
    const message = `expected a function that gives the same for the same row, found ${made.name}, which gives chance`;
    throw new SqlError('unknown-function', message, made.position);
  }
  const nearest = nearestNames(made.name, [...functions.keys()]).join(', ');
  const message = `expected the name of a function, found ${excerpt(made.name)}; the nearest are ${nearest}`;
  throw new SqlError('unknown-function', message, made.position);
}
