import type { Data, Field } from 'apache-arrow';
import { corrupt } from './errors.ts';
import { isText, type Layout, layoutOf } from './layout.ts';
import { childrenOf } from './nested-type.ts';
import { checkNullable } from './nullability.ts';
import { checkIndices } from './validate-indices.ts';
import { checkOffsets } from './validate-offsets.ts';
import { checkText } from './validate-text.ts';
import { checkUnion } from './validate-unions.ts';
import { checkViews } from './validate-views.ts';

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

/** Checks what stands in the buffers of one column. `name` stands for it in errors. Throws `corrupt`. */
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
