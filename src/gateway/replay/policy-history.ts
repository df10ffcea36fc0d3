import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { POLICIES_FOLDER } from '../../audit/chain/log-files.ts';
import { timeOf } from '../../audit/record/time.ts';
import { reportRequests } from '../../audit/search/report.ts';
import { searchRequests } from '../../audit/search/search.ts';

/** A policy that was in force, or a reload that was refused. */
export interface PolicyEvent {
  /** Null for a refused reload. */
  readonly digest: string | null;
  /** Reload, or the first request that it decided; null if it decided none. */
  readonly since: string | null;
  /** Last request that it decided. */
  readonly last: string | null;
  readonly requests: number;
  readonly lines_added: number | null;
  readonly lines_removed: number | null;
  readonly state: 'current' | 'archived' | 'not archived' | 'refused';
  /** Why a reload was refused. */
  readonly findings: string | null;
  /** Subject of the reload: a part of the service reads the folder; null without a record of it. */
  readonly by: string | null;
}

interface HistoryOptions {
  /** Microseconds since 1970; absent bounds are open. */
  readonly window: { readonly since?: bigint; readonly until?: bigint };
  /** Digest of the policy folder as it is now, if it can be read. */
  readonly current: string | undefined;
  /** Called with the number of records that were read. */
  readonly progress: (records: number) => void;
}

/**
 * The policies that decided requests of a period, and refused reloads, the oldest first.
 * @param audit `<data>/private/audit`.
 */
export async function policyEventsOf(
  audit: string,
  { window, current, progress }: HistoryOptions,
): Promise<readonly PolicyEvent[]> {
  const archived = new Set(await readdir(join(audit, POLICIES_FOLDER)).catch((): string[] => []));
  const counted = await reportRequests(audit, 'policy_digest', window, progress);
  const reloads = new Map<string, Reload>();
  const refused: PolicyEvent[] = [];
  for await (const found of searchRequests(audit, {
    ...window,
    operations: new Set(['PolicyReload']),
  })) {
    for (const { record, began } of found) {
      const { digest, lines_added: added, lines_removed: removed, findings } = record.context;
      if (digest === undefined) refused.push(refusedEvent(began, findings ?? null, record.subject));
      else if (!reloads.has(digest))
        reloads.set(digest, { began, added, removed, by: record.subject });
    }
  }
  const events = counted.flatMap(({ key, requests, open, first, last }) => {
    if (key === null) return [];
    const reload = reloads.get(key);
    const state = key === current ? 'current' : archived.has(key) ? 'archived' : 'not archived';
    const own = reload === undefined ? 0 : 1;
    return [
      {
        digest: key,
        since: reload?.began ?? timeOf(first),
        last: timeOf(last),
        requests: requests + open - own,
        lines_added: numberOf(reload?.added),
        lines_removed: numberOf(reload?.removed),
        state,
        findings: null,
        by: reload?.by ?? null,
      } as const,
    ];
  });
  return [...events, ...refused].toSorted((one, other) =>
    (one.since ?? '') < (other.since ?? '') ? -1 : 1,
  );
}

interface Reload {
  readonly began: string;
  readonly by: string | null;
  readonly added: string | undefined;
  readonly removed: string | undefined;
}

/** A first policy has no lines to compare with. */
function numberOf(text: string | undefined): number | null {
  return text === undefined || !/^\d+$/.test(text) ? null : Number(text);
}

function refusedEvent(since: string, findings: string | null, by: string | null): PolicyEvent {
  const nothing = { digest: null, last: null, requests: 0, lines_added: null, lines_removed: null };
  return { ...nothing, since, state: 'refused', findings, by };
}
