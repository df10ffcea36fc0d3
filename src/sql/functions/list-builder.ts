import type { KernelCall } from '../evaluate/bound.ts';
import type { Column, ListColumn, Valid } from '../values/column.ts';
import { SqlError } from '../values/sql-error.ts';
import { maxListElements } from '../values/limits.ts';
import { hold, spend } from '../values/meter.ts';
import { takeRows } from '../values/take.ts';

/** Appends an element, by its row among all elements, to the current list. */
export type Emit = (element: number) => void;

/** The error for lists with too many elements. */
export function tooManyElements({
  name,
  position,
}: Pick<KernelCall, 'name' | 'position'>): SqlError {
  const message = `expected at most ${maxListElements} elements of lists in a batch from ${name}, found more`;
  return new SqlError('limit', message, position);
}

/** Collects row numbers of elements; the elements are copied once at the end. */
class ElementRows {
  #rows = new Uint32Array(1024);
  length = 0;

  push(row: number): void {
    if (this.length === this.#rows.length) {
      hold(this.length * 4);
      const larger = new Uint32Array(this.length * 2);
      larger.set(this.#rows);
      this.#rows = larger;
    }
    this.#rows[this.length] = row;
    this.length++;
  }

  all(): Uint32Array {
    return this.#rows.slice(0, this.length);
  }
}

/**
 * Lists of elements that are there already, made row by row where `valid` has a value.
 * Throws SqlError `limit` when they have more than 4,194,304 elements.
 */
export function buildLists(
  elements: Column,
  valid: Valid,
  call: Pick<KernelCall, 'name' | 'position' | 'length'>,
  make: (row: number, emit: Emit) => void,
): ListColumn {
  const { length } = call;
  const rows = new ElementRows();
  const [starts, ends] = [new Uint32Array(length), new Uint32Array(length)];
  const emit: Emit = (element) => {
    if (rows.length >= maxListElements) throw tooManyElements(call);
    spend(8);
    rows.push(element);
  };
  for (let row = 0; row < length; row++) {
    starts[row] = rows.length;
    if (valid === null || valid[row] === 1) make(row, emit);
    ends[row] = rows.length;
  }
  return { kind: 'list', length, child: takeRows(elements, rows.all()), starts, ends, valid };
}
