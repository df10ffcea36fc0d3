import type { Action, Operation } from './operations/operation.ts';
import { expandAction, operations } from './operations/operations.ts';
import type { OperationName } from './operations/operation-name.ts';

/** The branch that a request is about when it names none. */
export const MAIN_BRANCH = 'main';

/** Operations whose branches stand in the body alone, or are those of the tag that the body names. */
const inBody: ReadonlySet<OperationName> = new Set<OperationName>([
  'GetTableTagVersion',
  'DeleteTableTag',
  'CreateTableBranch',
  'DeleteTableBranch',
  'DiffTableBranch',
  'CherryPickTableBranch',
  'BatchCreateTableVersions',
  'BatchCommitTables',
]);

const cache = new Map<Action, boolean>();

/** Whether an operation, or every operation of an access group, is about a branch of a table. */
export function isAboutBranch(action: Action): boolean {
  let about = cache.get(action);
  if (about === undefined) {
    const names = expandAction(action);
    about = names.length > 0 && names.every((name) => isOnBranch(operations[name]));
    cache.set(action, about);
  }
  return about;
}

/**
 * Whether some operation of the action can name a branch of a table. The group `drop`
 * is, when a batch deletes versions of one.
 */
export function mayBeAboutBranch(action: Action): boolean {
  return expandAction(action).some(
    (name) => isOnBranch(operations[name]) || operations[name].access === 'drop',
  );
}

function isOnBranch({ name, query }: Operation): boolean {
  return query.includes('branch') || inBody.has(name);
}

/** Whether the body of an operation may name a branch. */
export function mayNameBranch({ name, query, body }: Operation): boolean {
  return inBody.has(name) || (query.includes('branch') && body === 'json');
}

/**
 * The branch of a request as its route shows it: null while only the body can say, undefined where
 * the operation is about none.
 */
export function branchOfRoute(
  operation: Operation,
  query: ReadonlyMap<string, readonly string[]>,
): string | null | undefined {
  if (inBody.has(operation.name)) return null;
  if (!operation.query.includes('branch')) return undefined;
  const named = query.get('branch')?.[0];
  if (named !== undefined) return named === '' ? MAIN_BRANCH : named;
  return operation.body === 'json' ? null : MAIN_BRANCH;
}
