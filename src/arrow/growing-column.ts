import { Bool, Utf8, Vector, type Data, type DataType } from 'apache-arrow';
import { dataOf } from './data.ts';
import { BitBuffer, NumberBuffer, TextBuffer, type BufferArray } from './growing-buffers.ts';

/** A column that grows by one value after the other. It keeps no value: only the memory of the column. */
export interface GrowingColumn<Value> {
  add(value: Value): void;
  addNulls(count: number): void;
  /** The column of the values so far; none are left. */
  take(): Data;
}

/** Adds a value, or a row without one. */
export function addTo<Value>(column: GrowingColumn<Value>, value: Value | null): void {
  if (value === null) column.addNulls(1);
  else column.add(value);
}

export class AddedNumbers<Values extends BufferArray> implements GrowingColumn<Values[number]> {
  readonly #type: DataType;
  readonly #values: NumberBuffer<Values>;
  readonly #zero: Values[number];
  readonly #present = new BitBuffer();

  constructor(type: DataType, values: NumberBuffer<Values>, zero: Values[number]) {
    this.#type = type;
    this.#values = values;
    this.#zero = zero;
  }

  add(value: Values[number]): void {
    this.#present.add(true);
    this.#values.add(value);
  }

  addNulls(count: number): void {
    this.#present.add(false, count);
    this.#values.add(this.#zero, count);
  }

  take(): Data {
    return dataOf(this.#type, { ...validityOf(this.#present), values: this.#values.take() });
  }
}

export class AddedFlags implements GrowingColumn<boolean> {
  readonly #present = new BitBuffer();
  readonly #values = new BitBuffer();

  add(value: boolean): void {
    this.#present.add(true);
    this.#values.add(value);
  }

  addNulls(count: number): void {
    this.#present.add(false, count);
    this.#values.add(false, count);
  }

  take(): Data {
    const { bytes: values } = this.#values.take();
    return dataOf(new Bool(), { ...validityOf(this.#present), values });
  }
}

export class AddedTexts implements GrowingColumn<string> {
  readonly #present = new BitBuffer();
  readonly #texts = new TextBuffer();

  add(value: string): void {
    this.#present.add(true);
    this.#texts.add(value);
  }

  addNulls(count: number): void {
    this.#present.add(false, count);
    this.#texts.addEmpty(count);
  }

  take(): Data {
    return dataOf(new Utf8(), { ...validityOf(this.#present), ...this.#texts.take() });
  }
}

export class AddedWords implements GrowingColumn<string> {
  readonly #type: DataType;
  readonly #present = new BitBuffer();
  readonly #codes = new NumberBuffer(Int32Array);
  readonly #places = new Map<string, number>();
  /** The last word, and how often it was added: neighbours are often equal. */
  #last = '';
  #times = 0;

  constructor(type: DataType) {
    this.#type = type;
  }

  add(value: string): void {
    if (value !== this.#last) {
      this.#addLast();
      this.#last = value;
    }
    this.#times += 1;
  }

  addNulls(count: number): void {
    this.#addLast();
    this.#present.add(false, count);
    this.#codes.add(0, count);
  }

  take(): Data {
    this.#addLast();
    const dictionary = new Vector([textsOf(this.#places.keys())]);
    this.#places.clear();
    this.#last = '';
    return dataOf(this.#type, {
      ...validityOf(this.#present),
      values: this.#codes.take(),
      dictionary,
    });
  }

  #addLast(): void {
    if (this.#times === 0) return;
    this.#present.add(true, this.#times);
    this.#codes.add(this.#placeOf(this.#last), this.#times);
    this.#times = 0;
  }

  #placeOf(value: string): number {
    const place = this.#places.get(value);
    if (place !== undefined) return place;
    this.#places.set(value, this.#places.size);
    return this.#places.size - 1;
  }
}

export class AddedLists<Value> implements GrowingColumn<readonly Value[]> {
  readonly #type: DataType;
  readonly #items: GrowingColumn<Value>;
  readonly #present = new BitBuffer();
  readonly #ends = new NumberBuffer(Int32Array);
  #end = 0;

  constructor(type: DataType, items: GrowingColumn<Value>) {
    this.#type = type;
    this.#items = items;
    this.#ends.add(0);
  }

  add(value: readonly Value[]): void {
    this.#present.add(true);
    for (const item of value) this.#items.add(item);
    this.#end += value.length;
    this.#ends.add(this.#end);
  }

  addNulls(count: number): void {
    this.#present.add(false, count);
    this.#ends.add(this.#end, count);
  }

  take(): Data {
    const offsets = this.#ends.take();
    this.#ends.add(0);
    this.#end = 0;
    const children = [this.#items.take()];
    return dataOf(this.#type, { ...validityOf(this.#present), offsets, children });
  }
}

interface Part<Value> {
  readonly name: keyof Value;
  readonly column: GrowingColumn<NonNullable<Value[keyof Value]>>;
}

export class AddedStructs<Value extends object> implements GrowingColumn<Value> {
  readonly #type: DataType;
  readonly #parts: readonly Part<Value>[];
  readonly #present = new BitBuffer();
  /** Rows without a value after the last one with a value. */
  #nulls = 0;

  constructor(type: DataType, parts: readonly Part<Value>[]) {
    this.#type = type;
    this.#parts = parts;
  }

  add(value: Value): void {
    if (this.#nulls > 0) this.#endNulls();
    this.#present.add(true);
    for (const { name, column } of this.#parts) addTo(column, value[name] ?? null);
  }

  addNulls(count: number): void {
    this.#nulls += count;
  }

  take(): Data {
    this.#endNulls();
    const children = this.#parts.map(({ column }) => column.take());
    return dataOf(this.#type, { ...validityOf(this.#present), children });
  }

  #endNulls(): void {
    this.#present.add(false, this.#nulls);
    for (const { column } of this.#parts) column.addNulls(this.#nulls);
    this.#nulls = 0;
  }
}

/** Length and nulls of a column. */
function validityOf(present: BitBuffer) {
  const { length, unset: nullCount, bytes } = present.take();
  return { length, nullCount, validity: nullCount === 0 ? undefined : bytes };
}

function textsOf(words: Iterable<string>): Data {
  const column = new AddedTexts();
  for (const word of words) column.add(word);
  return column.take();
}
