import { Int32 } from 'apache-arrow';
import { kernelOf, type Bound, type Kernel } from '../evaluate/bound.ts';
import { dayNanoseconds } from '../values/calendar.ts';
import { SqlError } from '../values/sql-error.ts';
import { float64Type } from '../cast/literals.ts';
import { call } from '../evaluate/node.ts';
import { stepColumn } from '../evaluate/temporal.ts';
import { familyOf, stepOf } from '../values/types.ts';
import type { FunctionCall } from './function-row.ts';

const second = 1_000_000_000n;

/** Nanoseconds per unit of a duration; months have no fixed length. */
const units: ReadonlyMap<string, bigint> = new Map([
  ['week', 7n * dayNanoseconds],
  ['day', dayNanoseconds],
  ['hour', 3600n * second],
  ['minute', 60n * second],
  ['second', second],
  ['millisecond', 1_000_000n],
  ['microsecond', 1000n],
  ['epoch', second],
]);

const largest = 2n ** 31n - 1n;

function counted(length: bigint, unit: bigint, { name, position }: FunctionCall): number {
  const count = length / unit;
  if (count > largest || count < -largest - 1n) {
    const message = `expected a part within int32 from ${name}, found ${count}`;
    throw new SqlError('overflow', message, position);
  }
  return Number(count);
}

function partKernel(unit: bigint, made: FunctionCall): Kernel {
  return kernelOf(1, ([column], { length, type, types }) => {
    const from = stepColumn(column);
    const step = stepOf(types[0]);
    const isEpoch = familyOf(type) === 'float';
    const values = isEpoch ? new Float64Array(length) : new Int32Array(length);
    for (let row = 0; row < length; row++) {
      if (from.valid === null || from.valid[row] === 1) {
        const nanoseconds = BigInt(from.values[row]!) * step;
        values[row] = isEpoch
          ? Number(nanoseconds / second) + Number(nanoseconds % second) / 1e9
          : counted(nanoseconds, unit, made);
      }
    }
    return { kind: 'number', length, values, valid: from.valid };
  });
}

/** Number of whole units in a duration; `epoch` includes the fraction of a second. Undefined for other units. */
export function bindDurationPart(made: FunctionCall, name: string): Bound | undefined {
  const unit = units.get(name);
  return unit === undefined
    ? undefined
    : call({
        name: made.name,
        type: name === 'epoch' ? float64Type : new Int32(),
        arguments: [made.arguments[1]!],
        kernel: partKernel(unit, made),
        position: made.position,
        fallible: name !== 'epoch',
      });
}
