import { ConfigError } from './config-error.ts';
import type { Config, ConfigPath } from './config-table.ts';

/**
 * Checks what no value shows alone.
 * @param where Where a key was given, for the sentence.
 * @throws ConfigError
 */
export function checkTogether(config: Config, where: (path: ConfigPath) => string): void {
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
}
