import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../storage/folder.ts';
import { replaceText } from '../storage/replaced-file.ts';
import { isAbandoned, type LogFolders } from './instances/owner.ts';
import { instancesOf } from './chain/log-folder.ts';
import { isAbsent } from './segments/log-part.ts';
import type { AuditRecord, LoggedRecord } from './record/record.ts';
import { microsOf, timeOf } from './record/time.ts';
import { answeredIn, unansweredAttempts } from './unanswered.ts';
import type { AuditLog } from './writer.ts';

/** The result of a request whose process ended before its outcome was written. */
export type AttemptResult = 'committed' | 'not committed' | 'unknown';

export interface ResolutionOptions extends LogFolders {
  /** The log of this process, which takes the outcomes. */
  readonly log: AuditLog;
  /** Finds the result of a request. */
  readonly fateOf: (attempt: LoggedRecord) => Promise<AttemptResult>;
}

/** Context keys that mark an outcome as written on behalf of another process. */
export const RESOLVED = 'audit.resolved';
const RESOLVED_FROM = 'audit.resolved_from';

/** Beside an instance of which every attempt has its outcome, or is about to. */
const ENDING = '.resolved';

interface Claim {
  /** The instance that looks, or looked. */
  readonly by: string;
  readonly done: boolean;
}

/**
 * Writes the outcomes that processes which are gone left unwritten, each once:
 * into the log of this process, for every attempt without one. An instance is
 * looked at by one process, and never again.
 * @returns how many outcomes were written.
 */
export async function resolveAttempts(options: ResolutionOptions): Promise<number> {
  const { folder, log } = options;
  await makeFolder(options.processes, 0o700);
  let written = 0;
  for (const instance of await instancesOf(folder)) {
    if (instance === log.instance || !(await isAbandoned(options, instance))) continue;
    const claimed = claimFile(options, instance);
    if (!(await claim(options, claimed))) continue;
    written += await resolveInstance(options, instance);
    const done: Claim = { by: log.instance, done: true };
    await replaceText(claimed, JSON.stringify(done));
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

/** Decisions whose outcomes another start wrote, which then ended before it was done. */
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

/** The outcome says what is known: the status and the size of the answer are not. */
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

function claimFile({ processes }: LogFolders, instance: string): string {
  return join(processes, instance + ENDING);
}

/** Whether this process is the one that looks at the instance. */
async function claim(options: ResolutionOptions, path: string): Promise<boolean> {
  const by = options.log.instance;
  const mine = JSON.stringify({ by, done: false } satisfies Claim);
  try {
    await writeFile(path, mine, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const before = await claimOf(path);
  if (before?.done === true) return false;
  const works = before !== undefined && before.by !== by && !(await isGone(options, before.by));
  if (works) return false;
  await replaceText(path, mine);
  return true;
}

/** Undefined when a crash tore it. */
async function claimOf(path: string): Promise<Claim | undefined> {
  try {
    const { by, done } = JSON.parse(await readFile(path, 'utf8')) as Partial<Claim>;
    return typeof by === 'string' ? { by, done: done === true } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function isGone(places: LogFolders, instance: string): Promise<boolean> {
  try {
    return await isAbandoned(places, instance);
  } catch (error) {
    if (isAbsent(error)) return true;
    throw error;
  }
}
