import type { DataType } from 'apache-arrow';
import type { Bound } from './bound.ts';
import { familyOf } from './types.ts';

/** A column, or a field of one, is handed out as the batch holds it; anything else as it was computed. */
export function isStored(node: Bound): boolean {
  return node.kind === 'column' || (node.kind === 'field' && isStoredStruct(node.operand));
}

/** A dictionary of structs has no fields that could be handed out. */
function isStoredStruct(node: Bound): boolean {
  const stored = node.kind === 'column' || node.kind === 'field';
  return stored && isStored(node) && familyOf(node.stored) === 'struct';
}

/** The type as the batch holds it; for anything but a column or a field of one, as it is computed. */
export function storedType(node: Bound): DataType {
  const stored = isStored(node) && (node.kind === 'column' || node.kind === 'field');
  return stored ? node.stored : node.type;
}
