import { endAt, startAt } from '../../arrow/spans.ts';
import type { Bound, Kernel, KernelCall } from '../evaluate/bound.ts';
import { castTo } from '../cast/coerce.ts';
import { isValid, type Column } from '../values/column.ts';
import { listType } from '../bind/element.ts';
import { SqlError } from '../values/sql-error.ts';
import { maxListElements } from '../values/limits.ts';
import { listsOf } from '../values/lists.ts';
import { float64Type, int64Type } from '../cast/literals.ts';
import { hold, spend } from '../values/meter.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { allValid } from '../values/text.ts';
import { elementType, familyOf } from '../values/types.ts';
import { bigintsOf, doublesOf } from '../values/widen.ts';
import { checkCount, fitArgument, wrongArgument, type FunctionRow } from './function-row.ts';
import { tooManyElements } from './list-builder.ts';
import { listArgument } from './list.ts';

/** Count of numbers from `start` to `stop` in steps of `step`; `closed` includes `stop`. */
function countOf(
  [start, stop, step]: readonly [bigint, bigint, bigint],
  closed: boolean,
  made: KernelCall,
): number {
  if (step === 0n) {
    throw new SqlError(
      'value',
      `expected a step other than 0 in ${made.name}, found 0`,
      made.position,
    );
  }
  const distance = step > 0n ? stop - start : start - stop;
  const size = step > 0n ? step : -step;
  const count = distance < 0n ? 0n : closed ? distance / size + 1n : (distance + size - 1n) / size;
  if (count > BigInt(maxListElements)) throw tooManyElements(made);
  return Number(count);
}

function rangeKernel(closed: boolean): Kernel {
  return (columns, made) => {
    const all = columns.map(bigintsOf);
    const valid = allValid(columns);
    const { length } = made;
    const [starts, ends] = [new Uint32Array(length), new Uint32Array(length)];
    const firsts: (readonly [start: bigint, step: bigint])[] = [];
    hold(length * 64);
    for (let row = 0, size = 0; row < length; row++) {
      starts[row] = size;
      if (valid === null || valid[row] === 1) {
        const given = all.map((values) => values[row]!);
        const [start, stop, step] = given.length === 1 ? [0n, given[0]!, 1n] : given;
        spend(64);
        size += countOf([start!, stop!, step ?? 1n], closed, made);
        firsts[row] = [start!, step ?? 1n];
      }
      if (size > maxListElements) throw tooManyElements(made);
      ends[row] = size;
    }
    const total = ends[length - 1] ?? 0;
    hold(total * 8);
    const values = new BigInt64Array(total);
    for (let row = 0; row < length; row++) {
      let [value, step] = firsts[row] ?? [0n, 0n];
      for (let at = starts[row]!; at < ends[row]!; at++, value += step) {
        spend(8);
        values[at] = value;
      }
    }
    const child: Column = { kind: 'bigint', length: values.length, values, valid: null };
    return { kind: 'list', length, child, starts, ends, valid };
  };
}

function rangeRow(name: string, closed: boolean): FunctionRow {
  const usage = `${name}([start, ]stop[, step])`;
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, 3);
      return call({
        name: made.name,
        type: listType(int64Type),
        arguments: made.arguments.map((each, at) => fitArgument(usage, 'integer', each, at + 1)),
        kernel: rangeKernel(closed),
        position: made.position,
        fallible: true,
      });
    },
  };
}

const distanceUsage = 'array_distance(list, list)';

/** The distance of two points; null where one has a null. */
const distanceKernel: Kernel = (columns, made) => {
  const [left, right] = columns.map(listsOf);
  const [a, b] = [left!, right!].map(({ child }) =>
    child.kind === 'null' ? new Float64Array(child.length) : doublesOf(child),
  );
  const { length } = made;
  const values = new Float64Array(length);
  const valid = Uint8Array.from(allValid(columns) ?? new Uint8Array(length).fill(1));
  for (let row = 0; row < length; row++) {
    const [from, to] = [startAt(left!, row), startAt(right!, row)];
    const size = endAt(left!, row) - from;
    if (valid[row] === 1 && size !== endAt(right!, row) - to) {
      const found = `${size} and ${endAt(right!, row) - to}`;
      const message = `expected two lists of one length in array_distance, found ${found} elements`;
      throw new SqlError('value', message, made.position);
    }
    let sum = 0;
    for (let at = 0; at < size && valid[row] === 1; at++) {
      spend(8);
      sum += (a![from + at]! - b![to + at]!) ** 2;
      const known = isValid(left!.child, from + at) && isValid(right!.child, to + at);
      valid[row] = known ? 1 : 0;
    }
    values[row] = Math.sqrt(sum);
  }
  return { kind: 'number', length, values, valid };
};

const distanceRow: FunctionRow = {
  usage: distanceUsage,
  bind(made) {
    checkCount(distanceUsage, made, 2, 2);
    const type = listType(float64Type);
    const points = made.arguments.map((argument, at): Bound => {
      if (familyOf(argument.type) === 'null') return nullLiteral(type, argument.position);
      const list = listArgument(distanceUsage, made, at);
      const family = familyOf(elementType(list.type));
      if (family !== 'null' && family !== 'integer' && family !== 'float' && family !== 'decimal') {
        throw wrongArgument(distanceUsage, 'a list of numbers', at + 1, argument);
      }
      return castTo(list, type, argument.position);
    });
    return call({
      name: made.name,
      type: float64Type,
      arguments: points,
      kernel: distanceKernel,
      position: made.position,
      fallible: true,
    });
  },
};

/** Lists of numbers in a row, and the distance of lists of numbers. */
export const listNumberFunctions: Readonly<Record<string, FunctionRow>> = {
  array_distance: distanceRow,
  list_distance: distanceRow,
  range: rangeRow('range', false),
  generate_series: rangeRow('generate_series', true),
};
