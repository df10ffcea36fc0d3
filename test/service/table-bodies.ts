import {
  Bool,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  makeData,
  vectorFromArray,
  type DataType,
  type Vector,
} from 'apache-arrow';

/** A column of a table that is sent: its type, and its values. */
interface Column {
  readonly type: DataType;
  readonly nullable?: boolean;
  readonly values: readonly unknown[];
}

/** The type of vectors of so many floats. */
export function vectorsOf(length: number): DataType {
  return new FixedSizeList(length, new Field('item', new Float32(), true));
}

const rows: Readonly<Record<string, Column>> = {
  id: { type: new Int64(), nullable: false, values: [1n, 2n, 3n] },
  name: { type: new Utf8(), values: ['one', 'two', null] },
  price: { type: new Float64(), values: [1.5, null, 3] },
  ok: { type: new Bool(), values: [true, false, null] },
  v: { type: vectorsOf(3), values: vectors(3) },
  w: { type: vectorsOf(3), values: vectors(3) },
};

function vectors(length: number): readonly (readonly number[])[] {
  return [0, 1, 2].map((row) => Array.from({ length }, (_, at) => row + at));
}

/** An Arrow stream of some columns. */
export function streamOf(columns: Readonly<Record<string, Column>>): Uint8Array {
  const fields = Object.entries(columns).map(
    ([name, { type, nullable = true }]) => new Field(name, type, nullable),
  );
  const values: Record<string, Vector> = {};
  for (const [name, { type, values: own }] of Object.entries(columns)) {
    values[name] = vectorFromArray(own, type);
  }
  return tableToIPC(new Table(new Schema(fields), values), 'stream');
}

/** Rows of a table with two columns of vectors of one length. */
export const goodRows = streamOf(rows);

/** Rows with one column of vectors. */
export const oneVector = streamOf({ id: rows['id']!, v: rows['v']! });

/** Rows without vectors. */
export const noVector = streamOf({ id: rows['id']!, name: rows['name']! });

export const wrongRows = {
  extraColumn: streamOf({ ...rows, more: { type: new Int32(), values: [1, 2, 3] } }),
  missingKey: streamOf({ name: rows['name']! }),
  wrongType: streamOf({
    ...rows,
    id: { type: new Utf8(), nullable: false, values: ['1', '2', '3'] },
  }),
  wrongLength: streamOf({ ...rows, v: { type: vectorsOf(4), values: vectors(4) } }),
  nullInKey: streamOf({ ...rows, id: { type: new Int64(), values: [1n, null, 3n] } }),
  badText: damaged(textBatch([0, 3, 6, 9], 0xff)),
  badOffsets: damaged(textBatch([0, 9, 3, 9], 0x61)),
};

/** A stream with one column of a name that queries use. */
export function columnCalled(name: string): Uint8Array {
  return streamOf({ [name]: { type: new Int64(), values: [1n] } });
}

/** Three texts with these offsets, all of whose bytes are the same. */
function textBatch(offsets: readonly number[], byte: number): RecordBatch {
  const schema = new Schema([new Field('name', new Utf8(), false)]);
  const text = makeData({
    type: new Utf8(),
    length: 3,
    nullCount: 0,
    data: new Uint8Array(9).fill(byte),
    valueOffsets: Int32Array.from(offsets),
  });
  const type = new Struct(schema.fields);
  return new RecordBatch(schema, makeData({ type, length: 3, nullCount: 0, children: [text] }));
}

function damaged(batch: RecordBatch): Uint8Array {
  return tableToIPC(new Table([batch]), 'stream');
}
