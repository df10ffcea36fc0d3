import type { DataType, Decimal } from 'apache-arrow';
import { kernelOf, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import { validOf, type Column } from '../values/column.ts';
import { rescale } from '../values/decimal.ts';
import { float64Type } from '../cast/literals.ts';
import { isSingle } from '../values/storage.ts';
import { allValid } from '../values/text.ts';
import { familyOf } from '../values/types.ts';
import { bigintsOf, doublesOf } from '../values/widen.ts';
import { checkCount, plainFunction, type FunctionRow } from './function-row.ts';

/** Rounds half away from zero. */
function roundHalf(value: number): number {
  const rounded = Math.round(Math.abs(value));
  // 0.49999999999999994 + 0.5 is 1 in doubles, which Math.round knows; the sign is put back.
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}

function roundTo(value: number, digits: number): number {
  const factor = 10 ** digits;
  const result = roundHalf(value * factor) / factor;
  return Number.isFinite(result) ? result : value;
}

/** The computed values, in the width of the call's type. */
export function floats(
  column: Column,
  call: KernelCall,
  compute: (value: number, row: number) => number,
): Column {
  const results = doublesOf(column).map(compute);
  return {
    kind: 'number',
    length: call.length,
    values: isSingle(call.type) ? new Float32Array(results) : results,
    valid: validOf(column),
  };
}

/** Rounding keeps the type: integers are whole already, decimals are rounded in their digits. */
function rounding(
  name: string,
  compute: (value: number) => number,
  whole: (value: bigint, factor: bigint) => bigint,
): FunctionRow {
  const kernel: Kernel = kernelOf(1, ([column], call) => {
    if (column.kind === 'wide') {
      const factor = 10n ** BigInt((call.type as Decimal).scale);
      return { ...column, values: column.values.map((value) => whole(value, factor) * factor) };
    }
    return familyOf(call.type) === 'float' ? floats(column, call, compute) : column;
  });
  return plainFunction({
    usage: `${name}(number)`,
    parameters: ['number'],
    result: ([type]) => type!,
    kernel,
  });
}

function floorWhole(value: bigint, factor: bigint): bigint {
  const rest = value % factor;
  return (value - rest) / factor - (rest < 0n ? 1n : 0n);
}

function roundDecimal(value: bigint, scale: number, digits: number): bigint {
  return digits >= scale
    ? value
    : rescale({ value, scale }, digits) * 10n ** BigInt(scale - digits);
}

const roundKernel: Kernel = kernelOf(1, ([column, places], call) => {
  const digits = places === undefined ? undefined : bigintsOf(places);
  const placesAt = (row: number): number =>
    Math.max(-400, Math.min(400, Number(digits?.[row] ?? 0n)));
  if (column.kind === 'wide') {
    const { scale } = call.type as Decimal;
    const values = column.values.map((value, row) =>
      roundDecimal(value, scale, Math.max(0, placesAt(row))),
    );
    return {
      ...column,
      values,
      valid: allValid(places === undefined ? [column] : [column, places]),
    };
  }
  const rounded =
    familyOf(call.type) === 'float'
      ? floats(column, call, (value, row) => roundTo(value, placesAt(row)))
      : column;
  return {
    ...rounded,
    valid: allValid(places === undefined ? [column] : [column, places]),
  } as Column;
});

const truncUsage = 'trunc(number[, digits])';
const truncWhole = rounding('trunc', Math.trunc, (value, factor) => value / factor);

/** Truncates to a number of decimal places; negative counts digits before the point. */
function truncTo(value: number, digits: number): number {
  const factor = 10 ** digits;
  const result = Math.trunc(value * factor) / factor;
  return Number.isFinite(result) ? result : digits < 0 && Number.isFinite(value) ? 0 : value;
}

const truncKernel: Kernel = kernelOf(2, ([column, places], call) => {
  const digits = bigintsOf(places);
  const clamped = (row: number): number => Math.max(-400, Math.min(400, Number(digits[row])));
  const values = doublesOf(column).map((value, row) => truncTo(value, clamped(row)));
  return { kind: 'number', length: call.length, values, valid: allValid([column, places]) };
});

const truncDigits = plainFunction({
  usage: truncUsage,
  parameters: ['float', 'integer'],
  result: float64Type,
  kernel: truncKernel,
});

const truncRow: FunctionRow = {
  usage: truncUsage,
  bind(made) {
    checkCount(truncUsage, made, 1, 2);
    return (made.arguments.length === 1 ? truncWhole : truncDigits).bind(made);
  },
};

function keepType([type]: readonly DataType[]): DataType {
  return type!;
}

const ceilRow = rounding('ceil', Math.ceil, (value, factor) => -floorWhole(-value, factor));

/** Functions that round or truncate. */
export const roundingFunctions: Readonly<Record<string, FunctionRow>> = {
  ceil: ceilRow,
  ceiling: ceilRow,
  floor: rounding('floor', Math.floor, floorWhole),
  trunc: truncRow,
  round: plainFunction({
    usage: 'round(number[, digits])',
    parameters: ['number', 'integer'],
    required: 1,
    result: keepType,
    kernel: roundKernel,
  }),
};
