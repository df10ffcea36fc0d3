// Health check of the container: exit 0 when the gateway answers `GET /healthz` with 200, over
// HTTP or, where the configuration has a certificate, over TLS. The certificate is not verified:
// the gateway is reached over the loopback, by an address that no certificate need name.
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';

const PATIENCE = 2500;
const port = process.env['ARROWGATE_PORT'] ?? '2333';
const { ARROWGATE_HOST: host = '0.0.0.0' } = process.env;
const hostname = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;

function isHealthy(get) {
  return new Promise((resolve) => {
    const target = { hostname, port, path: '/healthz', rejectUnauthorized: false };
    const asked = get({ ...target, timeout: PATIENCE, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
  });
}

const answers = await Promise.all([isHealthy(getPlain), isHealthy(getSecure)]);
process.exitCode = answers.includes(true) ? 0 : 1;
