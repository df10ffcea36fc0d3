import {
  BackgroundSealing,
  type BackgroundSealingOptions,
} from '../../audit/segments/background-sealing.ts';
import {
  BackgroundArchiving,
  type BackgroundArchivingOptions,
} from '../../audit/archive/background-archiving.ts';
import type { ArchivedLogs } from './audit-archive.ts';
import { isOver } from '../../audit/instances/owner.ts';
import { openExporter, withExporter } from '../../audit/exporter.ts';
import {
  signSurvivors,
  type ReadLimits,
  type RecoveryOptions,
} from '../../audit/recovery-heads.ts';
import { openAuditLog, type AuditLog } from '../../audit/writer.ts';
import type { Engine } from '../../engine/engine.ts';
import { Recorder } from '../../gateway/record.ts';
import { redactor } from '../../gateway/decision/redact.ts';
import { checkpointLocation, openCheckpointPlaces, openSigningKey } from './audit-checkpoints.ts';
import type { DataFolder } from './data-folder.ts';
import type { Backends } from './open-backends.ts';
import { programVersion } from '../output/version.ts';
import { RecoveryRounds } from './recovery-rounds.ts';
import type { Opened, Start } from './opened.ts';
import { resolveAttempts, type AttemptResult } from '../../audit/resolution.ts';
import type { LoggedRecord } from '../../audit/record/record.ts';
import type { Upkeep } from '../../engine/upkeep.ts';
import { microsOf } from '../../audit/record/time.ts';
import { isOperationName, operations } from '../../protocol/operations/operations.ts';
import type { Metrics } from '../../gateway/telemetry/metrics.ts';

const MILLIS = 1000;

/** An audit log whose writes are counted. */
function measuredAudit(audit: AuditLog, metrics: Metrics): AuditLog {
  return {
    write: (record, durable) => {
      const start = durable ? performance.now() : 0;
      const written = audit.write(record, durable);
      if (written === undefined) {
        metrics.count('auditWrites', 'ok');
        return undefined;
      }
      return written.then(
        () => {
          metrics.count('auditWrites', 'ok');
          if (durable) metrics.flushed((performance.now() - start) / MILLIS);
        },
        (error: unknown) => {
          metrics.count('auditWrites', 'failed');
          throw error;
        },
      );
    },
    instance: audit.instance,
    healthy: () => audit.healthy(),
    weakness: () => audit.weakness(),
    close: () => audit.close(),
  };
}

/** The audit log of this process, with its sealing and copies as configured. @throws SigningKeyError */
export async function openAudit(
  start: Start,
  folder: DataFolder,
  archived: ArchivedLogs | undefined,
): Promise<AuditLog> {
  const { config, log, opened } = start;
  const { key, trusted, unlinked } = await openSigningKey(config, folder);
  if (unlinked !== undefined) {
    log.warn(
      { before: unlinked.id, now: key.public.id },
      'the signing key of the audit log is another, and the one before did not sign it: audit rotate-key --from links them',
    );
  }
  const stored = await openCheckpointPlaces(config, folder, opened);
  const logs = { folder: folder.audit, processes: folder.auditProcesses };
  const archiving = archived && {
    ...archived.archive,
    ...logs,
    starts: folder.auditStarts,
    key,
    keys: trusted,
    isOver: (instance: string) => isOver(logs, instance),
    checkpoints: async () => (await stored[0]?.all()) ?? [],
  };
  const background = archiving && archiveInBackground(start, archiving);
  const places = background === undefined ? stored : [...stored, background.uploads.place()];
  const audit = await openAuditLog({
    folder: folder.audit,
    processes: folder.auditProcesses,
    rotateBytes: config['audit.rotate_bytes'],
    checkpoints: {
      key,
      places,
      failed: (place, error) =>
        log.error({ err: error, place }, 'a checkpoint could not be stored'),
    },
    start: { starts: folder.auditStarts, ...checkpointLocation(config) },
  });
  opened.add(() => audit.close());
  await signBefore(start, {
    ...logs,
    own: audit.instance,
    key,
    trusted,
    places,
  });
  sealInBackground(start, {
    folder: folder.audit,
    own: audit.instance,
    key,
    isOthers: async (instance) => !(await isOver(logs, instance)),
    ...(background && { mayRetire: (instance, file) => background.uploads.has(instance, file) }),
  });
  background?.start(audit.instance);
  if (background === undefined) return copied(start, audit);
  return copied(start, { ...audit, weakness: () => audit.weakness() ?? background.fault() });
}

/** Uploads the log of the data folder until the end, when the log is closed. */
function archiveInBackground(
  { config, log, metrics, opened }: Start,
  options: Omit<BackgroundArchivingOptions, 'name' | 'retainMillis' | 'failed' | 'done'>,
): BackgroundArchiving {
  const name = config['audit.archive'] ?? '';
  let isBehind = false;
  const background = new BackgroundArchiving({
    ...options,
    name,
    retainMillis: config['audit.retain'],
    failed: (error) => {
      isBehind = true;
      log.error({ err: error, archive: name }, 'the audit log could not be archived');
    },
    done: () => {
      if (isBehind) log.info({ archive: name }, 'the audit log is archived again');
      isBehind = false;
    },
  });
  metrics.source('auditArchiveLag', () => [{ value: background.ageSeconds() }]);
  opened.add(() => background.stop());
  return background;
}

