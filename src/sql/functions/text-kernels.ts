import { kernelOf, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import {
  maskStates,
  newStates,
  statesColumn,
  truth,
  type BytesColumn,
  type Column,
} from '../values/column.ts';
import { allValid, buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { hold, spend } from '../values/meter.ts';
import { bigintsOf } from '../values/widen.ts';

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
    return textAt(textColumnOf(this.#columns[at]!), this.row);
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
export function toInt32(compute: (args: Arguments, call: KernelCall) => number): Kernel {
  return (columns, call) => {
    const args = new RowArguments(columns);
    const valid = allValid(columns);
    const values = new Int32Array(call.length);
    for (let row = 0; row < values.length; row++) {
      if (valid === null || valid[row] === 1) {
        args.row = row;
        values[row] = compute(args, call);
      }
    }
    return { kind: 'number', length: call.length, values, valid };
  };
}

/** A test on the bytes of a text and of a part, each from its start to its end. */
export type BytesTest = (text: BytesColumn, part: BytesColumn, row: number) => boolean;

/** A test of two texts that is UNKNOWN where one is null. */
export function testBytes(test: BytesTest): Kernel {
  return kernelOf(2, ([left, right], call) => {
    const [texts, parts] = [textColumnOf(left), textColumnOf(right)];
    const states = newStates(call.length);
    const valid = allValid([texts, parts]);
    for (let row = 0; row < states.length; row++) {
      spend(8);
      const open = valid === null || valid[row] === 1;
      states[row] = open && test(texts, parts, row) ? truth.true : truth.false;
    }
    maskStates(states, valid);
    return statesColumn(states);
  });
}

/** The bytes of a column's values if they are ASCII and fill most of its buffer. */
function asciiBytes({ bytes, starts, ends, length }: BytesColumn): Uint8Array | undefined {
  let used = 0;
  for (let row = 0; row < length; row++) used += ends[row]! - starts[row]!;
  if (used * 2 < bytes.length) return undefined;
  let bits = 0;
  for (let at = 0; at < bytes.length; at++) bits |= bytes[at]!;
  return bits < 0x80 ? bytes : undefined;
}

/** `lower` and `upper`: ASCII keeps its length, so the bytes are converted in place. */
export function caseKernel(convert: (text: string) => string): Kernel {
  const table = Uint8Array.from({ length: 128 }, (_, code) =>
    convert(String.fromCharCode(code)).charCodeAt(0),
  );
  const slow = toText((args) => convert(args.text(0)));
  return (columns, call) => {
    const texts = textColumnOf(columns[0]!);
    const ascii = asciiBytes(texts);
    return ascii === undefined ? slow(columns, call) : { ...texts, bytes: converted(ascii, table) };
  };
}

/** Maps bytes through a table, charging the budget in between. */
function converted(bytes: Uint8Array, table: Uint8Array): Uint8Array {
  hold(bytes.length);
  const made = new Uint8Array(bytes.length);
  for (let from = 0; from < bytes.length; from += CHUNK) {
    const to = Math.min(bytes.length, from + CHUNK);
    spend(to - from);
    for (let at = from; at < to; at++) made[at] = table[bytes[at]!]!;
  }
  return made;
}

const CHUNK = 2 ** 16;

/** Copies a text with its characters in reverse order. */
function reverseInto(into: Uint8Array, bytes: Uint8Array, start: number, end: number): void {
  let to = end - start;
  for (let at = start; at < end;) {
    let next = at + 1;
    while (next < end && (bytes[next]! & 0xc0) === 0x80) next++;
    to -= next - at;
    into.set(bytes.subarray(at, next), to);
    at = next;
  }
}

/** `reverse`: the bytes of each character stay together, so every value keeps its length. */
export const reverseKernel: Kernel = (columns, { length }) => {
  const { bytes, starts, ends, valid } = textColumnOf(columns[0]!);
  hold(bytes.length);
  const reversed = new Uint8Array(bytes.length);
  for (let row = 0; row < length; row++) {
    spend(ends[row]! - starts[row]!);
    reverseInto(reversed.subarray(starts[row], ends[row]), bytes, starts[row]!, ends[row]!);
  }
  return { kind: 'bytes', length, bytes: reversed, starts, ends, valid };
};
