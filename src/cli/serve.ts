import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { BackgroundSealing, type BackgroundSealingOptions } from '../audit/background-sealing.ts';
import { openCollector, withCollector } from '../audit/collector.ts';
import { openAuditLog, type AuditLog } from '../audit/writer.ts';
import { openFormat } from '../engine/catalog/format.ts';
import type { Engine } from '../engine/engine.ts';
import { BackgroundCollection } from '../engine/retention/background.ts';
import type { Certificate } from '../gateway/certificate.ts';
import { Drain } from '../gateway/drain.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { readKeys } from '../gateway/key-file.ts';
import { FailureLimit } from '../gateway/failure-limit.ts';
import { Identification } from '../gateway/identification.ts';
import { administrator, KeyRing } from '../gateway/key-ring.ts';
import { KeyUse } from '../gateway/key-use.ts';
import { defaultLinger } from '../gateway/linger.ts';
import { Networks } from '../gateway/networks.ts';
import { PolicyArchive } from '../gateway/policy-archive.ts';
import { Recorder } from '../gateway/record.ts';
import { redactor } from '../gateway/redact.ts';
import { measuredAudit } from '../gateway/measured-audit.ts';
import { Metrics } from '../gateway/metrics.ts';
import type { ReadinessPart } from '../gateway/readiness-part.ts';
import { Shadow } from '../gateway/shadow.ts';
import { Tokens } from '../gateway/tokens/tokens.ts';
import { loadPolicyLines, type KeepTexts, type LoadedPolicy } from '../policy/load.ts';
import { watchShadow } from '../policy/shadow-policy.ts';
import type { PolicySnapshot } from '../policy/snapshot.ts';
import { watchPolicy, type PolicyWatch } from '../policy/watch.ts';
import { openCheckpointPlaces, openSigningKey } from './audit-checkpoints.ts';
import { processEnvironment } from './config-environment.ts';
import type { Quota } from '../store/quota.ts';
import { resolveUnanswered } from './audit-resolution.ts';
import type { Config } from './config-table.ts';
import { dataFolderOf, makeDataFolder, type DataFolder } from './data-folder.ts';
import { makeFirstKey } from './first-key.ts';
import { openTraces, readInstruments } from './instruments.ts';
import { openCertificate, openListeners } from './listeners.ts';
import type { Output } from './output.ts';
import { openBackends, type Backends } from './open-backends.ts';
import { openCatalog } from './open-catalog.ts';
import { Opened } from './opened.ts';
import { joinMetrics } from './shared-metrics.ts';
import { PolicyReloads } from './policy-reloads.ts';
import { openCounters } from './process-quota.ts';
import { programVersion } from './version.ts';

/** A gateway that serves. */
export interface Running {
  readonly url: string;
  /** Of the listener for metrics and health, where there is one. */
  readonly admin?: string;
  /** Finishes what runs, flushes the audit log, closes everything. */
  stop(): Promise<void>;
}

/**
 * Puts everything together and listens.
 * @throws PolicyError, KeyFileError, UsageError with what keeps it from starting
 */
