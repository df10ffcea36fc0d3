import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { requireOwnStore } from '../engine/catalog/records/catalog-id.ts';
import { requireFormat } from '../engine/catalog/journal/data-format.ts';
import { readKeys } from '../gateway/identity/key-file.ts';
import { keyState } from '../gateway/identity/keys.ts';
import { loadForService, type FolderPolicy } from '../policy/load.ts';
import { SHADOW_FOLDER } from '../policy/shadow-policy.ts';
import type { Backend } from '../protocol/backend.ts';
import { openStore } from '../store/open/open-store.ts';
import { processEnvironment, unknownVariables } from './config/config-environment.ts';
import { rulesCheck } from './config/commit-rules.ts';
import type { Config } from './config/config-table.ts';
import { disk, dataFolderOf, type DataFolder } from './service/data-folder.ts';
import { sentencesOf } from './error-sentences.ts';
import { signingKeyFault } from './config/key-findings.ts';
import { roleWarnings } from './service/key-roles.ts';
import { activeKeys, isDataFolder, type KnownKeys } from './service/known-keys.ts';
import { listenFault, openCertificate, addressesOf } from './config/listeners.ts';
import { vendingWarnings } from './service/vending-stores.ts';
import { objectStoreFaults, openStorage } from './service/object-stores.ts';
import { openBackends } from './service/open-backends.ts';
import { sharedSecret } from './service/open-keys.ts';
import { requireLibrary } from './service/open-lance.ts';
import { policyWarnings } from './service/open-policy.ts';
import { Opened } from './service/opened.ts';
import { policyReport } from './policy/policy-check.ts';
import { UsageError } from './output/service-error.ts';
import { isServed } from './service/served-folder.ts';
import { readOnlyFault, requireWritable, writeFault } from './service/writable-folder.ts';

/** Result of a simulated start. */
export interface StartReport {
  /** Faults with which `serve` would not start. */
  readonly refusals: readonly string[];
  /** Warnings of `serve` and of the policy check. */
  readonly warnings: readonly string[];
  /** Parts that could not be checked, and files that a start creates. */
  readonly notes: readonly string[];
  /** Checked parts, each with its count. */
  readonly loaded: Readonly<Record<string, Readonly<Record<string, number | string>>>>;
}

/** Something that a start needs, looked at. */
interface Looking {
  readonly config: Config;
  readonly folder: DataFolder;
  /** Whether the data folder is there already. */
  readonly isThere: boolean;
  readonly warnings: string[];
  readonly notes: string[];
}

type Counts = Readonly<Record<string, number | string>>;

/** Checks one part: throws what `serve` would throw, and returns a count. */
type Look = (looking: Looking) => Promise<Counts>;

/** The parts of a start, in its order. Each is judged by the function that the start itself calls. */
const parts: Readonly<Record<string, Look>> = {
  configuration: lookAtVariables,
  certificate: lookAtCertificate,
  policies: lookAtPolicies,
  shadow: lookAtShadow,
  data: lookAtData,
  keys: lookAtKeys,
  audit: lookAtAudit,
  store: lookAtStore,
  object_stores: lookAtObjectStores,
  backends: lookAtBackends,
  addresses: lookAtAddresses,
};

/** Parts in the data folder; not checked if there is no data folder. */
const insideData: ReadonlySet<string> = new Set(['keys', 'audit', 'store']);