/** Bytes of a log that a start reads for a process that was killed; more is read in the background. */
const START_BYTES = 256 * 2 ** 20;

/**
 * Signs the remaining records of processes that were killed: now, and of those that are killed while
 * this one runs.
 */
async function signBefore({ log, opened }: Start, options: RecoveryOptions): Promise<void> {
  const sign = async (limits: ReadLimits): Promise<void> => {
    const { signed, failures } = await signSurvivors(options, limits);
    if (signed.length > 0)
      log.warn({ instances: signed }, 'records of killed processes were signed');
    if (failures.length > 0) throw failures[0];
  };
  const failed = (error: unknown): void =>
    log.error({ err: error }, 'records of killed processes could not be signed');
  await sign({ mostBytes: START_BYTES }).catch(failed);
  recoverInRounds(opened, sign, failed);
}

function recoverInRounds(
  opened: Opened,
  work: (limits: ReadLimits) => Promise<void>,
  failed: (error: unknown) => void,
): void {
  const rounds = new RecoveryRounds((signal) => work({ signal }), failed);
  opened.add(() => rounds.stop());
}

/** The log, and a collector that gets a copy of its records if there is one. */
async function copied({ config, log, opened }: Start, audit: AuditLog): Promise<AuditLog> {
  const endpoint = config['telemetry.otlp_endpoint'];
  if (endpoint === null) return audit;
  const collector = await openExporter({
    endpoint,
    version: programVersion(),
    failed: (error) => log.warn({ err: error }, 'audit records could not be sent to the collector'),
  });
  opened.add(() => collector.close());
  return withExporter(audit, collector);
}

/** Records the outcome of requests whose process ended before it could. */
export async function resolveBefore(
  { log, opened }: Start,
  folder: DataFolder,
  audit: AuditLog,
  { upkeep }: Engine,
): Promise<void> {
  // Nothing is written while the store is unavailable: the next start sees to it.
  if (upkeep === null) return;
  const options = {
    folder: folder.audit,
    processes: folder.auditProcesses,
    log: audit,
    resolved: new Set<string>(),
    fateOf: (attempt: LoggedRecord): Promise<AttemptResult> => fateOf(attempt, upkeep),
  };
  const resolve = async (limits: ReadLimits): Promise<void> => {
    const { written: outcomes } = await resolveAttempts(options, limits);
    if (outcomes > 0) log.warn({ outcomes }, 'attempts without an outcome were resolved');
  };
  const failed = (error: unknown): void =>
    log.error({ err: error }, 'attempts without an outcome could not be resolved');
  await resolve({ mostBytes: START_BYTES }).catch(failed);
  recoverInRounds(opened, resolve, failed);
}

/** The recorder of requests. */
export function recorderOf(
  { config, log, metrics }: Start,
  audit: AuditLog,
  backend: Backends['nameFor'],
  readOnly: () => boolean,
): Recorder {
  return new Recorder({
    audit: measuredAudit(audit, metrics),
    log,
    durable: config['audit.durable'],
    redact: redactor(config['audit.redact']),
    statements: config['audit.statements'],
    backend,
    readOnly,
  });
}

/** Another gateway may still write a file of the log that is younger. */
const STALE_MILLIS = 24 * 3_600_000;

/** Seals the files of the audit log that are finished. */
function sealInBackground(
  { config, log, opened }: Start,
  place: Pick<BackgroundSealingOptions, 'folder' | 'own' | 'key' | 'isOthers' | 'mayRetire'>,
): void {
  const sealing = new BackgroundSealing({
    ...place,
    staleMillis: STALE_MILLIS,
    retainMillis: config['audit.retain'],
    done: ({ sealed, retired, unfit }) => {
      if (sealed + retired > 0) log.info({ sealed, retired }, 'sealed files of the audit log');
      if (unfit.length > 0) log.error({ unfit }, 'the chain does not hold in the audit log');
    },
    failed: (error) => log.error({ err: error }, 'the audit log could not be sealed'),
  });
  opened.add(() => sealing.stop());
}

/**
 * A read changes nothing. A change was made if its answer is kept, and was not if
 * nothing of the catalog changed since; otherwise the outcome is unknown.
 */
async function fateOf(attempt: LoggedRecord, upkeep: Upkeep): Promise<AttemptResult> {
  const { operation, decision, subject, object, request_id: requestId } = attempt;
  if (operation === null || decision !== 'allow') return 'not committed';
  if (isOperationName(operation) && !operations[operation].mutates) return 'not committed';
  if (subject === null || object === null) return 'unknown';
  const took = await upkeep.tookEffect({ subject, operation, object, requestId });
  if (took) return 'committed';
  const changed = await upkeep.changedSince(Number(microsOf(attempt.time) / 1000n));
  return changed ? 'unknown' : 'not committed';
}
