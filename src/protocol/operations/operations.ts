import { extensionOperations, specifiedOperations, type OperationName } from './operation-name.ts';
import type { AccessGroup, Action, Operation } from './operation.ts';
import { columnOperations, tableOperations } from './operations-table.ts';
import { jobExtensions, tableExtensions } from './operations-extension.ts';
import { indexOperations, rowOperations } from './operations-row.ts';
import { namespaceOperations } from './operations-namespace.ts';
import { referenceOperations } from './operations-reference.ts';
import { versionOperations } from './operations-version.ts';

/** The operation table: one row for each operation of the specification and for each route beside it. */
export const operations: Readonly<Record<OperationName, Operation>> = {
  ...namespaceOperations,
  ...tableOperations,
  ...rowOperations,
  ...columnOperations,
  ...indexOperations,
  ...versionOperations,
  ...referenceOperations,
  ...tableExtensions,
  ...jobExtensions,
};

/** Every operation's name: those of the specification first, each list in its own order. */
export const operationNames: readonly OperationName[] = [
  ...specifiedOperations,
  ...extensionOperations,
];

/** Whether a text is the name of an operation. */
export function isOperationName(text: string): text is OperationName {
  return Object.hasOwn(operations, text);
}

/** The operations of an access group; none for `audit`, which is no operation of the protocol. */
export function operationsOf(access: AccessGroup): readonly OperationName[] {
  return operationNames.filter((name) => operations[name].access === access);
}

/** The operations that an action stands for: itself, or all of its group. */
export function expandAction(action: Action): readonly OperationName[] {
  return isOperationName(action) ? [action] : operationsOf(action);
}

/** Whether the documented route names the object; where it does not, only the body can. */
export function namesObject(operation: Operation): boolean {
  return operation.routes.some((route) => route.path.includes('{id}'));
}
