import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import { ANY, formatPattern } from '../../policy/lines/pattern.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import { sightChanges, type SightChange } from '../../policy/settings/sight.ts';
import { SOME_NAME, type ComparedCaller } from '../../policy/access-diff.ts';

/** What one caller sees otherwise of one table, or of the tables of a pattern. */
export interface SightDifference extends SightChange {
  readonly caller: string;
  /** A pattern of a restriction, or the path of a table. */
  readonly object: string;
}

type Compared = Pick<LoadedPolicy, 'snapshot'>;

interface Place {
  readonly label: string;
  readonly path: ObjectPath;
}

/**
 * Compares the rows and columns that callers see by two policies: on a table of each pattern of a restriction, and on
 * existing tables that differ from all of these. Only where both policies let the caller query the table.
 */
export function sightDifferences(
  before: Compared,
  after: Compared,
  callers: readonly ComparedCaller[],
  tables: readonly ObjectPath[],
): readonly SightDifference[] {
  const places = placesOf([before, after], tables);
  return callers.flatMap(({ name, principal }) => {
    const found = new Set<string>();
    return places.flatMap(({ label, path }) => {
      const may = ({ snapshot }: Compared) =>
        snapshot.decide(principal, 'QueryTable', path).allowed;
      if (!may(before) || !may(after)) return [];
      const [old, next] = [before, after].map(({ snapshot }) =>
        snapshot.restrictions.binding(principal, path),
      );
      const changes = sightChanges(old ?? [], next ?? []);
      const key = JSON.stringify(changes);
      const isTable = label === canonicalPath(path);
      // A pattern above says the same.
      if (changes.length === 0 || (isTable && found.has(key))) return [];
      found.add(key);
      return changes.map((change) => ({ ...change, caller: name, object: label }));
    });
  });
}

/** Patterns first. */
function placesOf(policies: readonly Compared[], tables: readonly ObjectPath[]): readonly Place[] {
  const places = new Map<string, Place>();
  for (const { snapshot } of policies) {
    for (const pattern of snapshot.restrictions.restrictions.flatMap(({ patterns }) => patterns)) {
      const label = formatPattern(pattern);
      const segments = pattern.segments.map((segment) => (segment === ANY ? SOME_NAME : segment));
      const path = pattern.below ? [...segments, SOME_NAME] : segments;
      if (path.length > 0) places.set(label, { label, path });
    }
  }
  for (const path of tables) {
    const label = canonicalPath(path);
    if (!places.has(label)) places.set(label, { label, path });
  }
  return [...places.values()];
}
