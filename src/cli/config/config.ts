import {
  credentialFault,
  CONFIG_VARIABLE,
  storeCredentialsFault,
  environmentSource,
  givenText,
  type Environment,
} from './config-environment.ts';
import { ConfigError, sourceText, type Given, type SettingSource } from './config-source.ts';
import { fileSource, readConfigFile } from './config-file.ts';
import type { SettingReading } from './config-kinds.ts';
import { keyOfLocation, locationFault } from './config-object-stores.ts';
import { configPaths, settingOf, type Config, type ConfigPath } from './config-table.ts';

/** Default configuration file; read if it exists. */
const DEFAULT_FILE = 'arrowgate.yaml';

/** The flags of a command line, by the path of their key, and `--config`. */
interface Flags {
  readonly config?: string;
  readonly values: ReadonlyMap<ConfigPath, string>;
  /** Whether requests are to be served, for which the credentials of backends must be there. */
  readonly serving?: boolean;
}

/**
 * The configuration: a flag wins over a variable, that over the file, and that
 * over the default. Values that lose are checked too.
 * @throws ConfigError with one sentence
 */
export function loadConfig(flags: Flags, environment: Environment): Config {
  const sources = [
    flagSource(flags),
    environmentSource(environment),
    namedFile(flags.config ?? environment[CONFIG_VARIABLE]),
  ];
  const config = configOf(sources);
  if (flags.serving === true) checkCredentials(config, sources, environment);
  return config;
}

/**
 * The configuration of a text alone, as a file would have it; nothing else is read.
 * @param name Name of the file in messages.
 * @throws ConfigError with one sentence
 */
export function parseConfig(name: string, text: string): Config {
  return configOf([fileSource(name, text)]);
}

function configOf(sources: readonly SettingSource[]): Config {
  const entries = configPaths.map((path) => [path, valueOf(path, sources)]);
  // Each value was read by the kind of its own row.
  const config = Object.fromEntries(entries) as Config;
  checkTogether(config, (path) => givenFirst(path, sources)?.where ?? path);
  return config;
}

/** A backend or object store without its credential would refuse everything later. @throws ConfigError */
function checkCredentials(
  { backends, object_stores: stores }: Config,
  sources: readonly SettingSource[],
  environment: Environment,
): void {
  for (const [at, backend] of backends.entries()) {
    const fault = backend.type === 'http' ? credentialFault(backend, environment) : undefined;
    refuse('backends', [at, 'credential_env'], fault, sources);
  }
  for (const [at, store] of stores.entries()) {
    const fault = storeCredentialsFault(store, environment);
    refuse('object_stores', [at, 'credentials_env'], fault, sources);
  }
}

/** @throws ConfigError if a value inside of a setting has a fault */
function refuse(
  path: ConfigPath,
  place: readonly (string | number)[],
  fault: string | undefined,
  sources: readonly SettingSource[],
): void {
  const given = givenFirst(path, sources);
  if (given === undefined || fault === undefined) return;
  const where = given.inside?.(place) ?? `${given.where}${sourceText(place)}`;
  throw new ConfigError(`${where}: ${fault}`);
}

function flagSource(flags: Flags): SettingSource {
  const entries = [...flags.values].map(([path, text]): [ConfigPath, Given] => {
    return [path, givenText(path, text, `--${settingOf(path).flag}`)];
  });
  return new Map(entries);
}

function namedFile(named: string | undefined): SettingSource {
  const path = named ?? DEFAULT_FILE;
  const text = readConfigFile(path);
  if (text !== undefined) return fileSource(path, text);
  if (named === undefined) return new Map();
  throw new ConfigError(`${path} does not exist`);
}

function valueOf(path: ConfigPath, sources: readonly SettingSource[]): unknown {
  const setting = settingOf(path);
  const given = sources.map((source) => source.get(path)).filter((each) => each !== undefined);
  const values = given.map((each) => checked(path, each));
  return values.length === 0 ? setting.default : values[0];
}

/** The value from the source with the highest precedence, if any source has one. */
function givenFirst(path: ConfigPath, sources: readonly SettingSource[]): Given | undefined {
  return sources.map((source) => source.get(path)).find((each) => each !== undefined);
}

function checked(path: ConfigPath, given: Given): unknown {
  const { kind, secret, hidden } = settingOf(path);
  const reading = kind.read(given.value);
  if (reading.kind === 'value') return reading.value;
  if (reading.kind === 'unknown' || reading.at !== undefined) throw insideFault(given, reading);
  const found =
    secret === true || hidden === true ? 'wrong' : (JSON.stringify(given.value) ?? 'nothing');
  throw new ConfigError(`${given.where} is ${found}, but must be ${reading.must}${formOf(given)}`);
}

