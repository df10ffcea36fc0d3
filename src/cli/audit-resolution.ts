import { resolveAttempts, type Fate } from '../audit/resolution.ts';
import type { LoggedRecord } from '../audit/record.ts';
import type { AuditLog } from '../audit/writer.ts';
import type { DataFolder } from './data-folder.ts';
import type { Upkeep } from '../engine/upkeep.ts';
import { microsOf } from '../audit/time.ts';
import { isOperationName, operations } from '../protocol/operations.ts';

/**
 * Writes the outcomes that gateways and commands which are gone left unwritten.
 * Nothing is written while the store is away: the next start sees to it.
 * @returns how many.
 */
export async function resolveUnanswered(
  { audit: folder, auditProcesses: processes }: DataFolder,
  log: AuditLog,
  upkeep: Upkeep | null,
): Promise<number> {
  if (upkeep === null) return 0;
  return resolveAttempts({ folder, processes, log, fateOf: (attempt) => fateOf(attempt, upkeep) });
}

/**
 * A read changes nothing. A change was made if its answer is kept, and was not if
 * nothing of the catalog changed since; else nobody knows.
 */
async function fateOf(attempt: LoggedRecord, upkeep: Upkeep): Promise<Fate> {
  const { operation, decision, subject, object, request_id: requestId } = attempt;
  if (operation === null || decision !== 'allow') return 'not committed';
  if (isOperationName(operation) && !operations[operation].mutates) return 'not committed';
  if (subject === null || object === null) return 'unknown';
  const took = await upkeep.tookEffect({ subject, operation, object, requestId });
  if (took) return 'committed';
  const changed = await upkeep.changedSince(Number(microsOf(attempt.time) / 1000n));
  return changed ? 'unknown' : 'not committed';
}
