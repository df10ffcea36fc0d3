import type { Kernel, KernelCall } from '../bound.ts';
import type { BytesColumn, Column } from '../column.ts';
import { maskStates, newStates, statesColumn, truth } from '../column.ts';
import { allValid, buildTexts, bytesOf, textAt } from '../text.ts';
import { bigintsOf } from '../widen.ts';

/** Reads the arguments of one row. */
export interface Arguments {
  /** The text of argument `at`. */
  text(at: number): string;
  /** The integer of argument `at`. */
  integer(at: number): bigint;
  /** Whether the call has argument `at`. */
  has(at: number): boolean;
}

class RowArguments implements Arguments {
  readonly #columns: readonly Column[];
  readonly #integers: readonly (BigInt64Array | BigUint64Array | undefined)[];
  row = 0;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    this.#integers = columns.map((column) =>
      column.kind === 'number' || column.kind === 'bigint' ? bigintsOf(column) : undefined,
    );
  }

  text(at: number): string {
    return textAt(bytesOf(this.#columns[at]!), this.row);
  }

  integer(at: number): bigint {
    return this.#integers[at]![this.row]!;
  }

  has(at: number): boolean {
    return at < this.#columns.length;
  }
}

/** A function to text that is null where an argument is. */
export function toText(compute: (args: Arguments, call: KernelCall) => string): Kernel {
  return (columns, call) => {
    const args = new RowArguments(columns);
    return buildTexts(call.length, allValid(columns), call.position, (row) => {
      args.row = row;
      return compute(args, call);
    });
  };
}

/** A function to a 32-bit integer that is null where an argument is. */
export function toInt32(compute: (args: Arguments) => number): Kernel {
  return (columns, call) => {
    const args = new RowArguments(columns);
    const valid = allValid(columns);
    const values = new Int32Array(call.length);
    for (let row = 0; row < values.length; row++) {
      if (valid === null || valid[row] === 1) {
        args.row = row;
        values[row] = compute(args);
      }
    }
    return { kind: 'number', length: call.length, values, valid };
  };
}

/** A test on the bytes of a text and of a part, each from its start to its end. */
export type BytesTest = (text: BytesColumn, part: BytesColumn, row: number) => boolean;

/** A test of two texts that is UNKNOWN where one is null. */
export function testBytes(test: BytesTest): Kernel {
  return ([left, right], call) => {
    const [texts, parts] = [bytesOf(left!), bytesOf(right!)];
    const states = newStates(call.length);
    const valid = allValid([texts, parts]);
    for (let row = 0; row < states.length; row++) {
      const open = valid === null || valid[row] === 1;
      states[row] = open && test(texts, parts, row) ? truth.true : truth.false;
    }
    maskStates(states, valid);
    return statesColumn(states);
  };
}
