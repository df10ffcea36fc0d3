import type { DataType } from 'apache-arrow';
import { bindComparison } from '../bind/bind-comparison.ts';
import { kernelOf, boolType, type Bound, type Kernel } from '../evaluate/bound.ts';
import { choose } from '../values/choose.ts';
import { coerce, commonType } from '../cast/coerce.ts';
import { isValid, type Column } from '../values/column.ts';
import { valueOrder } from '../compare/order.ts';
import { call, fold, nullLiteral, shared } from '../evaluate/node.ts';
import { takeRows } from '../values/take.ts';
import { checkCount, type FunctionCall, type FunctionRow } from './function-row.ts';

function bindCoalesce({ arguments: args, position }: FunctionCall): Bound {
  const type = commonType(args, position);
  const operands = Object.freeze(args.map((argument) => coerce(argument, type)));
  const fallible = operands.some((operand) => operand.fallible);
  return operands.length === 1
    ? operands[0]!
    : fold({ kind: 'coalesce', type, operands, position, fallible });
}

/** `nullif(a, b)` is `CASE WHEN a = b THEN NULL ELSE a END`. */
function bindNullif({ arguments: args, position }: FunctionCall): Bound {
  const type = commonType(args.slice(0, 1), position);
  const value = shared(args[0]!);
  const when = bindComparison('=', value, args[1]!, position);
  const branches = Object.freeze([Object.freeze({ when, result: nullLiteral(type, position) })]);
  return fold({
    kind: 'case',
    type,
    branches,
    otherwise: value,
    position,
    fallible: when.fallible,
  });
}

/** `value IS NOT NULL`. */
function isPresent(value: Bound, position: number): Bound {
  const { fallible } = value;
  const test = { kind: 'is', type: boolType, test: 'null', negated: true } as const;
  return fold({ ...test, operand: value, position, fallible });
}

/** `nvl2(a, b, c)` is `CASE WHEN a IS NOT NULL THEN b ELSE c END`. */
function bindNvl2({ arguments: args, position }: FunctionCall): Bound {
  const [value, present, missing] = args as readonly [Bound, Bound, Bound];
  const type = commonType([present, missing], position);
  const when = isPresent(value, position);
  const [result, otherwise] = [coerce(present, type), coerce(missing, type)];
  const branches = Object.freeze([Object.freeze({ when, result })]);
  const fallible = when.fallible || result.fallible || otherwise.fallible;
  return fold({ kind: 'case', type, branches, otherwise, position, fallible });
}

/** The rows for which the second column's value replaces the first's. */
function better(first: Column, second: Column, sign: 1 | -1, type: DataType): Uint32Array {
  const order = valueOrder(second, first, type);
  const takes = (row: number): boolean =>
    isValid(second, row) && (!isValid(first, row) || order(row, row) * sign > 0);
  return Uint32Array.from({ length: first.length }, (_, row) => row).filter(takes);
}

/** Nulls are ignored, as in PostgreSQL and DataFusion; NaN is the greatest float. */
function extremeKernel(sign: 1 | -1): Kernel {
  return kernelOf(1, ([first, ...rest], { type, length }) => {
    const all = Uint32Array.from({ length }, (_, row) => row);
    return rest.reduce((best, column) => {
      const rows = better(best, column, sign, type);
      return choose(type, length, [
        { rows: all, column: best },
        { rows, column: takeRows(column, rows) },
      ]);
    }, first);
  });
}

function extreme(usage: string, sign: 1 | -1): FunctionRow {
  return {
    usage,
    bind: (made) => {
      checkCount(usage, made, 1, Infinity);
      const { name, position } = made;
      const type = commonType(made.arguments, position);
      const args = made.arguments.map((argument) => coerce(argument, type));
      return call({
        name,
        type,
        arguments: args,
        kernel: extremeKernel(sign),
        position,
        fallible: false,
      });
    },
  };
}

function counted(
  usage: string,
  least: number,
  most: number,
  bind: (made: FunctionCall) => Bound,
): FunctionRow {
  return {
    usage,
    bind: (made) => {
      checkCount(usage, made, least, most);
      return bind(made);
    },
  };
}

/** Functions that return one of their arguments, or test for null. */
export const choiceFunctions: Readonly<Record<string, FunctionRow>> = {
  coalesce: counted('coalesce(value, ...)', 1, Infinity, bindCoalesce),
  ifnull: counted('ifnull(value, other)', 2, 2, bindCoalesce),
  nvl: counted('nvl(value, other)', 2, 2, bindCoalesce),
  nvl2: counted('nvl2(value, present, missing)', 3, 3, bindNvl2),
  nullif: counted('nullif(value, other)', 2, 2, bindNullif),
  greatest: extreme('greatest(value, ...)', 1),
  least: extreme('least(value, ...)', -1),
  is_valid: counted('is_valid(value)', 1, 1, (made) =>
    isPresent(made.arguments[0]!, made.position),
  ),
};