/** How a text is written, for the end of a refusal. */
function formOf({ form }: Given): string {
  return form === undefined ? '' : `: write it as ${form}`;
}

type Inside = Extract<SettingReading<never>, { readonly kind: 'wrong' | 'unknown' }>;

/** A fault inside a structured value: its path and the found value. */
function insideFault(given: Given, reading: Inside): ConfigError {
  const place = reading.at ?? [];
  const where = given.inside?.(place) ?? `${given.where}${sourceText(place)}`;
  if (reading.kind === 'unknown') {
    return new ConfigError(`${where} is not a key of the configuration`);
  }
  const shown = JSON.stringify(reading.found) ?? 'nothing';
  const found = reading.hidden === true ? 'wrong' : shown;
  const form = place.length === 0 ? formOf(given) : '';
  return new ConfigError(`${where} is ${found}, but must be ${reading.must}${form}`);
}

/**
 * Checks rules that involve several keys.
 * @param where Where a key was given, for the sentence.
 * @throws ConfigError
 */
function checkTogether(config: Config, where: (path: ConfigPath) => string): void {
  const { 'listen.tls.cert': cert, 'listen.tls.key': key, 'listen.tls.client_ca': ca } = config;
  if ((cert === null) !== (key === null)) {
    const [given, other] =
      key === null
        ? (['listen.tls.cert', 'listen.tls.key'] as const)
        : (['listen.tls.key', 'listen.tls.cert'] as const);
    throw new ConfigError(`${where(given)} must be given together with ${other}`);
  }
  if (ca !== null && cert === null) {
    throw new ConfigError(
      `${where('listen.tls.client_ca')} asks for clients over TLS, which needs listen.tls.cert`,
    );
  }
  const admin = config['listen.admin.port'];
  if (admin !== null && admin !== 0 && admin === config['listen.port']) {
    throw new ConfigError(`${where('listen.admin.port')} is ${admin}, which is listen.port too`);
  }
  checkFolders(config, where);
}

/** @throws ConfigError for a place of tables in an object store that is none */
function checkFolders(config: Config, where: (path: ConfigPath) => string): void {
  const { 'locations.managed': managed, 'locations.allowed': allowed } = config;
  const places: readonly (readonly [ConfigPath, string | null])[] = [
    ['locations.managed', managed],
    ...allowed.map((each) => ['locations.allowed', each] as const),
  ];
  for (const [path, location] of places) {
    const fault = location === null ? undefined : locationFault(location, config.object_stores);
    if (fault === undefined) continue;
    throw new ConfigError(`${where(path)} names ${JSON.stringify(location)}, but ${fault}`);
  }
  checkJournal(config, where('journal'), places);
  const archive = config['audit.archive'];
  if (archive === null) return;
  checkObjectPlace(config, {
    location: archive,
    where: where('audit.archive'),
    kind: 'an audit archive',
    places: [...places, ['journal', config.journal]],
  });
}

/** @throws ConfigError for a journal that is not in an object store, or that gateways could not share */
function checkJournal(config: Config, where: string, places: Places): void {
  const { journal } = config;
  if (journal === null) return;
  const kind = 'a journal outside of the data folder';
  checkObjectPlace(config, { location: journal, where, kind, places });
  if (config['coordination.redis'] !== null) return;
  throw new ConfigError(
    `${where} names ${JSON.stringify(journal)}, but a journal in an object store needs coordination.redis: the embedded store cannot be shared`,
  );
}

type Places = readonly (readonly [ConfigPath, string | null])[];

interface ObjectPlace {
  readonly location: string;
  /** Where the configuration names it. */
  readonly where: string;
  /** What lies there. */
  readonly kind: string;
  /** Places with other content. */
  readonly places: Places;
}

/** @throws ConfigError for a place that is not in an object store, or overlaps with others */
function checkObjectPlace(
  { object_stores: stores }: Config,
  { location, where, kind, places }: ObjectPlace,
): void {
  const named = `${where} names ${JSON.stringify(location)}`;
  const fault = locationFault(location, stores);
  if (fault !== undefined) throw new ConfigError(`${named}, but ${fault}`);
  const key = keyOfLocation(location, stores);
  if (key === undefined) {
    throw new ConfigError(`${named}, but ${kind} is a place STORE:/PATH in an object store`);
  }
  for (const [path, other] of places) {
    const folder = keyOfLocation(other ?? '', stores);
    if (folder === undefined || !(isWithin(key, folder) || isWithin(folder, key))) continue;
    const what = path === 'journal' ? 'where the journal lies' : 'where tables lie';
    throw new ConfigError(`${named}, which overlaps with ${path}, ${what}`);
  }
}

function isWithin(key: string, folder: string): boolean {
  return `${key}/`.startsWith(`${folder}/`);
}
