import { bindComparison } from '../bind-comparison.ts';
import type { Bound, Kernel } from '../bound.ts';
import { boolType } from '../bound.ts';
import { choose } from '../choose.ts';
import { coerce, commonType } from '../coerce.ts';
import type { Column } from '../column.ts';
import { truth, validOf } from '../column.ts';
import { compareColumns } from '../compare.ts';
import { rowsThatAre } from '../logic.ts';
import { call, fold, nullLiteral, shared } from '../node.ts';
import { takeRows } from '../take.ts';
import type { FunctionCall, FunctionRow } from './function-row.ts';
import { checkCount } from './function-row.ts';

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

/** `nvl2(a, b, c)` is `CASE WHEN a IS NOT NULL THEN b ELSE c END`. */
function bindNvl2({ arguments: args, position }: FunctionCall): Bound {
  const [value, present, missing] = args as readonly [Bound, Bound, Bound];
  const type = commonType([present, missing], position);
  const when = fold({
    kind: 'is',
    type: boolType,
    operand: value,
    test: 'null',
    negated: true,
    position,
    fallible: value.fallible,
  });
  const [result, otherwise] = [coerce(present, type), coerce(missing, type)];
  const branches = Object.freeze([Object.freeze({ when, result })]);
  const fallible = when.fallible || result.fallible || otherwise.fallible;
  return fold({ kind: 'case', type, branches, otherwise, position, fallible });
}

/** The rows where the second column's value is to be taken instead of the first's. */
function better(first: Column, second: Column, operator: '<' | '>'): Uint32Array {
  const states = compareColumns(operator, second, first, [1n, 1n]).states;
  const [valid, other] = [validOf(first), validOf(second)];
  if (valid !== null) {
    for (let row = 0; row < states.length; row++) {
      const takes = other === null || other[row] === 1 ? truth.true : truth.false;
      states[row] = valid[row] === 0 ? takes : states[row]!;
    }
  }
  return rowsThatAre(states, truth.true);
}

/** Nulls are passed over, as PostgreSQL and DataFusion have it; NaN is the greatest float. */
function extremeKernel(operator: '<' | '>'): Kernel {
  return ([first, ...rest], { type, length }) => {
    const all = Uint32Array.from({ length }, (_, row) => row);
    return rest.reduce((best, column) => {
      const rows = better(best, column, operator);
      return choose(type, length, [
        { rows: all, column: best },
        { rows, column: takeRows(column, rows) },
      ]);
    }, first!);
  };
}

function extreme(usage: string, operator: '<' | '>'): FunctionRow {
  return {
    usage,
    bind: (made) => {
      checkCount(usage, made, 1, Infinity);
      const { name, position } = made;
      const type = commonType(made.arguments, position);
      const args = made.arguments.map((argument) => coerce(argument, type));
      // Refuses what has no order, such as lists.
      bindComparison('<', args[0]!, args[0]!, position);
      return call({
        name,
        type,
        arguments: args,
        kernel: extremeKernel(operator),
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

/** Functions that give one of their arguments. */
export const choiceFunctions: Readonly<Record<string, FunctionRow>> = {
  coalesce: counted('coalesce(value, ...)', 1, Infinity, bindCoalesce),
  ifnull: counted('ifnull(value, other)', 2, 2, bindCoalesce),
  nvl: counted('nvl(value, other)', 2, 2, bindCoalesce),
  nvl2: counted('nvl2(value, present, missing)', 3, 3, bindNvl2),
  nullif: counted('nullif(value, other)', 2, 2, bindNullif),
  greatest: extreme('greatest(value, ...)', '>'),
  least: extreme('least(value, ...)', '<'),
};
