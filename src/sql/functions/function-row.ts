import type { DataType } from 'apache-arrow';
import type { AtLeast, Bound, Kernel } from '../evaluate/bound.ts';
import { castTo, coerce } from '../cast/coerce.ts';
import { SqlError } from '../values/sql-error.ts';
import { float64Type, int64Type, textType } from '../cast/literals.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { familyOf, sqlTypeName, type Family } from '../values/types.ts';

/** A call of a function that is being bound. */
export interface FunctionCall {
  readonly name: string;
  readonly arguments: readonly Bound[];
  readonly position: number;
  /** The moment of the statement in nanoseconds since 1970. */
  readonly now: bigint;
  /** Whether the call is used as a predicate. */
  readonly asTest: boolean;
}

/** A function of the language. */
export interface FunctionRow {
  /** Name and arguments, for messages. */
  readonly usage: string;
  bind(call: FunctionCall): Bound;
}

/** Kind of an argument: `float` accepts every number, `integer` every integer, as int64. */
export type ArgumentKind = 'text' | 'integer' | 'float' | 'number';

interface ParameterRow {
  readonly families: readonly Family[];
  readonly expected: string;
  /** Type in which the kernel gets the argument; the argument's own type if undefined. */
  readonly type: DataType | undefined;
  /** The type of an untyped null. */
  readonly nullType: DataType;
}

const parameters: Readonly<Record<ArgumentKind, ParameterRow>> = {
  text: { families: ['text'], expected: 'a string', type: undefined, nullType: textType },
  integer: { families: ['integer'], expected: 'an integer', type: int64Type, nullType: int64Type },
  float: {
    families: ['integer', 'float', 'decimal'],
    expected: 'a number',
    type: float64Type,
    nullType: float64Type,
  },
  number: {
    families: ['integer', 'float', 'decimal'],
    expected: 'a number',
    type: undefined,
    nullType: float64Type,
  },
};

/** A call with at least `Count` arguments. */
type CallOf<Count extends number> = Count extends keyof AtLeast<Bound>
  ? FunctionCall & { readonly arguments: AtLeast<Bound>[Count] }
  : FunctionCall;

/** Throws SqlError `type` for a wrong number of arguments. */
export function checkCount<Least extends number>(
  usage: string,
  made: FunctionCall,
  least: Least,
  most: number,
): asserts made is CallOf<Least> {
  const { arguments: args, position } = made;
  if (args.length < least || args.length > most) {
    const found = args.length === 1 ? '1 argument' : `${args.length} arguments`;
    throw new SqlError('type', `expected ${usage}, found ${found}`, position);
  }
}

/** The error for one argument, counted from 1. */
export function wrongArgument(
  usage: string,
  expected: string,
  at: number,
  argument: Bound,
): SqlError {
  const message = `expected ${expected} as argument ${at} of ${usage}, found ${sqlTypeName(argument.type)}`;
  return new SqlError('type', message, argument.position);
}

/** The argument in the type of its parameter. Throws SqlError `type` if it is of another kind. */
export function fitArgument(
  usage: string,
  parameter: ArgumentKind,
  argument: Bound,
  at: number,
): Bound {
  const { families, expected, type, nullType } = parameters[parameter];
  const family = familyOf(argument.type);
  if (family === 'null') return nullLiteral(nullType, argument.position);
  if (!families.includes(family)) throw wrongArgument(usage, expected, at, argument);
  return type === undefined ? argument : coerceNumber(argument, type);
}

/** Rounding a literal to a float is fine here: the function computes in floats. */
function coerceNumber(argument: Bound, type: DataType): Bound {
  return familyOf(argument.type) === 'decimal'
    ? castTo(argument, type, argument.position)
    : coerce(argument, type);
}

/** A function with a fixed list of parameters and one result type. */
interface PlainFunction {
  readonly usage: string;
  readonly parameters: readonly ArgumentKind[];
  /** Number of required arguments; all if undefined. */
  readonly required?: number;
  readonly result: DataType | ((types: readonly DataType[]) => DataType);
  readonly kernel: Kernel;
  readonly fallible?: boolean;
}

/** The row of a function with fixed kinds of arguments. */
export function plainFunction(row: PlainFunction): FunctionRow {
  const { usage, kernel, fallible = false } = row;
  return Object.freeze({
    usage,
    bind(made: FunctionCall): Bound {
      checkCount(usage, made, row.required ?? row.parameters.length, row.parameters.length);
      const args = made.arguments.map((argument, at) =>
        fitArgument(usage, row.parameters[at]!, argument, at + 1),
      );
      const type =
        typeof row.result === 'function'
          ? row.result(args.map((argument) => argument.type))
          : row.result;
      return call({
        name: made.name,
        type,
        arguments: args,
        kernel,
        position: made.position,
        fallible,
      });
    },
  });
}
