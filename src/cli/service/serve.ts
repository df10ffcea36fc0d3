import { databasesOf } from '../config/config-databases.ts';
import type { Logger } from 'pino';
import type { Engine } from '../../engine/engine.ts';
import { BackgroundCollection } from '../../engine/upkeep/retention/background.ts';
import { BackgroundScrub } from '../../engine/upkeep/verification/background-scrub.ts';
import type { ExpiryOptions } from '../../engine/upkeep/retention/expiry.ts';
import { Drain } from '../../gateway/drain.ts';
import type { Gateway, ReadinessPart } from '../../gateway/gateway.ts';
import { FailureLimit } from '../../gateway/identity/failure-limit.ts';
import {
  Identification,
  type IdentificationOptions,
} from '../../gateway/identity/identification.ts';
import { defaultLinger } from '../../gateway/http/linger.ts';
import { Networks } from '../../gateway/http/networks.ts';
import { Scans } from '../../gateway/scans.ts';
import { Metrics, type Sample } from '../../gateway/telemetry/metrics.ts';
import type { BudgetLimits } from '../../protocol/budget.ts';
import { processEnvironment } from '../config/config-environment.ts';
import type { Quota } from '../../store/quota.ts';
import type { WriteWaits } from '../../store/store.ts';
import type { Config } from '../config/config-table.ts';
import { DamagedFiles } from './damaged-files.ts';
import { dataFolderOf, makeDataFolder, storeOf, type DataFolder } from './data-folder.ts';
import { openCertificate, openListeners } from '../config/listeners.ts';
import type { Output } from '../output/output.ts';
import { openBackends, type Backends } from './open-backends.ts';
import { adoptionRecorder } from './catalog-adopt.ts';
import { openCatalog, openReadingCatalog, type CatalogWatch } from './open-catalog.ts';
import { openNotes } from '../../store/open/open-store.ts';
import { PolicyAgreement } from '../../gateway/policy-agreement.ts';
import { Opened, type Start } from './opened.ts';
import { StoreIntegrity } from './store-integrity.ts';
import { joinMetrics } from '../processes/shared-metrics.ts';
import { openLance } from './open-lance.ts';
import { openVending, vendingWarnings } from './vending-stores.ts';
import { tryObjectStores, type OpenStorage } from './object-stores.ts';
import { PolicyReloads } from './policy-reloads.ts';
import { openCounters } from '../processes/process-quota.ts';
import { programVersion } from '../output/version.ts';
import { openKeys } from './gateway-keys.ts';
import { KeyFreezing } from './key-freezing.ts';
import { openArchivedLogs, type ArchivedLogs } from './audit-archive.ts';
import { openConsole } from './open-console.ts';
import { openAudit, recorderOf, resolveBefore } from './open-audit.ts';
import { firstPolicy, openArchive, openPolicy, openShadow } from './open-policy.ts';
import { expiryOf, expiryRecorder, mergeRecorder } from './version-expiry.ts';
import { readOnlyFault, requireWritable, writeFault } from './writable-folder.ts';
import { ReadOnlyMode } from './read-only.ts';
import type { AuditLog } from '../../audit/writer.ts';
import type { EngineReadings } from '../../engine/readings.ts';
import type { MetricName } from '../../gateway/telemetry/metric-table.ts';
import { readinessSamples } from '../../gateway/readiness.ts';
import { WarmUp } from './warm-up.ts';
import type { Traces } from '../../gateway/telemetry/traces.ts';

const readings: Readonly<Partial<Record<MetricName, keyof EngineReadings>>> = {
  cacheBytes: 'cacheBytes',
  cacheCapacity: 'cacheCapacity',
  commits: 'commits',
  compactions: 'compactions',
  lookups: 'lookups',
  workers: 'workers',
  workerTasks: 'tasks',
  clockSkew: 'clockSkew',
};

/** Registers the metrics that are read on request. */
function readInstruments(start: Start, gateway: Gateway, engine: Engine): void {
  const { metrics } = start;
  readExpiries(start, gateway);
  metrics.source('inFlight', () => [{ value: gateway.drain.size }]);
  metrics.source('policyInfo', () => [
    { labels: { digest: gateway.policy.current().digest }, value: 1 },
  ]);
  metrics.source('ready', () => readinessSamples(gateway));
  for (const [name, reading] of Object.entries(readings)) {
    metrics.source(name as MetricName, () => {
      const value = engine.readings()?.[reading];
      return value === undefined ? [] : [{ value }];
    });
  }
}

/** Registers when the certificate and the next key end. */
function readExpiries({ metrics, certificate }: Start, { keys }: Gateway): void {
  const seconds = (millis: number | undefined): readonly Sample[] =>
    millis === undefined ? [] : [{ value: millis / 1000 }];
  metrics.source('certificateExpiry', () => seconds(certificate?.expires.getTime()));
  metrics.source('keyExpiry', () => seconds(keys.nextExpiry));
}

