import { join } from 'node:path';
import { isAbandoned, type LogFolders } from './instances/owner.ts';
import { instancesOf, logStorage, readBeside } from './chain/log-files.ts';
import type { AuditRecord, LoggedRecord } from './record/record.ts';
import { microsOf, timeOf } from './record/time.ts';
import { isMissing } from '../storage/storage-error.ts';
import { readAttemptsNote } from './instances/attempts-note.ts';
import {
  answeredIn,
  bytesToExamine,
  unansweredAttempts,
  type ExaminedInstance,
} from './unanswered.ts';
import type { ReadLimits } from './recovery-heads.ts';
import type { AuditLog } from './writer.ts';

/** Result of a request whose process ended before it wrote the outcome. */
export type AttemptResult = 'committed' | 'not committed' | 'unknown';

export interface ResolutionOptions extends LogFolders {
  /** Log of this process, to which the outcomes are written. */
  readonly log: AuditLog;
  /** Instances that were found to be resolved, which are not examined again. */
  readonly resolved: Set<string>;
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
  /** Instances that began it before; absent in claims of an earlier version. */
  readonly before?: readonly string[];
}

/** The result of a resolution. */
interface Resolved {
  /** Number of outcomes written. */
  readonly written: number;
  /** Instances of gone processes with more to read than the limit, which were left as they are. */
  readonly deferred: readonly string[];
}

/**
 * Writes the missing outcomes of processes that are gone, to the log of this process: one for
 * every attempt without an outcome. One process examines an instance, once.
 */
export async function resolveAttempts(
  options: ResolutionOptions,
  { mostBytes = Number.POSITIVE_INFINITY, signal }: ReadLimits = {},
): Promise<Resolved> {
  const { folder, log, processes, resolved: known } = options;
  await logStorage.folders.make(processes, 0o700);
  const deferred: string[] = [];
  let written = 0;
  for (const instance of await instancesOf(folder)) {
    if (instance === log.instance || known.has(instance)) continue;
    const path = join(processes, instance + ENDING);
    if ((await claimOf(path))?.done === true) known.add(instance);
    if (known.has(instance) || !(await isAbandoned(options, instance))) continue;
    const note = await readAttemptsNote(processes, instance);
    const examined = { folder, instance, note, signal };
    if ((await bytesToExamine(examined)) > mostBytes) {
      deferred.push(instance);
      continue;
    }
    const claimed = await claim(options, path);
    if (claimed === undefined) continue;
    written += await resolveInstance(options, examined, claimed.before);
    await logStorage.replace(path, claimBytes({ ...claimed, done: true }));
  }
  return { written, deferred };
}

async function resolveInstance(
  options: ResolutionOptions,
  examined: ExaminedInstance,
  before: Claim['before'],
): Promise<number> {
  const { log, fateOf } = options;
  const attempts = await unansweredAttempts(examined);
  if (attempts.length === 0) return 0;
  const answered = await answeredLater(examined, attempts, before);
  const open = attempts.filter((attempt) => !answered.has(attempt.decision_id));
  for (const attempt of open) {
    await log.write(resolved(attempt, await fateOf(attempt), BigInt(Date.now()) * 1000n), true);
  }
  return open.length;
}

/**
 * Decisions whose outcomes an earlier run wrote before it ended.
 * @param before Instances of earlier runs; undefined if they are unknown.
 */
async function answeredLater(
  { folder, instance }: ExaminedInstance,
  attempts: readonly LoggedRecord[],
  before: Claim['before'],
): Promise<ReadonlySet<string>> {
  const decisions = new Set(attempts.map((attempt) => attempt.decision_id));
  const answered = new Set<string>();
  for (const later of before ?? (await instancesOf(folder))) {
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

/** Claims an instance for this process. @returns Undefined if another process has it, or it is resolved. */
async function claim(options: ResolutionOptions, path: string): Promise<Claim | undefined> {
  const by = options.log.instance;
  const first: Claim = { by, done: false, before: [] };
  if ((await logStorage.putIfAbsent(path, claimBytes(first), 0o600)) === 'created') return first;
  const earlier = await claimOf(path);
  if (earlier?.done === true) return undefined;
  const works =
    earlier !== undefined && earlier.by !== by && !(await isAbandoned(options, earlier.by));
  if (works) return undefined;
  const { before } = earlier ?? {};
  const own = {
    by,
    done: false,
    ...(before && { before: [...new Set([...before, earlier!.by])] }),
  };
  await logStorage.replace(path, claimBytes(own));
  return own;
}

function claimBytes(claim: Claim): Uint8Array {
  return Buffer.from(JSON.stringify(claim));
}

/** Undefined without a claim, and for one that a crash tore. */
async function claimOf(path: string): Promise<Claim | undefined> {
  try {
    const { by, done, before } = JSON.parse(await readBeside(path)) as Partial<Claim>;
    if (typeof by !== 'string') return undefined;
    return { by, done: done === true, ...(Array.isArray(before) && { before }) };
  } catch (error) {
    if (error instanceof SyntaxError || isMissing(error)) return undefined;
    throw error;
  }
}
