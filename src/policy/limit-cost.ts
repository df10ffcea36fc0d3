import type { OperationName } from '../protocol/operation-name.ts';
import type { AccessGroup } from '../protocol/operation.ts';
import { operations } from '../protocol/operations.ts';

/** Stands for every operation that no other entry names. */
const OTHERS = '*';

/** What a request costs, by operation, access group or `*`; the nearest entry counts, and 1 where there is none. */
export function costOf(entries: ReadonlyMap<string, number>): (operation: OperationName) => number {
  return (operation) => {
    const group: AccessGroup = operations[operation].access;
    return entries.get(operation) ?? entries.get(group) ?? entries.get(OTHERS) ?? 1;
  };
}