/** Registers the metrics of waits for other writers; there are none with Redis. */
function readWaits(metrics: Metrics, waits: () => WriteWaits | undefined): void {
  metrics.source('writeTimeouts', () => [{ value: waits()?.timeouts ?? 0 }]);
  metrics.source('writeWait', () => [{ value: (waits()?.presentMillis ?? 0) / 1000 }]);
}

/** Sends traces to the configured collector; the exporter is loaded only if there is one. */
async function openTraces({ config, metrics, log, opened }: Start): Promise<Traces | undefined> {
  const endpoint = config['telemetry.otlp_endpoint'];
  if (endpoint === null) return undefined;
  const { otlpTraces } = await import('../../gateway/otlp-traces.ts');
  let lost = false;
  const traces = otlpTraces({
    endpoint,
    version: programVersion(),
    counted: (result, spans) => {
      metrics.count('spans', result, spans);
      if (result === 'lost' && !lost)
        log.warn('the trace collector is unavailable; traces are lost');
      lost = result === 'lost';
    },
  });
  opened.add(() => traces.close());
  return traces;
}

export interface RunningGateway {
  readonly url: string;
  /** URL of the listener for metrics and health, if configured. */
  readonly admin?: string;
  /** Finishes requests in flight, flushes the audit log and closes everything. */
  stop(): Promise<void>;
}

/**
 * Puts everything together and listens.
 * @throws PolicyError, KeyFileError, UsageError with the reason why it cannot start
 */
