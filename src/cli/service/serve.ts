import { databasesOf } from '../config/config-databases.ts';
import type { Logger } from 'pino';
import type { Engine } from '../../engine/engine.ts';
import { BackgroundCollection } from '../../engine/upkeep/retention/background.ts';
import { Drain } from '../../gateway/drain.ts';
import type { Gateway, ReadinessPart } from '../../gateway/gateway.ts';
import { readKeys, replaceFile, updateKeys } from '../../gateway/identity/key-file.ts';
import { FailureLimit } from '../../gateway/identity/failure-limit.ts';
import { Identification } from '../../gateway/identity/identification.ts';
import { KeyRing } from '../../gateway/identity/key-ring.ts';
import { KeyUse } from '../../gateway/identity/key-use.ts';
import { defaultLinger } from '../../gateway/http/linger.ts';
import { Networks } from '../../gateway/http/networks.ts';
import { Scans } from '../../gateway/scans.ts';
import { Metrics } from '../../gateway/telemetry/metrics.ts';
import type { BudgetLimits } from '../../protocol/budget.ts';
import { processEnvironment } from '../config/config-environment.ts';
import type { Quota } from '../../store/quota.ts';
import type { Config } from '../config/config-table.ts';
import { dataFolderOf, makeDataFolder, type DataFolder } from './data-folder.ts';
import { openCertificate, openListeners } from '../config/listeners.ts';
import type { Output } from '../output/output.ts';
import { openBackends, type Backends } from './open-backends.ts';
import { adoptionRecorder } from './catalog-adopt.ts';
import { openCatalog } from './open-catalog.ts';
import { Opened, type Start } from './opened.ts';
import { joinMetrics } from '../processes/shared-metrics.ts';
import { PolicyReloads } from './policy-reloads.ts';
import { openCounters } from '../processes/process-quota.ts';
import { programVersion } from '../output/version.ts';
import { openAudit, recorderOf, resolveBefore } from './open-audit.ts';
import { firstPolicy, openArchive, openPolicy, openShadow } from './open-policy.ts';
import { requireWritable } from './writable-folder.ts';
import { makeKey } from '../../gateway/identity/keys.ts';
import type { EngineReadings } from '../../engine/readings.ts';
import type { MetricName } from '../../gateway/telemetry/metric-table.ts';
import { readinessSamples } from '../../gateway/readiness.ts';
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
function readInstruments(metrics: Metrics, gateway: Gateway, engine: Engine): void {
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

/** Sends traces to the configured collector; the exporter is loaded only if there is one. */
async function openTraces(
  config: Config,
  metrics: Metrics,
  log: Logger,
): Promise<Traces | undefined> {
  const endpoint = config['telemetry.otlp_endpoint'];
  if (endpoint === null) return undefined;
  const { otlpTraces } = await import('../../gateway/otlp-traces.ts');
  let lost = false;
  return otlpTraces({
    endpoint,
    version: programVersion(),
    counted: (result, spans) => {
      metrics.count('spans', result, spans);
      if (result === 'lost' && !lost) log.warn('the collector of traces takes none; they are lost');
      lost = result === 'lost';
    },
  });
}

/** A gateway that serves. */
export interface RunningGateway {
  readonly url: string;
  /** Of the listener for metrics and health, where there is one. */
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
    return {
      ...listeners,
      stop: async () => {
        try {
          await listeners.stop();
        } finally {
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
  const { config, log, metrics, opened } = start;
  const folder = dataFolderOf(config);
  const first = await firstPolicy(config);
  const reloads = new PolicyReloads(first.texts);
  for (const place of [folder.root, folder.lance]) await requireWritable(place);
  await makeDataFolder(folder);
  const archive = await openArchive(start, folder, first);
  const { policy, tokens } = openPolicy(start, first, { archive, reloads });
  const shadow = await openShadow(start, archive);
  const keys = await openKeys(start, folder);
  let backends: Backends | undefined;
  const audit = await openAudit(start, folder);
  reloads.record(audit);
  const recorder = recorderOf(start, audit, (route) => backends?.nameFor(route) ?? 'none');
  let skew: string | undefined;
  const engine = await openCatalog(config, folder, opened, {
    onSkew: (fault) => {
      if (fault === undefined) log.info('the clocks of this machine and of the store agree again');
      else log.warn(fault);
      skew = fault;
    },
    rules: {
      source: () => policy.current().commits,
      secret: (name) => processEnvironment()[name],
    },
    recordAdoption: adoptionRecorder(audit),
    onAvailability: (isAvailable) => {
      if (isAvailable) start.log.info('Redis is available again');
      else start.log.warn('Redis is unavailable: requests that need the catalog answer 503');
    },
  });
  await resolveBefore(start, folder, audit, engine);
  engine.startWork((error) => log.error({ err: error }, 'work in the background failed'));
  const weakness = await engine.backend.weakness().catch(() => undefined);
  if (weakness !== undefined) log.warn(weakness);
  collectInBackground(start, engine);
  const quota = await openLimits(start);
  const failures = new FailureLimit(
    config['limits.failed_identifications'],
    config['coordination.redis'] === null ? undefined : quota,
  );
  const traces = await openTraces(config, metrics, log);
  opened.add(() => traces?.close());
  backends = await openBackends(config.backends, {
    embedded: engine.backend,
    environment: processEnvironment(),
    bodies: { json: config['limits.json_body'], arrow: config['limits.arrow_body'] },
    page: config['limits.page'],
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
    bodyIds: config['authorize.body_ids'],
    databases: databasesOf(config.databases),
    policy: { ...policy, weakness: () => archive.fault() },
    shadow,
    quota,
    budget: budgetOf(config),
    scans: new Scans(config['limits.scans']),
    recorder,
    ...backends.gateway,
    log,
    linger: defaultLinger,
    version: programVersion(),
    drain: new Drain(),
    metrics,
    ...(traces === undefined ? {} : { traces }),
    parts: [...furtherParts(start), { part: 'clock', without: 'degraded', fault: () => skew }],
  };
  readInstruments(metrics, gateway, engine);
  return gateway;
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

/** Checks of `/readyz` that depend on this configuration. */
function furtherParts({ certificate }: Start): readonly ReadinessPart[] {
  if (certificate === undefined) return [];
  return [{ part: 'certificate', without: 'degraded', fault: () => certificate.fault }];
}

/** Removes dropped tables after their retention, and files that crashes left. */
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

/** Counters of the limits of the policy. */
async function openLimits({ config, opened }: Start): Promise<Quota> {
  const quota = await openCounters(config);
  opened.add(() => quota.close());
  return quota;
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

/**
 * Makes the first administrator key: its text goes into a file of mode 0600,
 * its hash to the keys. Gives the text; undefined when there is a key, since
 * another process that starts at the same time has made it.
 */
async function makeFirstKey(folder: DataFolder): Promise<string | undefined> {
  const details = { subject: 'user:admin', roles: ['role:admin'], expires: null };
  let text: string | undefined;
  await updateKeys(folder.keys, async (keys) => {
    if (keys.length > 0) return keys;
    const made = makeKey(details, new Date());
    // Before the keys have it: a crash between the two leaves no key that nobody holds.
    await replaceFile(folder.initialKey, `${made.text}\n`);
    text = made.text;
    return [made.stored];
  });
  return text;
}
