import type { HttpSetting } from './config-backends.ts';
import type { Environment } from './config-environment.ts';
import { ConfigError } from './config-error.ts';

/**
 * The credential of a backend; undefined where it has none.
 * @throws ConfigError when the variable is not set, or cannot be sent in a header
 */
export function credentialOf(setting: HttpSetting, environment: Environment): string | undefined {
  const fault = credentialFault(setting, environment);
  if (fault !== undefined) throw new ConfigError(`the backend ${setting.name}: ${fault}`);
  return setting.credential_env === null ? undefined : environment[setting.credential_env];
}

/** Why the credential of a backend cannot be used; says nothing of its value. */
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
