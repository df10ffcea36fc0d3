import {
  extensionOperations,
  specifiedOperations,
} from '../../protocol/operations/operation-name.ts';
import { operationsOf } from '../../protocol/operations/operations.ts';
import type { AccessGroup, Action } from '../../protocol/operations/operation.ts';
import { RightSet } from './right-set.ts';

const groups = {
  list: true,
  describe: true,
  read: true,
  append: true,
  modify: true,
  schema: true,
  index: true,
  commit: true,
  tag: true,
  branch: true,
  create: true,
  drop: true,
  manage: true,
  audit: true,
} as const satisfies Record<AccessGroup, true>;

/** The access groups, in the order in which documents list them. */
export const accessGroups = Object.keys(groups) as readonly AccessGroup[];

/**
 * The rights of lines and decisions, in their smallest units: every
 * operation, and each access group that has no operation (`audit`),
 * which is a right of its own.
 */
export const rightNames: readonly Action[] = [
  ...specifiedOperations,
  ...extensionOperations,
  ...accessGroups.filter((group) => operationsOf(group).length === 0),
];

const numbers = new Map<string, number>(rightNames.map((name, number) => [name, number]));

const parts = new Map<string, readonly Action[]>([
  ['*', rightNames],
  ...accessGroups.map((group): [string, readonly Action[]] => [group, operationsOf(group)]),
  ...rightNames.map((name): [string, readonly Action[]] => [name, [name]]),
]);

const sets = new Map<string, RightSet>(
  [...parts].map(([action, names]) => [
    action,
    RightSet.of(names.map((name) => numbers.get(name)!)),
  ]),
);

/** An action that every line may name. */
type KnownAction = Action | '*';

/** The single rights that an action of a line (an operation, an access group or `*`) stands for; undefined if unknown. */
export function rightsOfAction(action: KnownAction): readonly Action[];
export function rightsOfAction(action: string): readonly Action[] | undefined;
export function rightsOfAction(action: string): readonly Action[] | undefined {
  return parts.get(action);
}

/** The same as a set. */
export function rightsOf(action: KnownAction): RightSet;
export function rightsOf(action: string): RightSet | undefined;
export function rightsOf(action: string): RightSet | undefined {
  return sets.get(action);
}

export const everyRight = rightsOf('*');

/** The rights that an allow of any other brings along. */
export const describeRights = rightsOf('describe');

/** Rights that are held unless denied: a listing always succeeds, and shows visible names only. */
export const listRights = rightsOf('list');

/** The right that opens the reserved namespace `system`. */
export const auditRight = rightsOf('audit');

/** The known action that is nearest to a misspelt one, if one is near. */
export function nearestAction(action: string): string | undefined {
  const wanted = action.toLowerCase();
  return [...parts.keys()].find((each) => each.toLowerCase() === wanted);
}
