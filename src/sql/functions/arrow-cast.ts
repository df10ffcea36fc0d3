import type { DataType } from 'apache-arrow';
import { parseArrowType } from '../arrow-type.ts';
import { bindCastTo } from '../bind-cast.ts';
import type { Bound } from '../bound.ts';
import { excerpt, SqlError } from '../errors.ts';
import { plainType } from '../types.ts';
import type { FunctionRow } from './function-row.ts';
import { checkCount, wrongArgument } from './function-row.ts';

/** The type of a literal with its name. The values of dictionaries and half floats are computed with as plain ones. */
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
export const arrowCastFunctions: Readonly<Record<string, FunctionRow>> = {
  arrow_cast: castRow('arrow_cast', false),
  arrow_try_cast: castRow('arrow_try_cast', true),
};
