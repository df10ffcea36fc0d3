import type { Data, Field, Union } from 'apache-arrow';
import { corrupt } from './arrow-error.ts';
import { isText, layoutOf, type Layout } from './layout.ts';
import { childrenOf } from './nested-type.ts';
import { checkNullable } from './nullability.ts';
import { checkOffsets, checkText, checkViews } from './validate-offsets.ts';
import { getBit } from './bitmap.ts';
import { nullCountOf, type TypedArray } from './data.ts';

type Check = (data: Data, name: string) => void;

const nothing: Check = () => undefined;

const checks: Readonly<Record<Layout, Check>> = {
  null: nothing,
  bool: nothing,
  fixed: nothing,
  bytes: checkBytes,
  'large-bytes': checkBytes,
  view: checkViews,
  list: checkList,
  'large-list': checkList,
  'fixed-list': nothing,
  struct: nothing,
  'sparse-union': checkUnion,
  'dense-union': checkUnion,
  dictionary: checkIndices,
};

/**
 * Checks what stands in the buffers of decoded columns: offsets, views,
 * indices and type ids lead inside, text is valid UTF-8, and a field that is
 * not nullable has no nulls. Throws `corrupt`, or `mismatch` for such nulls.
 */
export function validateColumns(fields: readonly Field[], columns: readonly Data[]): void {
  fields.forEach((field, index) => {
    checkNullable(field, columns[index]!, field.name);
    validateData(columns[index]!, field.name);
  });
}

/** Checks the buffers of one column. `name` is its name in errors. Throws `corrupt`. */
export function validateData(data: Data, name: string): void {
  checks[layoutOf(data.type)](data, name);
  childrenOf(data.type).forEach((child, index) => {
    validateData(data.children[index]!, `${name}.${child.name}`);
  });
}

function checkBytes(data: Data, name: string): void {
  const { values, valueOffsets, length } = data;
  const range = checkOffsets(valueOffsets, length, values.length, name);
  if (isText(data.type)) checkText(values, valueOffsets, range, length, name);
}

function checkList(data: Data, name: string): void {
  const [child] = data.children;
  if (child === undefined) throw corrupt(`Column "${name}" is a list without items.`);
  checkOffsets(data.valueOffsets, data.length, child.length, name);
}

/** Checks that the index of every row that is not null lies in the dictionary. Throws `corrupt`. */
function checkIndices(data: Data, name: string): void {
  const { length, offset, nullBitmap } = data;
  const indices: Exclude<TypedArray, BigInt64Array | BigUint64Array> = data.values;
  const size = data.dictionary?.length ?? 0;
  const bits = nullCountOf(data) > 0 ? nullBitmap : undefined;
  for (let row = 0; row < length; row++) {
    const index = indices[row]!;
    if (index >= 0 && index < size) continue;
    // Without a bitmap every row of a column with nulls is null.
    if (bits !== undefined && (bits.length === 0 || !getBit(bits, offset + row))) continue;
    const range = `${index}, the dictionary has ${size} values`;
    throw corrupt(`Row ${row} of column "${name}" has the dictionary index ${range}.`);
  }
}

/**
 * Checks that each row of a union names one of its children and, in a dense
 * union, a row that the child has, none before the one named last (Arrow
 * format, "Dense Union"). Throws `corrupt`.
 */
function checkUnion(data: Data, name: string): void {
  const typeIds: Int8Array = data.typeIds;
  const offsets: Int32Array | undefined = data.valueOffsets;
  const lengths = new Int32Array(128).fill(-1);
  const reached = new Int32Array(128);
  const { typeIds: ids } = data.type as Union;
  ids.forEach((id, index) => (lengths[id] = data.children[index]!.length));
  for (let row = 0; row < data.length; row++) {
    const id = typeIds[row]!;
    const length = id < 0 ? -1 : lengths[id]!;
    if (length < 0) throw corrupt(`Row ${row} of column "${name}" has the unknown type id ${id}.`);
    const at = offsets === undefined ? row : offsets[row]!;
    if (at < reached[id]! || at >= length) {
      throw corrupt(
        `Row ${row} of column "${name}" leads outside the union's child or back in it.`,
      );
    }
    reached[id] = at;
  }
}
