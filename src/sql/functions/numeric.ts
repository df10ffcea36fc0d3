import { bindArithmetic } from '../bind/bind-arithmetic.ts';
import { kernelOf, boolType, type Bound, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import {
  maskStates,
  newStates,
  statesColumn,
  truth,
  validOf,
  type Column,
} from '../values/column.ts';
import { SqlError } from '../values/sql-error.ts';
import { float64Type } from '../cast/literals.ts';
import { fold, literal, shared } from '../evaluate/node.ts';
import { storageOf } from '../values/storage.ts';
import { allValid } from '../values/text.ts';
import { familyOf, integerOf, integerRange, sqlTypeName } from '../values/types.ts';
import { bigintsOf, doublesOf } from '../values/widen.ts';
import {
  checkCount,
  fitArgument,
  plainFunction,
  type FunctionCall,
  type FunctionRow,
} from './function-row.ts';
import { floats } from './rounding.ts';

/** A function of one float. */
function unary(name: string, compute: (value: number) => number): FunctionRow {
  const kernel: Kernel = kernelOf(1, ([column], { length }) => {
    const values = doublesOf(column).map(compute);
    return { kind: 'number', length, values, valid: validOf(column) };
  });
  return plainFunction({
    usage: `${name}(number)`,
    parameters: ['float'],
    result: float64Type,
    kernel,
  });
}

/** A function of two floats. */
function binary(usage: string, compute: (left: number, right: number) => number): FunctionRow {
  const kernel: Kernel = (columns, { length }) => {
    const [left, right] = [doublesOf(columns[0]!), doublesOf(columns[1]!)];
    const values = left.map((value, row) => compute(value, right[row]!));
    return { kind: 'number', length, values, valid: allValid(columns) };
  };
  return plainFunction({ usage, parameters: ['float', 'float'], result: float64Type, kernel });
}

/** `abs(x)`: overflows for the least integer of a type. */
const absKernel: Kernel = kernelOf(1, ([column], call) => {
  if (familyOf(call.type) === 'float') return floats(column, call, Math.abs);
  if (column.kind === 'wide') {
    return { ...column, values: column.values.map((value) => (value < 0n ? -value : value)) };
  }
  return integerAbs(column, call);
});

function integerAbs(column: Column, call: KernelCall): Column {
  const greatest = integerRange(integerOf(call.type))[1];
  const valid = validOf(column);
  const values = bigintsOf(column).map((value, row) => {
    const result = value < 0n && integerOf(call.type).signed ? -value : value;
    if (result > greatest && (valid === null || valid[row] === 1)) {
      throw new SqlError(
        'overflow',
        `expected a result within ${sqlTypeName(call.type)}, found abs(${value})`,
        call.position,
      );
    }
    return result;
  });
  const storage = storageOf(call.type);
  return storage.kind === 'number'
    ? {
        kind: 'number',
        length: call.length,
        values: new storage.array(call.length).map((_, row) => Number(values[row])),
        valid,
      }
    : { kind: 'bigint', length: call.length, values, valid };
}

function floatTest(test: (value: number) => boolean): Kernel {
  return kernelOf(1, ([column], call) => {
    const states = newStates(call.length);
    const values = doublesOf(column);
    for (let row = 0; row < states.length; row++) {
      states[row] = test(values[row]!) ? truth.true : truth.false;
    }
    maskStates(states, validOf(column));
    return statesColumn(states);
  });
}

const modRow: FunctionRow = {
  usage: 'mod(number, divisor)',
  bind: (made) => {
    checkCount('mod(number, divisor)', made, 2, 2);
    const [left, right] = made.arguments.map((argument, at) =>
      fitArgument('mod(number, divisor)', 'number', argument, at + 1),
    );
    return bindArithmetic('%', left!, right!, made.position);
  },
};

const log10Row = unary('log10', Math.log10);
const logRow: FunctionRow = {
  usage: 'log([base, ]number)',
  bind: (made: FunctionCall): Bound => {
    checkCount('log([base, ]number)', made, 1, 2);
    return (made.arguments.length === 1 ? log10Row : logOfBase).bind(made);
  },
};
const logOfBase = binary('log([base, ]number)', (base, value) => Math.log(value) / Math.log(base));

/** `nanvl(x, y)` is `CASE WHEN isnan(x) THEN y ELSE x END` of floats. */
const nanvlRow: FunctionRow = {
  usage: 'nanvl(number, other)',
  bind(made) {
    checkCount('nanvl(number, other)', made, 2, 2);
    const [given, result] = made.arguments.map((argument, at) =>
      fitArgument('nanvl(number, other)', 'float', argument, at + 1),
    );
    const value = shared(given!);
    const when = isNanRow.bind({ ...made, arguments: [value] });
    return fold({
      kind: 'case',
      type: float64Type,
      branches: Object.freeze([Object.freeze({ when, result: result! })]),
      otherwise: value,
      position: made.position,
      fallible: value.fallible || result!.fallible,
    });
  },
};

const powerRow = binary('power(base, exponent)', (base, exponent) => base ** exponent);
const isNanRow = plainFunction({
  usage: 'isnan(number)',
  parameters: ['float'],
  result: boolType,
  kernel: floatTest(Number.isNaN),
});
const signRow = unary('sign', Math.sign);

const isZeroRow = plainFunction({
  usage: 'iszero(number)',
  parameters: ['float'],
  result: boolType,
  kernel: floatTest((value) => value === 0),
});

/** Functions of numbers. Float functions return NaN or infinity where the result is undefined. */
export const numericFunctions: Readonly<Record<string, FunctionRow>> = {
  abs: plainFunction({
    usage: 'abs(number)',
    parameters: ['number'],
    result: ([type]) => type!,
    kernel: absKernel,
    fallible: true,
  }),
  iszero: isZeroRow,
  sqrt: unary('sqrt', Math.sqrt),
  cbrt: unary('cbrt', Math.cbrt),
  exp: unary('exp', Math.exp),
  ln: unary('ln', Math.log),
  log: logRow,
  log2: unary('log2', Math.log2),
  log10: log10Row,
  sin: unary('sin', Math.sin),
  cos: unary('cos', Math.cos),
  tan: unary('tan', Math.tan),
  asin: unary('asin', Math.asin),
  acos: unary('acos', Math.acos),
  atan: unary('atan', Math.atan),
  atan2: binary('atan2(y, x)', Math.atan2),
  power: powerRow,
  pow: powerRow,
  mod: modRow,
  sign: signRow,
  signum: signRow,
  isnan: isNanRow,
  nanvl: nanvlRow,
  pi: {
    usage: 'pi()',
    bind(made) {
      checkCount('pi()', made, 0, 0);
      return literal(float64Type, Math.PI, made.position);
    },
  },
  radians: unary('radians', (value) => value * (Math.PI / 180)),
  degrees: unary('degrees', (value) => value * (180 / Math.PI)),
  sinh: unary('sinh', Math.sinh),
  cosh: unary('cosh', Math.cosh),
  tanh: unary('tanh', Math.tanh),
  asinh: unary('asinh', Math.asinh),
  acosh: unary('acosh', Math.acosh),
  atanh: unary('atanh', Math.atanh),
  cot: unary('cot', (value) => 1 / Math.tan(value)),
  is_nan: isNanRow,
};
