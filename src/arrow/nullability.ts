import type { Data, Field } from 'apache-arrow';
import { isNull, nullCountOf } from './data.ts';
import { ArrowError } from './errors.ts';
import { layoutOf } from './layout.ts';
import { childrenOf } from './nested-type.ts';

/**
 * Checks that fields which are not nullable have no nulls, at every level.
 * Where a struct or fixed-size list is itself null, its children may be null
 * (Arrow columnar format, "Struct Layout"). Throws `mismatch`.
 */
export function checkNullable(field: Field, data: Data, name: string, parent?: Data): void {
  if (!field.nullable && nullCountOf(data) > 0) checkMasked(data, name, parent);
  const layout = layoutOf(data.type);
  const mask = layout === 'struct' || layout === 'fixed-list' ? data : undefined;
  childrenOf(field.type).forEach((child, index) => {
    checkNullable(child, data.children[index]!, `${name}.${child.name}`, mask);
  });
}

function checkMasked(data: Data, name: string, parent: Data | undefined): void {
  const perRow = parent === undefined || parent.length === 0 ? 1 : data.length / parent.length;
  for (let row = 0; row < data.length; row++) {
    const hidden = parent !== undefined && isNull(parent, Math.floor(row / perRow));
    if (!hidden && isNull(data, row)) {
      throw new ArrowError('mismatch', `Column "${name}" is not nullable, but has nulls.`);
    }
  }
}
