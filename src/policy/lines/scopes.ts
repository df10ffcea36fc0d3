import type { ObjectPath } from '../../protocol/identifier.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import { parsePattern, patternMatches, type Pattern } from './pattern.ts';
import { RightSet } from './right-set.ts';
import { rightsOf } from './rights.ts';
import type { Typed } from './typed-name.ts';
import { narrowWant, type Want } from './want.ts';

/** A scope of a credential, understood. */
export interface CompiledScope {
  readonly pattern: Pattern;
  readonly rights: RightSet;
}

/** The fault of a scope; undefined if it is valid. */
export function scopeFault(scope: KeyScope): string | undefined {
  const result = parsePattern(scope.pattern);
  if ('fault' in result) return result.fault;
  if (rightsOf(scope.action) !== undefined) return undefined;
  return `unknown action ${JSON.stringify(scope.action)} in a scope: write an operation or an access group, such as read`;
}

/** A scope as it is typed, `ACTION:PATTERN`. */
export function typedScope(typed: string): Typed<KeyScope> {
  const at = typed.indexOf(':');
  if (at < 0)
    return { fault: `the scope ${typed} is not written ACTION:PATTERN, such as read:/prod/**` };
  const value = { action: typed.slice(0, at), pattern: typed.slice(at + 1) };
  const fault = scopeFault(value);
  return fault === undefined ? { value } : { fault };
}

/** Reads the scopes of a credential. One that is not understood covers nothing. */
export function compileScopes(scopes: readonly KeyScope[]): readonly CompiledScope[] {
  return scopes.flatMap((scope) => {
    const result = parsePattern(scope.pattern);
    const rights = rightsOf(scope.action);
    return 'fault' in result || rights === undefined ? [] : [{ pattern: result.pattern, rights }];
  });
}

/**
 * The questions that are left of one under the scopes of a credential on an
 * object, any of which may be answered with yes: one for each scope that is
 * about the object. Without scopes the question itself. A listing always
 * answers, so what is given is not narrowed.
 */
export function wantsUnder(
  want: Want,
  scopes: readonly CompiledScope[] | undefined,
  object: ObjectPath,
): readonly Want[] {
  if (scopes === undefined) return [want];
  const narrowed = scopes
    .filter(({ pattern }) => patternMatches(pattern, object))
    .map(({ rights }) => narrowWant(want, rights));
  return [onlyGiven(want), ...narrowed];
}

/** Rights that a scope cannot remove. */
export function onlyGiven({ given }: Want): Want {
  return { direct: RightSet.none, implied: RightSet.none, given, reserved: RightSet.none };
}
