import type { Snapshot } from '../../format/snapshot.ts';

declare const visible: unique symbol;

/**
 * A snapshot of which a caller may see every row and every column: the only one that a query or a
 * count can be planned over. Restrictions have been applied to it, or none bind the caller.
 */
export type VisibleSnapshot = Snapshot & { readonly [visible]: true };

/** Only for the step that applies restrictions, rows of the service itself, and threads; a test names the callers. */
export function asVisible(snapshot: Snapshot): VisibleSnapshot {
  return snapshot as VisibleSnapshot;
}