/** Looks at everything that a start with a configuration needs. Nothing is written or made. */
export async function checkStart(config: Config): Promise<StartReport> {
  const folder = dataFolderOf(config);
  const isThere = await isDataFolder(folder.root).catch(() => true);
  const looking: Looking = { config, folder, isThere, warnings: [], notes: [] };
  const refusals: string[] = [];
  const loaded: Record<string, Counts> = {};
  for (const [name, look] of Object.entries(parts)) {
    if (insideData.has(name) && !('data' in loaded)) continue;
    try {
      loaded[name] = await look(looking);
    } catch (error) {
      refusals.push(...sentencesOf(error));
    }
  }
  const { warnings, notes } = looking;
  return { refusals, warnings: unique(warnings), notes: unique(notes), loaded };
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

async function lookAtVariables({ config, warnings }: Looking): Promise<Counts> {
  requireLibrary(config);
  for (const name of unknownVariables(processEnvironment())) {
    warnings.push(`the variable ${name} is not one of the configuration`);
  }
  return { processes: config.processes };
}

async function lookAtCertificate({ config, warnings }: Looking): Promise<Counts> {
  const certificate = openCertificate(config);
  if (certificate === undefined) return { certificates: 0 };
  certificate.close();
  if (certificate.fault !== undefined) warnings.push(certificate.fault);
  return { certificates: 1 };
}

async function lookAtPolicies(looking: Looking): Promise<Counts> {
  const { config, warnings, notes } = looking;
  const loaded = await policyOf(config);
  for (const { text, lines = [] } of policyWarnings(loaded.snapshot)) {
    warnings.push(lines.length === 0 ? text : `${text}: ${lines.join('; ')}`);
  }
  const report = await policyReport(config, await keysOf(looking));
  warnings.push(...report.warnings);
  notes.push(...report.notes);
  return countsOf(loaded);
}

function policyOf(config: Config): Promise<FolderPolicy> {
  return loadForService(resolve(config.policies), rulesCheck(config, processEnvironment()));
}

function countsOf({ policies, roles, snapshot, cases }: FolderPolicy): Counts {
  const { issuers, limits, commits } = snapshot;
  return {
    lines: policies.length,
    memberships: roles.length,
    cases: cases.length,
    issuers: issuers.length,
    limits: limits.limits.length,
    commit_rules: commits.rules.length,
  };
}

/** The keys for comparisons; a file that cannot be read is a refusal of its own part. */
async function keysOf({ folder, isThere }: Looking): Promise<KnownKeys> {
  const none = { all: undefined, unseen: undefined };
  if (!isThere) return none;
  return { ...none, all: await readKeys(folder.keys).catch(() => undefined) };
}

/** A shadow policy that is refused keeps no gateway from starting. */
async function lookAtShadow({ config, warnings }: Looking): Promise<Counts> {
  const folder = join(resolve(config.policies), SHADOW_FOLDER);
  if (!(await exists(folder))) return { lines: 0 };
  try {
    return countsOf(await loadForService(folder));
  } catch (error) {
    warnings.push(...sentencesOf(error).map((text) => `${SHADOW_FOLDER}/${text}`));
    return { lines: 0 };
  }
}

async function lookAtData({ config, folder, isThere, warnings, notes }: Looking): Promise<Counts> {
  const fault = await readOnlyFault(config, folder, false);
  if (fault === undefined) {
    await requireWritable(folder.root);
    await requireWritable(folder.lance);
  } else warnings.push(`${fault}: the service starts in read-only mode`);
  await requireFormat(disk, folder.root);
  if (isThere) return { folder: folder.root };
  notes.push(`${folder.root} is not there yet: the first start makes it`);
  return { folder: 'new' };
}

async function lookAtKeys({ config, folder, warnings, notes }: Looking): Promise<Counts> {
  await sharedSecret(config, folder);
  const keys = await readKeys(folder.keys);
  const active = activeKeys(keys, new Date());
  if (keys.length === 0 && config.admin_key === null) {
    notes.push(`there is no key: the first start writes one to ${folder.initialKey}`);
  }
  const loaded = await policyOf(config).catch(() => undefined);
  if (loaded !== undefined) warnings.push(...active.flatMap((key) => roleWarnings(key, loaded)));
  const ended = keys.filter((key) => keyState(key, new Date()) !== 'active').length;
  return { active: active.length, ended };
}

async function lookAtAudit({ config, folder, warnings }: Looking): Promise<Counts> {
  const configured = config['audit.signing_key'];
  const path = configured === null ? folder.signingKey : resolve(configured);
  const isMade = configured !== null || (await exists(path));
  const fault = isMade ? await signingKeyFault(path) : undefined;
  if (fault !== undefined) throw new UsageError(fault);
  const anchor = config['audit.anchor_file'];
  if (anchor !== null) {
    await requireWritable(resolve(anchor, '..')).catch((error: unknown) => {
      warnings.push(`the anchor file cannot be written: ${sentencesOf(error).join(' ')}`);
    });
  }
  return { signing_key: isMade ? path : 'new' };
}

/** An unavailable store does not prevent a start: requests get 503 until it is available. */
async function lookAtStore(looking: Looking): Promise<Counts> {
  const { config, warnings } = looking;
  if (config['coordination.redis'] === null) return lookAtEmbeddedStore(looking);
  const opened = new Opened();
  try {
    const store = await openStore({
      redis: config['coordination.redis'],
      catalog: config['coordination.catalog'],
      folder: looking.folder.store,
    });
    opened.add(() => store.close());
    const { storage, close } = await openStorage(config, looking.folder);
    opened.add(close);
    const journal = looking.folder.journal ?? join(looking.folder.root, 'catalog');
    await requireOwnStore(storage, journal, store).catch((error: unknown) =>
      warnings.push(`the store cannot be used now: ${sentencesOf(error).join(' ')}`),
    );
    const weakness = await store.weakness();
    if (weakness !== undefined) warnings.push(weakness);
    return { kind: 'redis' };
  } finally {
    await opened.close();
  }
}

/** The file is not opened: that alone would write to its lock. */
async function lookAtEmbeddedStore({ folder, warnings }: Looking): Promise<Counts> {
  if ((await writeFault(folder, false)) === undefined) await requireWritable(folder.store);
  const isThere = await exists(join(folder.store, 'data.mdb'));
  if (!isThere && (await exists(join(folder.root, 'catalog', 'id')))) {
    warnings.push(
      `the store of this catalog is gone from ${folder.store}: everything is refused until "arrowgate catalog rebuild"`,
    );
  }
  return { kind: 'embedded', state: isThere ? 'there' : 'new' };
}

/** The stores are not tried: that writes an object. */
async function lookAtObjectStores({ config, folder, warnings }: Looking): Promise<Counts> {
  const settings = config.object_stores;
  for (const fault of await objectStoreFaults(settings, folder.root)) warnings.push(fault);
  warnings.push(...vendingWarnings(settings));
  return { object_stores: settings.length };
}

async function lookAtBackends({ config, warnings }: Looking): Promise<Counts> {
  const opened = new Opened();
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void warnings.push(messageOf(line)) },
  );
  try {
    const { gateway } = await openBackends(config.backends, {
      embedded: noBackend,
      environment: processEnvironment(),
      bodies: { json: config['limits.json_body'], arrow: config['limits.arrow_body'] },
      page: config['limits.page'],
      log,
      opened,
    });
    return { backends: config.backends.length, remote: gateway.remotes?.length ?? 0 };
  } finally {
    await opened.close();
  }
}

/** The message of a log line, with the backend that it concerns. */
function messageOf(line: string): string {
  const { msg, backend, fault, distrust } = JSON.parse(line) as Readonly<Record<string, string>>;
  if (backend === undefined) return String(msg);
  const why = [fault, distrust].filter((part) => part !== undefined);
  return [`the backend ${backend}: ${msg}`, ...why].join(': ');
}

/** In the place of the engine, which is not opened. */
const noBackend: Backend = {
  name: 'embedded',
  handle: () => Promise.reject(new Error('nothing is served here')),
  health: async () => undefined,
  weakness: async () => undefined,
};

async function lookAtAddresses(looking: Looking): Promise<Counts> {
  const places = addressesOf(looking.config);
  for (const place of places) {
    const error = await listenOnce(place);
    if (error === undefined) continue;
    const fault = listenFault(error, place);
    if (!(await isServed(looking.folder))) throw new UsageError(fault);
    looking.notes.push(`${fault}: a gateway runs on this data folder`);
  }
  return { addresses: places.length };
}

/** Listens at a place for a moment. Answers why it cannot. */
function listenOnce(place: ReturnType<typeof addressesOf>[number]): Promise<Error | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', done);
    server.listen(place.port, place.host, () => server.close(() => done(undefined)));
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
