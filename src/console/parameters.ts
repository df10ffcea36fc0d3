import type { ObjectPath } from '../protocol/identifier.ts';
import { CatalogError } from '../protocol/errors.ts';
import { isOperationName } from '../protocol/operations/operations.ts';
import { parseObject } from '../policy/lines/pattern.ts';
import { accessGroups } from '../policy/lines/rights.ts';
import { typedName } from '../policy/lines/typed-name.ts';

/** Parameters of calls. */

/** @throws CatalogError InvalidInput */
export function typedAction(query: URLSearchParams): string {
  const action = query.get('action') ?? '';
  if (isOperationName(action) || accessGroups.some((group) => group === action)) return action;
  throw invalid(
    `action is ${JSON.stringify(action)}, but must be an operation such as QueryTable or a group such as read`,
  );
}

/** @throws CatalogError InvalidInput */
export function typedObject(query: URLSearchParams): string {
  const object = query.get('object') ?? '';
  pathOf('object', object);
  return object;
}

/** @throws CatalogError InvalidInput */
export function namedIn(kind: 'user' | 'group' | 'role', typed: string): string {
  const name = typedName(kind, typed);
  if ('fault' in name) throw invalid(name.fault);
  return name.value;
}

/** A refusal of a parameter. */
export function invalid(sentence: string): CatalogError {
  return new CatalogError('InvalidInput', sentence);
}

/** The path of an object. @throws CatalogError InvalidInput */
export function pathOf(name: string, typed: string): ObjectPath {
  const path = parseObject(typed);
  if (path !== undefined) return path;
  throw invalid(
    `${name} is ${JSON.stringify(typed)}, but must be a canonical path such as /prod/sales`,
  );
}
