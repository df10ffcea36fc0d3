import {
  DataType,
  Field,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  vectorFromArray,
  type Data,
  type DataType as DataTypeClass,
  type Vector,
} from 'apache-arrow';
import { bindExpression, bindPredicate } from '../../src/sql/bind.ts';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import { countSelected, evaluate, selectRows } from '../../src/sql/evaluate.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { sameType } from '../../src/arrow/types.ts';
import { sqlTypeName } from '../../src/sql/values/types.ts';

/** A batch of named vectors, each of one piece. */
export function batchOf(columns: Readonly<Record<string, Vector>>): RecordBatch {
  const fields = Object.entries(columns).map(([name, { type }]) => new Field(name, type, true));
  const children: Data[] = Object.values(columns).map((vector) => vector.data[0]!);
  const length = children[0]?.length ?? 0;
  return new RecordBatch(
    new Schema(fields),
    makeData({ type: new Struct(fields), length, children }),
  );
}

/** A vector of values of a type. */
export function column(type: DataTypeClass, values: readonly unknown[]): Vector {
  return vectorFromArray(values, type);
}

/** The digits of a decimal without its point, from its little-endian words. */
function decimalAt(words: Uint32Array, row: number, bits: number): string {
  const count = bits / 32;
  const own = Array.from(words.subarray(row * count, (row + 1) * count)).reverse();
  return String(
    BigInt.asIntN(
      bits,
      own.reduce((value, word) => (value << 32n) | BigInt(word), 0n),
    ),
  );
}

/** A row's value; times and timestamps as their exact steps. */
function valueAt(vector: Vector, row: number): unknown {
  const data = vector.data[0]!;
  const { type } = data;
  if (!data.getValid(row)) {
    return null;
  }
  if (DataType.isTimestamp(type) || DataType.isTime(type) || DataType.isDate(type)) {
    return data.values[row];
  }
  if (DataType.isDecimal(type)) {
    return decimalAt(data.values as Uint32Array, row, type.bitWidth);
  }
  const value: unknown = vector.get(row);
  return DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type)
    ? Array.from(value as Vector)
    : value;
}

/** The values of a vector, row by row. */
export function valuesOf(vector: Vector): readonly unknown[] {
  return Array.from({ length: vector.length }, (_, row) => valueAt(vector, row));
}

/** The values of an expression for each row of a batch. */
export function ask(text: string, batch: RecordBatch): readonly unknown[] {
  return valuesOf(evaluate(bindExpression(parseExpression(text), batch.schema), batch));
}

/** The value of an expression without columns. */
export function constant(text: string): unknown {
  return ask(text, oneRow)[0];
}

/** The rows of a batch that a predicate selects. */
export function select(text: string, batch: RecordBatch): readonly number[] {
  const bound = bindPredicate(parseExpression(text), batch.schema);
  const rows = Array.from(selectRows(bound, batch));
  // To count them is another loop: each test of rows is one of that, too.
  if (countSelected(bound, batch) !== rows.length) throw new Error(`${text}: miscounted`);
  return rows;
}

/** The type of an expression, as Arrow writes it. */
export function typeOf(text: string, batch: RecordBatch): string {
  const bound = bindExpression(parseExpression(text), batch.schema);
  const vector = evaluate(bound, batch);
  if (!sameType(vector.type as DataTypeClass, bound.type)) {
    throw new Error(`bound as ${sqlTypeName(bound.type)}, computed as ${String(vector.type)}`);
  }
  return String(vector.type);
}

/** The kind and the whole message of what an expression is refused with. */
export function refusal(text: string, batch: RecordBatch = oneRow): string {
  try {
    ask(text, batch);
  } catch (error) {
    if (error instanceof SqlError) {
      return `${error.kind}: ${error.message}`;
    }
    throw error;
  }
  return 'accepted';
}

const oneRow = new RecordBatch(
  new Schema([]),
  makeData({ type: new Struct([]), length: 1, children: [] }),
);
