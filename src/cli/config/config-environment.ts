import { parse } from 'yaml';
import { PAGER_VARIABLE } from '../output/pager.ts';
import { ConfigError, type Given, type SettingSource } from './config-source.ts';
import { configPaths, settingOf, variablesOf, type ConfigPath } from './config-table.ts';
import type { HttpSetting } from './config-backends.ts';
import { storeVariables, type ObjectStoreSetting } from './config-object-stores.ts';

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of this process: the only place that reads them. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Keeps the AWS SDK from writing a text about versions of Node between the lines of the log. */
export function silenceSdk(): void {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';
}

export const CONFIG_VARIABLE = 'ARROWGATE_CONFIG';

/** Variables of a process that checks certificates without Node: those of the system, and of an authority of one's own. */
export function libraryCertificates(environment: Environment): Readonly<Record<string, string>> {
  const own = environment['NODE_EXTRA_CA_CERTS'];
  return own === undefined || own === ''
    ? {}
    : { SSL_CERT_FILE: own, SSL_CERT_DIR: '/etc/ssl/certs' };
}

/** The keys set by variables. @throws ConfigError when two names of one key differ */
export function environmentSource(environment: Environment): SettingSource {
  const found = new Map<ConfigPath, Given>();
  for (const path of configPaths) {
    const given = givenBy(environment, path);
    if (given !== undefined) found.set(path, given);
  }
  return found;
}

function givenBy(environment: Environment, path: ConfigPath): Given | undefined {
  const set = variablesOf(path).filter((name) => environment[name] !== undefined);
  const [name, other] = set;
  if (name === undefined) return undefined;
  if (other !== undefined && environment[other] !== environment[name]) {
    throw new ConfigError(`${name} and ${other} are both set, to different values`);
  }
  return givenText(path, environment[name] ?? '', name);
}

/** The value of the text of a flag or variable. @throws ConfigError for a text that is not valid YAML */
export function givenText(path: ConfigPath, text: string, where: string): Given {
  const form = settingOf(path).kind.text;
  if (form.kind === 'plain') return { value: text, where };
  const { example } = form;
  if (form.kind === 'commas' && !YAML_LIST.test(text))
    return { value: parts(text), where, form: example };
  try {
    return { value: parse(text), where, form: example };
  } catch {
    throw new ConfigError(`${where} is not valid YAML: write it in one line, such as ${example}`);
  }
}

/** How a list of YAML begins. */
const YAML_LIST = /^\s*(?:\[|-\s)/;

/** The parts of a text between its commas. */
function parts(text: string): readonly string[] {
  return text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
}

/** Variables that look like ours and are not: a misspelling would otherwise go unnoticed. */
export function unknownVariables(environment: Environment): readonly string[] {
  const names = new Set([CONFIG_VARIABLE, PAGER_VARIABLE, ...configPaths.flatMap(variablesOf)]);
  return Object.keys(environment).filter(
    (name) => name.startsWith('ARROWGATE_') && !names.has(name),
  );
}

/**
 * The credential of a backend; undefined where it has none.
 * @throws ConfigError when the variable is not set, or cannot be sent in a header
 */
export function credentialOf(setting: HttpSetting, environment: Environment): string | undefined {
  const fault = credentialFault(setting, environment);
  if (fault !== undefined) throw new ConfigError(`the backend ${setting.name}: ${fault}`);
  return setting.credential_env === null ? undefined : environment[setting.credential_env];
}

/** Why the credential of a backend is unusable; never contains its value. */
export function credentialFault(
  { credential_env: name }: HttpSetting,
  environment: Environment,
): string | undefined {
  if (name === null) return undefined;
  const value = environment[name];
  if (value === undefined || value === '') return `the variable ${name} is not set`;
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)) return undefined;
  return `the variable ${name} holds what cannot stand in a header`;
}

/** The part of an object store's setting that names its credentials. */
type StoreCredentials = Pick<ObjectStoreSetting, 'name' | 'credentials_env'>;

/** The credentials of an object store; null for the chain of the AWS SDK. @throws ConfigError when a variable is not set */
export function storeCredentials(
  setting: StoreCredentials,
  environment: Environment,
): { readonly id: string; readonly secret: string } | null {
  const fault = storeCredentialsFault(setting, environment);
  if (fault !== undefined) throw new ConfigError(`the object store ${setting.name}: ${fault}`);
  if (setting.credentials_env === null) return null;
  const { id, secret } = storeVariables(setting.credentials_env);
  return { id: environment[id] ?? '', secret: environment[secret] ?? '' };
}

/** Why the credentials of an object store are unusable; never contains them. */
export function storeCredentialsFault(
  { credentials_env: name }: StoreCredentials,
  environment: Environment,
): string | undefined {
  if (name === null) return undefined;
  const missing = Object.values(storeVariables(name)).find(
    (variable) => (environment[variable] ?? '') === '',
  );
  return missing === undefined ? undefined : `the variable ${missing} is not set`;
}
