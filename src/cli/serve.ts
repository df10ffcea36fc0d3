import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { BackgroundSealing, type BackgroundSealingOptions } from '../audit/background-sealing.ts';
import { openAuditLog } from '../audit/writer.ts';
import { openFormat } from '../engine/catalog/format.ts';
import type { Engine } from '../engine/engine.ts';
import { BackgroundCollection } from '../engine/retention/background.ts';
import { Drain } from '../gateway/drain.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { readKeys } from '../gateway/key-file.ts';
import { FailureLimit } from '../gateway/failure-limit.ts';
import { Identification } from '../gateway/identification.ts';
import { administrator, KeyRing } from '../gateway/key-ring.ts';
import { KeyUse } from '../gateway/key-use.ts';
import { defaultLinger } from '../gateway/linger.ts';
import { Networks } from '../gateway/networks.ts';
import { Recorder } from '../gateway/record.ts';
import { redactor } from '../gateway/redact.ts';
import { listen, type Listening } from '../gateway/server.ts';
import { Tokens } from '../gateway/tokens/tokens.ts';
import { loadPolicy } from '../policy/load.ts';
import type { PolicySnapshot } from '../policy/snapshot.ts';
import { watchPolicy, type PolicyWatch } from '../policy/watch.ts';
import { openCheckpointPlaces, openSigningKey } from './audit-checkpoints.ts';
import { processEnvironment } from './config-environment.ts';
import type { Quota } from '../store/quota.ts';
import type { Config } from './config-table.ts';
import { dataFolderOf, makeDataFolder, type DataFolder } from './data-folder.ts';
import { makeFirstKey } from './first-key.ts';
import type { Output } from './output.ts';
import { openBackends, type Backends } from './open-backends.ts';
import { openCatalog } from './open-catalog.ts';
import { Opened } from './opened.ts';
import { openCounters } from './process-quota.ts';
import { UsageError } from './usage-error.ts';
import { programVersion } from './version.ts';

/** What runs may go on for so long after a signal to stop: the contract gives 30 s for all of it (section 2). */
const DRAIN_MILLIS = 28_000;

/** A gateway that serves. */
export interface Running {
  readonly url: string;
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
    const gateway = await compose({ config, log, output, opened });
    const listening = await openServer(gateway, config);
    const stop = async (): Promise<void> => {
      await listening.stop();
      await opened.close();
    };
    return { url: listening.url, stop };
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
}

/** Opens everything that a gateway needs; `opened` closes it again. @throws as `startGateway` does */
export async function compose(start: Start): Promise<Gateway> {
  const { config, log } = start;
  const folder = dataFolderOf(config);
  const { policy, tokens } = await openPolicy(start);
  await makeDataFolder(folder);
  await openFormat(folder.root);
  const keys = await openKeys(start, folder);
  let backends: Backends | undefined;
  const recorder = await openRecorder(start, folder, (route) => backends?.nameFor(route) ?? 'none');
  const engine = await openCatalog(config, folder, start.opened);
  engine.startWork((error) => log.error({ err: error }, 'work in the background failed'));
  const weakness = await engine.backend.weakness().catch(() => undefined);
  if (weakness !== undefined) log.warn(weakness);
  collectInBackground(start, engine);
  const failures = new FailureLimit(config['limits.failed_identifications']);
  backends = await openBackends(config.backends, {
    embedded: engine.backend,
    environment: processEnvironment(),
    log,
    opened: start.opened,
  });
  return {
    keys,
    tokens,
    identification: new Identification({ keys, tokens, failures }),
    trustedProxies: new Networks(config.trusted_proxies),
    policy,
    quota: await openLimits(start),
    recorder,
    ...backends.gateway,
    log,
    linger: defaultLinger,
    version: programVersion(),
    drain: new Drain(),
  };
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

/** The policy, and the issuers of tokens, which change with it. */
async function openPolicy({
  config,
  log,
  opened,
}: Start): Promise<{ readonly policy: PolicyWatch; readonly tokens: Tokens }> {
  const folder = resolve(config.policies);
  const first = await loadPolicy(folder);
  warn(first, log);
  const tokens = new Tokens(first.issuers, { log });
  opened.add(() => tokens.close());
  const onChange = (snapshot: PolicySnapshot): void => {
    tokens.replace(snapshot.issuers);
    log.info({ digest: snapshot.digest }, 'a new policy is in force');
    warn(snapshot, log);
  };
  const onRefused = (findings: readonly string[]): void => {
    log.error({ findings }, 'the policy files were refused; the last good policy stays in force');
  };
  const watch = watchPolicy(folder, first, onChange, onRefused);
  opened.add(() => watch.close());
  return { policy: watch, tokens };
}

/** What the limits of the policy count with. */
async function openLimits({ config, opened }: Start): Promise<Quota> {
  const quota = await openCounters(config);
  opened.add(() => quota.close());
  return quota;
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

async function openRecorder(
  start: Start,
  folder: DataFolder,
  backend: Backends['nameFor'],
): Promise<Recorder> {
  const { config, log, opened } = start;
  const key = await openSigningKey(config, folder);
  const audit = await openAuditLog({
    folder: folder.audit,
    rotateBytes: config['audit.rotate_bytes'],
    checkpoints: {
      key,
      places: await openCheckpointPlaces(config, folder, opened),
      failed: (place, error) => log.error({ err: error, place }, 'a checkpoint could not be kept'),
    },
  });
  opened.add(() => audit.close());
  sealInBackground(start, { folder: folder.audit, own: audit.instance, key });
  return new Recorder({
    audit,
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

async function openServer(gateway: Gateway, config: Config): Promise<Listening> {
  const { 'listen.host': host, 'listen.port': port } = config;
  try {
    return await listen(gateway, {
      host,
      port,
      headerBytes: config['limits.header'],
      idleMillis: config['limits.request_timeout'],
      drainMillis: DRAIN_MILLIS,
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new UsageError(
      code === 'EADDRINUSE'
        ? `port ${port} of ${host} is in use by another program`
        : `${host} port ${port} cannot be listened on (${code})`,
    );
  }
}
