import type { Meters } from '../query/meters.ts';
import { NO_COLUMNS } from '../query/computed-columns.ts';
import type { QueryPlan } from '../query/plan.ts';
import { countOf, rowAt } from '../query/rows.ts';
import type { Scanner } from '../query/scan.ts';
import { selectedRows } from '../query/selected-rows.ts';
import { fragmentKey, type Fragment } from '../table/snapshot.ts';

/** Which rows of fragments a search may find: a bit for each. */
export type AllowedRows = ReadonlyMap<string, Uint8Array>;

/** The rows that pass the filter before a search; null when there is none. */
export async function allowedRows(
  plan: QueryPlan,
  scanner: Scanner,
  meters: Meters,
): Promise<AllowedRows | null> {
  if (plan.asked === null) return null;
  const allowed = new Map<string, Uint8Array>();
  const need = plan.filter === null ? NO_COLUMNS : plan.filterNeed;
  for await (const { found, rows } of selectedRows(plan, scanner, need, meters)) {
    const { fragment, start, live } = found.place;
    const bits = bitsOf(allowed, fragment);
    const row = rowAt(rows);
    for (let at = 0; at < countOf(rows); at++) {
      const place = start + (live === null ? row(at) : live[row(at)]!);
      bits[place >> 3]! |= 1 << (place & 7);
    }
    found.release?.();
  }
  return allowed;
}

function bitsOf(allowed: Map<string, Uint8Array>, fragment: Fragment): Uint8Array {
  const key = fragmentKey(fragment);
  const bits = allowed.get(key) ?? new Uint8Array(Math.ceil(fragment.physicalRows / 8));
  allowed.set(key, bits);
  return bits;
}
