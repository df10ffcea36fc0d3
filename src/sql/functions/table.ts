import { kernelOf, boolType, type Bound } from '../evaluate/bound.ts';
import { bindConcat } from '../bind/concatenate.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import { nearestNames } from '../values/nearest.ts';
import { choiceFunctions } from './choice.ts';
import {
  checkCount,
  wrongArgument,
  plainFunction,
  type FunctionCall,
  type FunctionRow,
} from './function-row.ts';
import { clockFunctions } from './clock.ts';
import { characterFunctions } from './character.ts';
import { typeOfRow } from './type-of.ts';
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
import type { DataType } from 'apache-arrow';
import { parseArrowType } from '../parse/arrow-type.ts';
import { bindCastTo } from '../cast/coerce.ts';
import { plainType } from '../values/types.ts';
import { room, spend } from '../values/meter.ts';
import { maskStates, newStates, statesColumn, truth } from '../values/column.ts';
import { allValid, textColumnOf, textAt } from '../values/text.ts';

/** The runs of letters and digits in a text, case kept. */
function tokensOf(text: string): ReadonlySet<string> {
  spend(text.length * 8);
  room(text.length * 24);
  return new Set(text.match(/[\p{Alphabetic}\p{N}]+/gu));
}

const containsTokensRow = plainFunction({
  usage: 'contains_tokens(text, tokens)',
  parameters: ['text', 'text'],
  result: boolType,
  kernel: kernelOf(2, ([column, wanted], { length }) => {
    const [texts, tokens] = [textColumnOf(column), textColumnOf(wanted)];
    const valid = allValid([texts, tokens]);
    const states = newStates(length);
    let last: { readonly text: string; readonly tokens: ReadonlySet<string> } | undefined;
    for (let row = 0; row < length; row++) {
      if (valid === null || valid[row] === 1) {
        const text = textAt(tokens, row);
        last = last?.text === text ? last : { text, tokens: tokensOf(text) };
        spend(last.tokens.size * 16);
        const found = tokensOf(textAt(texts, row));
        states[row] = [...last.tokens].every((token) => found.has(token))
          ? truth.true
          : truth.false;
      }
    }
    maskStates(states, valid);
    return statesColumn(states);
  }),
});

/** `contains_tokens(text, 'some words')`: whether a text has all of the words, case-sensitive. */
const tokenFunctions: Readonly<Record<string, FunctionRow>> = {
  contains_tokens: containsTokensRow,
};

/** The type of a literal by its name, without dictionaries and half floats. */
function typeOf(usage: string, argument: Bound): DataType {
  if (argument.kind !== 'literal' || typeof argument.value !== 'string') {
    throw wrongArgument(usage, 'the name of an Arrow type in quotes', 2, argument);
  }
  const type = parsed(argument.value, argument.position);
  if (plainType(type) !== type) {
    const message = `expected a type that expressions give, such as ${arrowHint}, found '${excerpt(argument.value)}'`;
    throw new SqlError('type', message, argument.position);
  }
  return type;
}

const arrowHint = 'Utf8 or Float32';

function parsed(text: string, position: number): DataType {
  try {
    return parseArrowType(text);
  } catch (error) {
    if (error instanceof SqlError) {
      const message = `expected the name of an Arrow type such as Int64 or List(Utf8), found '${excerpt(text)}'`;
      throw new SqlError('type', message, position);
    }
    throw error;
  }
}

function castRow(name: string, tries: boolean): FunctionRow {
  const usage = `${name}(value, 'type')`;
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 2, 2);
      const [value, type] = made.arguments as readonly [Bound, Bound];
      return bindCastTo(value, typeOf(usage, type), tries, made.position);
    },
  };
}

/** Casts to types by Arrow's names for them. */
const arrowCastFunctions: Readonly<Record<string, FunctionRow>> = {
  arrow_cast: castRow('arrow_cast', false),
  arrow_try_cast: castRow('arrow_try_cast', true),
};

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

/** Aggregates, to explain the error: an expression sees one row at a time. */
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

/** Non-deterministic functions, to explain the error: after a conflict a value is recomputed and must be the same. */
const nonDeterministic: ReadonlySet<string> = new Set([
  'gen_random_uuid',
  'rand',
  'random',
  'uuid',
]);

/** Binds a call. Throws SqlError `unknown-function`, and the errors of the function's arguments. */
export function bindCall(made: FunctionCall): Bound {
  const row = functions.get(made.name);
  if (row !== undefined) return row.bind(made);
  if (aggregates.has(made.name)) {
    const message = `expected a function of one row, found the aggregate ${made.name}`;
    throw new SqlError('unknown-function', message, made.position);
  }
  if (nonDeterministic.has(made.name)) {
    const message = `expected a function that gives the same for the same row, found ${made.name}, which gives chance`;
    throw new SqlError('unknown-function', message, made.position);
  }
  const nearest = nearestNames(made.name, [...functions.keys()]).join(', ');
  const message = `expected the name of a function, found ${excerpt(made.name)}; the nearest are ${nearest}`;
  throw new SqlError('unknown-function', message, made.position);
}
