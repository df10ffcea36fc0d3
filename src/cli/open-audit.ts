import { BackgroundSealing, type BackgroundSealingOptions } from '../audit/background-sealing.ts';
import { openCollector, withCollector } from '../audit/collector.ts';
import { signSurvivors, type RecoveryOptions } from '../audit/recovery-heads.ts';
import { openAuditLog, type AuditLog } from '../audit/writer.ts';
import type { Engine } from '../engine/engine.ts';
import { Recorder } from '../gateway/record.ts';
import { redactor } from '../gateway/redact.ts';
import { measuredAudit } from '../gateway/measured-audit.ts';
import { keptAt, openCheckpointPlaces, openSigningKey } from './audit-checkpoints.ts';
import { resolveUnanswered } from './audit-resolution.ts';
import { type DataFolder } from './data-folder.ts';
import { type Backends } from './open-backends.ts';
import { programVersion } from './version.ts';
import type { Start } from './start.ts';

/** The audit log of this process, sealed and copied as the configuration says. @throws SigningKeyError */
export async function openAudit(start: Start, folder: DataFolder): Promise<AuditLog> {
  const { config, log, opened } = start;
  const { key, trusted, unlinked } = await openSigningKey(config, folder);
  if (unlinked !== undefined) {
    log.warn(
      { before: unlinked.id, now: key.public.id },
      'the signing key of the audit log is another, and the one before did not sign it: audit rotate-key --from links them',
    );
  }
  const places = await openCheckpointPlaces(config, folder, opened);
  const audit = await openAuditLog({
    folder: folder.audit,
    processes: folder.auditProcesses,
    rotateBytes: config['audit.rotate_bytes'],
    checkpoints: {
      key,
      places,
      failed: (place, error) => log.error({ err: error, place }, 'a checkpoint could not be kept'),
    },
    start: { starts: folder.auditStarts, ...keptAt(config) },
  });
  opened.add(() => audit.close());
  await signBefore(start, {
    folder: folder.audit,
    processes: folder.auditProcesses,
    own: audit.instance,
    key,
    trusted,
    places,
  });
  sealInBackground(start, { folder: folder.audit, own: audit.instance, key });
  return copied(start, audit);
}

/** Signs what survived of processes that were killed. */
async function signBefore({ log }: Start, options: RecoveryOptions): Promise<void> {
  try {
    const instances = await signSurvivors(options);
    if (instances.length > 0) log.warn({ instances }, 'records of killed processes were signed');
  } catch (error) {
    log.error({ err: error }, 'records of killed processes could not be signed');
  }
}

/** The log, and a collector that gets a copy of its records if there is one. */
async function copied({ config, log, opened }: Start, audit: AuditLog): Promise<AuditLog> {
  const endpoint = config['telemetry.otlp_endpoint'];
  if (endpoint === null) return audit;
  const collector = await openCollector({
    endpoint,
    version: programVersion(),
    failed: (error) => log.warn({ err: error }, 'audit records could not be sent to the collector'),
  });
  opened.add(() => collector.close());
  return withCollector(audit, collector);
}

/** Says what became of requests whose process ended before their outcome was written. */
export async function resolveBefore(
  { log }: Start,
  folder: DataFolder,
  audit: AuditLog,
  { upkeep }: Engine,
): Promise<void> {
  try {
    const outcomes = await resolveUnanswered(folder, audit, upkeep);
    if (outcomes > 0) log.warn({ outcomes }, 'attempts without an outcome were resolved');
  } catch (error) {
    log.error({ err: error }, 'attempts without an outcome could not be resolved');
  }
}

/** What writes down each request. */
export function recorderOf(
  { config, log, metrics }: Start,
  audit: AuditLog,
  backend: Backends['nameFor'],
): Recorder {
  return new Recorder({
    audit: measuredAudit(audit, metrics),
    log,
    durable: config['audit.durable'],
    redact: redactor(config['audit.redact']),
    statements: config['audit.statements'],
    backend,
  });
}

/** Another gateway may still write a file of the log that is younger. */
const STALE_MILLIS = 24 * 3_600_000;

/** Seals the files of the audit log that are finished. */
function sealInBackground(
  { config, log, opened }: Start,
  place: Pick<BackgroundSealingOptions, 'folder' | 'own' | 'key'>,
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