export async function startGateway(
  config: Config,
  log: Logger,
  output: Output,
): Promise<RunningGateway> {
  const opened = new Opened();
  try {
    const certificate = openCertificate(config);
    opened.add(() => certificate?.close());
    const metrics = new Metrics(programVersion());
    joinMetrics(metrics);
    const gateway = await compose({ config, log, output, opened, metrics, certificate });
    const listeners = await openListeners(gateway, config, certificate);
    const warmUp = config.warm_up
      ? new WarmUp({ traffic: gateway.drain, compose, log })
      : undefined;
    return {
      ...listeners,
      stop: async () => {
        void warmUp?.stop();
        try {
          await listeners.stop();
        } finally {
          await warmUp?.stop();
          await opened.close();
        }
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Opens everything that a gateway needs; `opened` closes it again. @throws as `startGateway` does */
export async function compose(start: Start): Promise<Gateway> {
  const { config, log, metrics } = start;
  const folder = dataFolderOf(config);
  const { first, reader } = await firstPolicy(start);
  const reloads = new PolicyReloads(first.snapshot.digest);
  const unwritable = await prepareFolder(start, folder);
  const archive = await openArchive(start, folder, first);
  const { policy, tokens } = openPolicy(start, first, { reader, archive, reloads });
  const shadow = await openShadow(start, { reader, archive });
  let backends: Backends | undefined;
  let skew: string | undefined;
  const integrity = storeIntegrity(start);
  let waits: WriteWaits | undefined;
  let stores: OpenStorage['stores'] = [];
  const damaged = new DamagedFiles(log, metrics);
  const archived = await openArchivedLogs(start, folder);
  const watch: GatewayWatch = {
    others: archived?.logs,
    onStore: (store) => {
      waits = store.writeWaits;
    },
    onObjectStores: (opened) => {
      stores = opened;
    },
    onSkew: (fault) => {
      logSkew(log, fault);
      skew = fault;
    },
    rules: {
      source: () => policy.current().commits,
      secret: (name) => processEnvironment()[name],
    },
    integrity,
    onDamage: (damage) => damaged.add(damage),
    onAvailability: (isAvailable) => logAvailability(log, isAvailable),
  };
  const places = { unwritable, archived };
  const { audit, engine, fault } = await openLogAndCatalog(start, folder, watch, places);
  reloads.record(audit);
  const { keys, book } = await openKeys(start, folder, unwritable);
  const backendOf = (route: Parameters<Backends['nameFor']>[0]): string =>
    backends?.nameFor(route) ?? 'none';
  const recorder = recorderOf(start, audit, backendOf, () => fault() !== undefined);
  engine.startWork((error) => log.error({ err: error }, 'work in the background failed'));
  await warnOfWeakness(engine, log);
  collectInBackground(start, engine, {
    ...expiryOf(config, () => policy.current().commits),
    record: expiryRecorder(audit),
    gathers: true,
  });
  scrubInBackground(start, folder, engine, damaged);
  const agreement = compareOthers(start, folder, () => policy.current().digest);
  const quota = await openLimits(start);
  const failures = failureLimit(config, quota);
  const traces = await openTraces(start);
  backends = await backendsOf(start, engine);
  const gateway: Gateway = {
    keys,
    tokens,
    identification: new Identification({ keys, tokens, failures, ...furtherCallers(start) }),
    trustedProxies: new Networks(config.trusted_proxies),
    bodyIds: config['authorize.body_ids'],
    databases: databasesOf(config.databases),
    policy: { ...policy, weakness: () => archive.fault() },
    shadow,
    quota,
    budget: budgetOf(config),
    scans: new Scans(config['limits.scans']),
    recorder,
    freezer: new KeyFreezing(book, audit, log),
    ...backends.gateway,
    log,
    linger: defaultLinger,
    version: programVersion(),
    drain: new Drain(),
    metrics,
    ...(traces === undefined ? {} : { traces }),
    console: openConsole(start, folder, {
      audit,
      engine,
      book,
      agreement,
      others: archived?.logs,
    }),
    parts: [
      ...furtherParts(start, () => stores),
      { part: 'policies', without: 'degraded', fault: () => agreement.fault() },
      { part: 'storage', without: 'degraded', fault },
      { part: 'clock', without: 'degraded', fault: () => skew },
      { part: 'store', without: 'degraded', fault: () => integrity.fault() },
      { part: 'writers', without: 'degraded', fault: () => waits?.fault() },
      { part: 'tables', without: 'degraded', fault: () => damaged.fault() },
    ],
  };
  readInstruments(start, gateway, engine);
  readWaits(metrics, () => waits);
  return gateway;
}

function backendsOf({ config, log, opened }: Start, engine: Engine): Promise<Backends> {
  return openBackends(config.backends, {
    embedded: engine.backend,
    environment: processEnvironment(),
    bodies: { json: config['limits.json_body'], arrow: config['limits.arrow_body'] },
    page: config['limits.page'],
    log,
    opened,
  });
}

/** The limit of failed authentications, which all gateways share with Redis. */
function failureLimit(config: Config, quota: Quota): FailureLimit {
  const shared = config['coordination.redis'] === null ? undefined : quota;
  return new FailureLimit(config['limits.failed_identifications'], shared);
}

/** Additions of a gateway that need no audit log. */
type GatewayWatch = Omit<CatalogWatch, 'recordAdoption' | 'recordMerge' | 'lance' | 'vending'>;

/** The audit log and the catalog of a gateway. */
interface LogAndCatalog {
  readonly audit: AuditLog;
  readonly engine: Engine;
  /** Why both are only read; undefined while they are written. */
  readonly fault: () => string | undefined;
}

interface LogPlaces {
  /** Why the data folder can only be read; undefined if it can be written. */
  readonly unwritable: string | undefined;
  /** The archive of the audit log, if there is one. */
  readonly archived: ArchivedLogs | undefined;
}

/** Opens both for writing; or for reading, as long as the data folder cannot be written. */
async function openLogAndCatalog(
  start: Start,
  folder: DataFolder,
  given: GatewayWatch,
  { unwritable, archived }: LogPlaces,
): Promise<LogAndCatalog> {
  const { config, log, opened } = start;
  await tryObjectStores(config.object_stores, { spill: folder.root, log });
  for (const warning of vendingWarnings(config.object_stores)) log.warn(warning);
  const vending = await openVending(config.object_stores, opened);
  const watch = { ...given, lance: openLance(start, vending), vending };
  const openEngine = (audit: AuditLog, into: Opened): Promise<Engine> =>
    openCatalog(config, folder, into, {
      ...watch,
      recordAdoption: adoptionRecorder(audit),
      recordMerge: mergeRecorder(audit),
    });
  if (unwritable === undefined) {
    const audit = await openAudit(start, folder, archived);
    const engine = await openEngine(audit, opened);
    await resolveBefore(start, folder, audit, engine);
    return { audit, engine, fault: () => undefined };
  }
  const mode = await ReadOnlyMode.open({
    fault: unwritable,
    log,
    examine: () => writeFault(folder, true),
    openReading: () => openReadingCatalog(config, folder, watch),
    openAudit: (into) => openAudit({ ...start, opened: into }, folder, archived),
    openEngine: (into) => openEngine(mode.audit, into),
    resolve: (audit, engine) => resolveBefore(start, folder, audit, engine),
  });
  opened.add(() => mode.close());
  return { audit: mode.audit, engine: mode.engine, fault: () => mode.fault() };
}

/**
 * Makes the data folder, or brings it up to date.
 * @returns Why it can only be read; undefined if it can be written.
 * @throws UsageError if it can be neither made nor read.
 */
async function prepareFolder(
  { config, log }: Start,
  folder: DataFolder,
): Promise<string | undefined> {
  const fault = await readOnlyFault(config, folder, true);
  if (fault !== undefined) {
    log.error({ fault }, 'the data folder cannot be written: read-only mode');
    return fault;
  }
  for (const place of [folder.root, folder.lance]) await requireWritable(place);
  await makeDataFolder(folder);
  return undefined;
}

/** How client certificates name their owners, and the surrounding program names callers, if they do. */
function furtherCallers({
  config,
  identify,
}: Start): Pick<IdentificationOptions, 'clientSubject' | 'host'> {
  const isCertified = config['listen.tls.client_ca'] !== null;
  return {
    host: identify,
    ...(isCertified ? { clientSubject: config['listen.tls.client_subject'] } : {}),
  };
}

/** The default budget of a request. */
function budgetOf(config: Config): BudgetLimits {
  return {
    time: config['budget.time'],
    memory: config['budget.memory'],
    result: config['budget.result'],
    decompressed: config['budget.decompressed'],
    rows: config['budget.rows'],
  };
}

async function warnOfWeakness({ backend }: Engine, log: Logger): Promise<void> {
  const weakness = await backend.weakness().catch(() => undefined);
  if (weakness !== undefined) log.warn(weakness);
}

function logAvailability(log: Logger, isAvailable: boolean): void {
  if (isAvailable) log.info('Redis is available again');
  else log.warn('Redis is unavailable: requests that need the catalog answer 503');
}

/** @param fault How the clocks of this machine and of the store differ; undefined once they agree again. */
function logSkew(log: Logger, fault: string | undefined): void {
  if (fault === undefined) log.info('the clocks of this machine and of the store agree again');
  else log.warn(fault);
}

/** Reports damage of the store in the log and as a metric. */
function storeIntegrity({ log, metrics }: Start): StoreIntegrity {
  return new StoreIntegrity({
    damaged: (damage, sentence) => {
      metrics.count('storeDamage', damage.kind);
      log.error({ damage }, `the store is damaged: ${sentence}`);
    },
  });
}

/** Checks of `/readyz` that depend on this configuration. */
function furtherParts(
  { certificate, config }: Start,
  stores: () => OpenStorage['stores'],
): readonly ReadinessPart[] {
  const parts = config.object_stores.map(({ name }, at): ReadinessPart => {
    return { part: `store:${name}`, without: 'degraded', fault: () => stores()[at]?.fault() };
  });
  if (certificate === undefined) return parts;
  return [{ part: 'certificate', without: 'degraded', fault: () => certificate.fault }, ...parts];
}

/** Removes versions and dropped tables after their retention, and files that crashes left. */
function collectInBackground(
  { config, log, opened }: Start,
  engine: Engine,
  expiry: ExpiryOptions,
): void {
  const collection = new BackgroundCollection(() => engine.upkeep?.collector ?? null, {
    retentionMillis: config['drop.retention'],
    expiry,
    done: ({ failures, ...removed }) => {
      if (removed.files + removed.tables + removed.versions > 0)
        log.info(removed, 'removed unneeded files');
      if (failures.length > 0) log.error({ failures }, 'not everything could be removed');
    },
    failed: (error) => log.error({ err: error }, 'the garbage collection failed'),
  });
  opened.add(() => collection.stop());
}

/** Compares all files with their checksums at a low rate. */
function scrubInBackground(
  { config, log, metrics, opened }: Start,
  folder: DataFolder,
  engine: Engine,
  damaged: DamagedFiles,
): void {
  const bytesPerSecond = config['scrub.rate'];
  if (bytesPerSecond === null) return;
  const scrub = new BackgroundScrub({
    verifier: () => engine.upkeep?.verifier ?? null,
    open: () => openNotes(storeOf(config, folder), 'scrub'),
    bytesPerSecond,
    periodMillis: config['scrub.period'],
    damaged: (file) => damaged.add(file),
    failed: (error) => log.error({ err: error }, 'not all files could be compared'),
  });
  metrics.source('scrubFinished', () => [{ value: scrub.finishedMillis / 1000 }]);
  opened.add(() => scrub.stop());
}

/** Compares the policy with those of the other gateways of the catalog. */
function compareOthers(
  { config, log, metrics, opened }: Start,
  folder: DataFolder,
  digest: () => string,
): PolicyAgreement {
  const agreement = new PolicyAgreement({
    open: () => openNotes(storeOf(config, folder), 'policies'),
    digest,
    onChange: (fault) => {
      if (fault === undefined) log.info('the gateways of this catalog have the same policy again');
      else log.warn(fault);
    },
  });
  metrics.source('policyDigests', () => [{ value: agreement.digests }]);
  agreement.begin();
  opened.add(() => agreement.close());
  return agreement;
}

/** Counters of the limits of the policy. */
async function openLimits({ config, opened }: Start): Promise<Quota> {
  const quota = await openCounters(config);
  opened.add(() => quota.close());
  return quota;
}
