import {
  Field,
  FixedSizeList,
  Float32,
  makeData,
  makeVector,
  type DataType,
  type Vector,
} from 'apache-arrow';

/** The type of vectors of a length: nullable items, as the LanceDB client writes them. */
export function vectorType(length: number, item: DataType = new Float32()): FixedSizeList {
  return new FixedSizeList(length, new Field('item', item, true));
}

/** A column of vectors; null for a row without one. */
export function vectorsOf(length: number, rows: readonly (ArrayLike<number> | null)[]): Vector {
  const data = new Float32Array(rows.length * length);
  const nullBitmap = new Uint8Array(Math.ceil(rows.length / 8));
  rows.forEach((row, index) => {
    if (row === null) return;
    nullBitmap[index >> 3]! |= 1 << (index & 7);
    for (let at = 0; at < length; at++) data[index * length + at] = row[at]!;
  });
  const child = makeData({ type: new Float32(), data });
  const nullCount = rows.filter((row) => row === null).length;
  const type = vectorType(length);
  return makeVector(makeData({ type, length: rows.length, nullCount, nullBitmap, child }));
}
