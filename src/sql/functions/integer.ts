import type { Kernel } from '../evaluate/bound.ts';
import { SqlError } from '../values/sql-error.ts';
import { int64Type } from '../cast/literals.ts';
import { allValid } from '../values/text.ts';
import { bigintsOf } from '../values/widen.ts';
import { plainFunction, type FunctionRow } from './function-row.ts';

const greatestInteger = (1n << 63n) - 1n;

/** A function of integers. Throws SqlError `overflow` for a result beyond int64. */
function integerRow(
  usage: string,
  count: number,
  compute: (values: readonly bigint[]) => bigint,
): FunctionRow {
  const kernel: Kernel = (columns, { length, position, name }) => {
    const all = columns.map(bigintsOf);
    const valid = allValid(columns);
    const values = new BigInt64Array(length);
    for (let row = 0; row < length; row++) {
      if (valid === null || valid[row] === 1) {
        const given = all.map((each) => each[row]!);
        const result = compute(given);
        if (result > greatestInteger) {
          const message = `expected a result within int64, found ${name}(${given.join(', ')})`;
          throw new SqlError('overflow', message, position);
        }
        values[row] = result;
      }
    }
    return { kind: 'bigint', length, values, valid };
  };
  const parameters = Array.from({ length: count }, () => 'integer' as const);
  return plainFunction({ usage, parameters, result: int64Type, kernel, fallible: true });
}

/** 1 below 2, as in DataFusion; beyond 20 it fits no int64. */
function factorialOf(value: bigint): bigint {
  let result = 1n;
  for (let factor = 2n; factor <= value && result <= greatestInteger; factor++) result *= factor;
  return result;
}

function gcdOf(left: bigint, right: bigint): bigint {
  let [a, b] = [left < 0n ? -left : left, right < 0n ? -right : right];
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function lcmOf(left: bigint, right: bigint): bigint {
  const divisor = gcdOf(left, right);
  const product = divisor === 0n ? 0n : (left / divisor) * right;
  return product < 0n ? -product : product;
}

/** Functions of whole numbers. */
export const integerFunctions: Readonly<Record<string, FunctionRow>> = {
  factorial: integerRow('factorial(integer)', 1, ([value]) => factorialOf(value!)),
  gcd: integerRow('gcd(integer, integer)', 2, ([a, b]) => gcdOf(a!, b!)),
  lcm: integerRow('lcm(integer, integer)', 2, ([a, b]) => lcmOf(a!, b!)),
};