export async function startGateway(config: Config, log: Logger, output: Output): Promise<Running> {
  const opened = new Opened();
  try {
    const certificate = openCertificate(config);
    opened.add(() => certificate?.close());
    const metrics = new Metrics(programVersion());
    joinMetrics(metrics);
    const gateway = await compose({ config, log, output, opened, metrics, certificate });
    const listeners = await openListeners(gateway, config, certificate);
    return {
      ...listeners,
      stop: async () => {
        await listeners.stop();
        await opened.close();
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** What a gateway is put together from. */
export interface Start {
  readonly config: Config;
  readonly log: Logger;
  readonly output: Output;
  readonly opened: Opened;
  readonly metrics: Metrics;
  readonly certificate: Certificate | undefined;
}

/** Opens everything that a gateway needs; `opened` closes it again. @throws as `startGateway` does */
export async function compose(start: Start): Promise<Gateway> {
  const { config, log, metrics, opened } = start;
  const folder = dataFolderOf(config);
  const first = await loadPolicyLines(resolve(config.policies));
  const reloads = new PolicyReloads();
  await makeDataFolder(folder);
  const archive = await openArchive(start, folder, first);
  const { policy, tokens } = openPolicy(start, first.snapshot, { archive, reloads });
  const shadow = await openShadow(start, archive);
  await openFormat(folder.root);
  const keys = await openKeys(start, folder);
  let backends: Backends | undefined;
  const audit = await openAudit(start, folder);
  reloads.record(audit);
  const recorder = recorderOf(start, audit, (route) => backends?.nameFor(route) ?? 'none');
  const engine = await openCatalog(config, folder, opened);
  await resolveBefore(start, folder, audit, engine);
  engine.startWork((error) => log.error({ err: error }, 'work in the background failed'));
  const weakness = await engine.backend.weakness().catch(() => undefined);
  if (weakness !== undefined) log.warn(weakness);
  collectInBackground(start, engine);
  const failures = new FailureLimit(config['limits.failed_identifications']);
  const traces = await openTraces(config, metrics, log);
  opened.add(() => traces?.close());
  backends = await openBackends(config.backends, {
    embedded: engine.backend,
    environment: processEnvironment(),
    log,
    opened,
  });
  const gateway: Gateway = {
    keys,
    tokens,
    identification: new Identification({
      keys,
      tokens,
      failures,
      ...(config['listen.tls.client_ca'] === null
        ? {}
        : { clientSubject: config['listen.tls.client_subject'] }),
    }),
    trustedProxies: new Networks(config.trusted_proxies),
    policy: { ...policy, weakness: () => archive.fault() },
    shadow,
    quota: await openLimits(start),
    recorder,
    ...backends.gateway,
    log,
    linger: defaultLinger,
    version: programVersion(),
    drain: new Drain(),
    metrics,
    ...(traces === undefined ? {} : { traces }),
    parts: furtherParts(start),
  };
  readInstruments(metrics, gateway, engine);
  return gateway;
}

/** What only this configuration has, and `/readyz` looks at. */
function furtherParts({ certificate }: Start): readonly ReadinessPart[] {
  if (certificate === undefined) return [];
  return [{ part: 'certificate', without: 'degraded', fault: () => certificate.fault }];
}

/** Removes dropped tables past their time, and what crashes left behind. */
function collectInBackground({ config, log, opened }: Start, engine: Engine): void {
  const collection = new BackgroundCollection(() => engine.upkeep?.collector ?? null, {
    retentionMillis: config['drop.retention'],
    done: ({ failures, ...removed }) => {
      if (removed.files + removed.tables > 0) log.info(removed, 'removed what nothing needs');
      if (failures.length > 0) log.error({ failures }, 'not everything could be removed');
    },
    failed: (error) => log.error({ err: error }, 'nothing could be collected'),
  });
  opened.add(() => collection.stop());
}

/** Keeps the texts of policies; that of the first one is kept when this resolves. */
async function openArchive(
  { log, opened }: Start,
  folder: DataFolder,
  { texts }: LoadedPolicy,
): Promise<PolicyArchive> {
  const archive = new PolicyArchive(folder.audit, (error) =>
    log.error({ err: error }, 'the text of the policy could not be kept'),
  );
  opened.add(() => archive.close());
  await archive.sweep();
  await archive.keep(texts);
  return archive;
}

/** The policy, and the issuers of tokens, which change with it. */
function openPolicy(
  { config, log, opened, metrics }: Start,
  first: PolicySnapshot,
  { archive, reloads }: { readonly archive: PolicyArchive; readonly reloads: PolicyReloads },
): { readonly policy: PolicyWatch; readonly tokens: Tokens } {
  const folder = resolve(config.policies);
  warn(first, log);
  const tokens = new Tokens(first.issuers, { log });
  opened.add(() => tokens.close());
  const onChange = (snapshot: PolicySnapshot): void => {
    metrics.count('policyReloads', 'ok');
    tokens.replace(snapshot.issuers);
    reloads.taken(snapshot.digest);
    log.info({ digest: snapshot.digest }, 'a new policy is in force');
    warn(snapshot, log);
  };
  const onRefused = (findings: readonly string[]): void => {
    metrics.count('policyReloads', 'refused');
    reloads.refused(findings);
    log.error({ findings }, 'the policy files were refused; the last good policy stays in force');
  };
  const keep: KeepTexts = (texts) => archive.keep(texts);
  const watch = watchPolicy(folder, first, onChange, onRefused, keep);
  opened.add(() => watch.close());
  return { policy: watch, tokens };
}

/** What the limits of the policy count with. */
async function openLimits({ config, opened }: Start): Promise<Quota> {
  const quota = await openCounters(config);
  opened.add(() => quota.close());
  return quota;
}

/** The policy that is tried out, if there is one. */
async function openShadow({ config, log, opened }: Start, archive: PolicyArchive): Promise<Shadow> {
  const watch = await watchShadow(resolve(config.policies), {
    keep: (texts) => archive.keep(texts),
    onChange: (snapshot) => {
      if (snapshot === undefined) log.info('no shadow policy is tried out any more');
      else log.info({ digest: snapshot.digest }, 'a shadow policy is tried out');
    },
    onRefused: (findings) => log.error({ findings }, 'the shadow policy was refused'),
  });
  opened.add(() => watch.close());
  return new Shadow(watch, log);
}

function warn(policy: PolicySnapshot, log: Logger): void {
  if (!policy.sees(administrator, [], 'namespace')) {
    log.warn('the policy gives role:admin nothing: no administrator can do anything');
  } else if (!policy.decide(administrator, 'manage', []).allowed) {
    log.warn('the policy does not let role:admin manage everything');
  }
  if (policy.remarks.length > 0) {
    log.warn({ lines: policy.remarks.slice(0, 20) }, 'lines of the policy never decide anything');
  }
  if (policy.slow) log.warn('the model is not the shipped one: casbin decides, which is slow');
}

async function openKeys(
  { config, log, output, opened }: Start,
  folder: DataFolder,
): Promise<KeyRing> {
  const stored = await readKeys(folder.keys);
  if (stored.length === 0 && config.admin_key === null) {
    const text = await makeFirstKey(folder);
    if (text !== undefined && output.watched) {
      output.note(`administrator key, shown this once and kept in ${folder.initialKey}: ${text}`);
    }
  }
  const uses = await KeyUse.open(folder.keyUses, (error) => {
    log.warn({ err: error }, 'when keys are used cannot be written down');
  });
  opened.add(() => uses.close());
  const onFault = (fault: string): void => {
    log.error({ fault }, 'the keys file was refused; the last good keys stay in force');
  };
  return new KeyRing(folder.keys, config.admin_key ?? undefined, onFault, (id, now) =>
    uses.note(id, now),
  );
}

async function openAudit(start: Start, folder: DataFolder): Promise<AuditLog> {
  const { config, log, opened } = start;
  const key = await openSigningKey(config, folder);
  const audit = await openAuditLog({
    folder: folder.audit,
    processes: folder.auditProcesses,
    rotateBytes: config['audit.rotate_bytes'],
    checkpoints: {
      key,
      places: await openCheckpointPlaces(config, folder, opened),
      failed: (place, error) => log.error({ err: error, place }, 'a checkpoint could not be kept'),
    },
  });
  opened.add(() => audit.close());
  sealInBackground(start, { folder: folder.audit, own: audit.instance, key });
  return copied(start, audit);
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
async function resolveBefore(
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

function recorderOf(
  { config, log, metrics }: Start,
  audit: AuditLog,
  backend: Backends['nameFor'],
): Recorder {
  return new Recorder({
    audit: measuredAudit(audit, metrics),
    log,
    durable: config['audit.durable'],
    redact: redactor(config['audit.redact']),
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
    done: ({ unfit, ...done }) => {
      if (done.sealed + done.retired > 0) log.info(done, 'sealed files of the audit log');
      if (unfit.length > 0) log.error({ unfit }, 'the chain does not hold in the audit log');
    },
    failed: (error) => log.error({ err: error }, 'the audit log could not be sealed'),
  });
  opened.add(() => sealing.stop());
}
