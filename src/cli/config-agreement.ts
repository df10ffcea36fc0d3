import { ConfigError } from './config-error.ts';
import type { Config } from './config-table.ts';

/**
 * Checks what no value shows alone.
 * @throws ConfigError
 */
export function checkTogether(config: Config): void {
  const { 'listen.tls.cert': cert, 'listen.tls.key': key, 'listen.tls.client_ca': ca } = config;
  if ((cert === null) !== (key === null)) {
    throw new ConfigError('listen.tls.cert and listen.tls.key must be given together');
  }
  if (ca !== null && cert === null) {
    throw new ConfigError(
      'listen.tls.client_ca asks for clients over TLS, which needs listen.tls.cert',
    );
  }
  const admin = config['listen.admin.port'];
  if (admin !== null && admin !== 0 && admin === config['listen.port']) {
    throw new ConfigError(`listen.port and listen.admin.port are both ${admin}`);
  }
}
