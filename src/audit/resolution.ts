import { join } from 'node:path';
import { isAbandoned, type LogFolders } from './instances/owner.ts';
import { instancesOf, logStorage, readBeside } from './chain/log-files.ts';
import type { AuditRecord, LoggedRecord } from './record/record.ts';
import { microsOf, timeOf } from './record/time.ts';
import { answeredIn, unansweredAttempts } from './unanswered.ts';
import type { AuditLog } from './writer.ts';

/** Result of a request whose process ended before it wrote the outcome. */
export type AttemptResult = 'committed' | 'not committed' | 'unknown';

interface ResolutionOptions extends LogFolders {
  /** Log of this process, to which the outcomes are written. */
  readonly log: AuditLog;
  /** Determines the result of a request. */
  readonly fateOf: (attempt: LoggedRecord) => Promise<AttemptResult>;
}

/** Context keys that mark an outcome as written on behalf of another process. */
const RESOLVED = 'audit.resolved';
const RESOLVED_FROM = 'audit.resolved_from';

/** Suffix of the file that claims an instance, or marks it as resolved. */
const ENDING = '.resolved';

interface Claim {
  /** Instance that resolves the attempts, or has resolved them. */
  readonly by: string;
  readonly done: boolean;
}

/**
 * Writes the missing outcomes of processes that are gone, to the log of this process: one for
 * every attempt without an outcome. One process examines an instance, once.
 * @returns Number of outcomes written.
 */
export async function resolveAttempts(options: ResolutionOptions): Promise<number> {
  const { folder, log } = options;
  await logStorage.folders.make(options.processes, 0o700);
  let written = 0;
  for (const instance of await instancesOf(folder)) {
    if (instance === log.instance || !(await isAbandoned(options, instance))) continue;
    const path = join(options.processes, instance + ENDING);
    if (!(await claim(options, path))) continue;
    written += await resolveInstance(options, instance);
    await logStorage.replace(path, claimBytes({ by: log.instance, done: true }));
  }
  return written;
}

async function resolveInstance(options: ResolutionOptions, instance: string): Promise<number> {
  const { folder, log, fateOf } = options;
  const attempts = await unansweredAttempts(folder, instance);
  if (attempts.length === 0) return 0;
  const answered = await answeredLater(folder, instance, attempts);
  const open = attempts.filter((attempt) => !answered.has(attempt.decision_id));
  for (const attempt of open) {
    await log.write(resolved(attempt, await fateOf(attempt), BigInt(Date.now()) * 1000n), true);
  }
  return open.length;
}

/** Decisions whose outcomes an earlier run wrote before it ended. */
async function answeredLater(
  folder: string,
  instance: string,
  attempts: readonly LoggedRecord[],
): Promise<ReadonlySet<string>> {
  const decisions = new Set(attempts.map((attempt) => attempt.decision_id));
  const answered = new Set<string>();
  for (const later of await instancesOf(folder)) {
    if (later === instance) continue;
    for (const id of await answeredIn(folder, later, decisions)) answered.add(id);
  }
  return answered;
}

/** Outcome of an attempt; status and size of the answer are unknown. */
function resolved(attempt: LoggedRecord, fate: AttemptResult, nowMicros: bigint): AuditRecord {
  const { instance, sequence: _sequence, hash: _hash, ...fields } = attempt;
  const began = microsOf(attempt.time);
  const now = nowMicros < began ? began : nowMicros;
  return {
    ...fields,
    phase: 'outcome',
    time: timeOf(now),
    duration_us: now - began,
    context: { ...attempt.context, [RESOLVED]: fate, [RESOLVED_FROM]: instance },
  };
}

/** Claims an instance for this process. @returns False if another process has it, or it is resolved. */
async function claim(options: ResolutionOptions, path: string): Promise<boolean> {
  const by = options.log.instance;
  const own = claimBytes({ by, done: false });
  if ((await logStorage.putIfAbsent(path, own, 0o600)) === 'created') return true;
  const before = await claimOf(path);
  if (before?.done === true) return false;
  const works =
    before !== undefined && before.by !== by && !(await isAbandoned(options, before.by));
  if (works) return false;
  await logStorage.replace(path, own);
  return true;
}

function claimBytes(claim: Claim): Uint8Array {
  return Buffer.from(JSON.stringify(claim));
}

/** Undefined for a claim that a crash tore. */
async function claimOf(path: string): Promise<Claim | undefined> {
  try {
    const { by, done } = JSON.parse(await readBeside(path)) as Partial<Claim>;
    return typeof by === 'string' ? { by, done: done === true } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
