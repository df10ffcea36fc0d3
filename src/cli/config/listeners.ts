import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Certificate, CertificateError } from '../../gateway/http/certificate.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { listen, type Listening, type ServerOptions } from '../../gateway/server.ts';
import type { Config } from './config-table.ts';
import { UsageError } from '../output/service-error.ts';

/** Addresses of a gateway's listeners. */
interface Listeners {
  readonly url: string;
  /** Listener for metrics and health, if configured. */
  readonly admin?: string;
  stop(): Promise<void>;
}

/** The certificate of the configuration, if it has one. @throws UsageError when its files cannot be used. */
export function openCertificate(config: Config): Certificate | undefined {
  const { 'listen.tls.cert': cert, 'listen.tls.key': key } = config;
  const clientCa = config['listen.tls.client_ca'];
  if (cert === null || key === null) return undefined;
  try {
    return new Certificate({
      cert: resolve(cert),
      key: resolve(key),
      clientCa: clientCa === null ? null : resolve(clientCa),
    });
  } catch (error) {
    if (error instanceof CertificateError) throw new UsageError(error.message);
    throw error;
  }
}

/** Listens on the configured addresses. @throws UsageError when it cannot. */
export async function openListeners(
  gateway: Gateway,
  config: Config,
  certificate: Certificate | undefined,
): Promise<Listeners> {
  const { 'listen.admin.port': port, 'listen.admin.host': host } = config;
  const limits = {
    headerBytes: config['limits.header'],
    idleMillis: config['limits.request_timeout'],
    drainMillis: config['shutdown.grace'],
    backlog: config['listen.backlog'],
  };
  const admin =
    port === null ? undefined : await open(gateway, { ...limits, host, port, site: 'admin' });
  try {
    const main = await open(gateway, {
      ...limits,
      host: config['listen.host'],
      port: config['listen.port'],
      ...(certificate === undefined ? {} : { certificate }),
    });
    return {
      url: main.url,
      ...(admin === undefined ? {} : { admin: admin.url }),
      // The admin listener last: it reports that this one stops.
      stop: async () => {
        main.announce();
        await sleep(config['shutdown.delay']);
        await main.stop();
        await admin?.stop();
      },
    };
  } catch (error) {
    await admin?.stop();
    throw error;
  }
}

async function open(gateway: Gateway, options: ServerOptions): Promise<Listening> {
  try {
    return await listen(gateway, options);
  } catch (error) {
    throw new UsageError(listenFault(error, options));
  }
}

type Place = Pick<ServerOptions, 'host' | 'port'>;

/** Explains an error of the operating system on listening. */
export function listenFault(error: unknown, { host, port }: Place): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return code === 'EADDRINUSE'
    ? `port ${port} of ${host} is in use by another program`
    : `${host} port ${port} cannot be listened on (${code})`;
}

/** The places where a gateway of a configuration listens. */
export function addressesOf(config: Config): readonly Place[] {
  const { 'listen.admin.port': port, 'listen.admin.host': host } = config;
  const main = { host: config['listen.host'], port: config['listen.port'] };
  return port === null ? [main] : [{ host, port }, main];
}
