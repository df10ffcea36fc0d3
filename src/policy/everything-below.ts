import type { ObjectPath } from '../protocol/identifier.ts';
import type { Pattern } from './pattern.ts';
import { RightSet } from './right-set.ts';
import type { CompiledScope } from './scopes.ts';
import { nextNodes } from './trie.ts';
import type { TrieNode } from './trie.ts';
import { narrow } from './want.ts';
import type { Grants, Want } from './want.ts';

/**
 * What is allowed on an object and on everything that can lie below it, and all
 * that is denied on any of that under some circumstances. Allowed is only what `/**`
 * lines without a condition at or above the object allow: another line says nothing
 * of names that nobody knows yet.
 */
export function grantsBelow(roots: readonly TrieNode[], object: ObjectPath): Grants {
  let nodes = roots;
  let allow = RightSet.none;
  let deny = RightSet.none;
  const take = (): void => {
    for (const { below } of nodes) {
      if (below === undefined) continue;
      allow = allow.union(below.allow);
      deny = deny.union(below.everDenied);
    }
  };
  take();
  for (const segment of object) {
    nodes = nextNodes(nodes, segment);
    take();
  }
  for (const node of nodes) deny = deny.union(node.denySomewhere);
  return { allow, deny };
}

/** The questions that scopes leave of one about everything below an object: one for each scope that holds all of it. */
export function wantsBelow(
  want: Want,
  scopes: readonly CompiledScope[] | undefined,
  object: ObjectPath,
): readonly Want[] {
  if (scopes === undefined) return [want];
  return scopes
    .filter(({ pattern }) => holdsAll(pattern, object))
    .map(({ rights }) => narrow(want, rights));
}

function holdsAll({ segments, below }: Pattern, object: ObjectPath): boolean {
  if (!below || segments.length > object.length) return false;
  return segments.every((segment, at) => segment === null || segment === object[at]);
}
