import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate, type MadeCertificate } from '../support/certificates.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';

const headers = { 'x-api-key': ADMIN_KEY };

let folder: string;
let made: MadeCertificate;
let live: MadeCertificate;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-transport-'));
  made = await makeCertificate(folder, 'made', { commonName: 'made' });
  live = { cert: join(folder, 'live.pem'), key: join(folder, 'live.key') };
  await copyFile(made.cert, live.cert);
  await copyFile(made.key, live.key);
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** One request over HTTPS, and what it was answered. */
async function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const ca = await readFile(made.cert, 'utf8');
  return new Promise((resolve, reject) => {
    const sent = get(url, { ca, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    sent.on('error', reject);
  });
}

describe('a service with a certificate, a listener for metrics and a collector of traces', () => {
  it('serves HTTP/2 and HTTP/1.1, says when the certificate is refused, and stops in order', async () => {
    const bodies: string[] = [];
    const collector = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        response.end('{}');
      });
    });
    collector.listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = collector.address() as AddressInfo;
    const service = await Service.start({
      config: `listen: { tls: { cert: ${live.cert}, key: ${live.key} }, admin: { port: 0 } }
telemetry: { otlp_endpoint: "http://127.0.0.1:${port}" }
`,
    });
    try {
      expect(service.url).toMatch(/^https:/);
      const admin = String(service.said['admin']);
      expect((await ask(`${service.url}/v1/namespace/$/list`)).status).toBe(200);
      const session = connect(service.url, { ca: await readFile(made.cert, 'utf8') });
      const stream = session.request({ ':path': '/v1/namespace/$/list', ...headers });
      const [answer] = (await once(stream, 'response')) as [Readonly<Record<string, unknown>>];
      expect(answer).toMatchObject({ ':status': 200, 'x-arrowgate-decision': 'allow' });
      stream.resume();
      const text = await (await fetch(`${admin}/metrics`)).text();
      expect(text).toContain(
        'arrowgate_requests_total{operation="ListNamespaces",decision="allow",backend="embedded",status="2xx"} 2',
      );
      expect(text).toMatch(/^arrowgate_ready\{part="certificate"\} 1$/m);
      const [, ends] = /^arrowgate_certificate_expiry_seconds (\S+)$/m.exec(text)!;
      expect(Number(ends) * 1000).toBeGreaterThan(Date.now());
      expect((await fetch(`${admin}/v1/namespace/$/list`, { headers })).status).toBe(404);
      await writeFile(live.cert, 'nonsense');
      await eventually(async () => {
        const { parts } = JSON.parse((await ask(`${service.url}/readyz`)).text) as {
          readonly parts: readonly object[];
        };
        expect(parts).toContainEqual(
          expect.objectContaining({ part: 'certificate', status: 'degraded' }),
        );
      });
      expect(service.errors).toContain('the certificate was refused');
      expect(await service.end()).toBe(0);
      session.destroy();
      expect(bodies.join('')).toContain('"ListNamespaces"');
      expect(bodies.join('')).not.toContain(ADMIN_KEY);
    } finally {
      await service.stop();
      collector.closeAllConnections();
      collector.close();
    }
  });

  it('does not start with files that are no certificate', async () => {
    const config = `listen: { tls: { cert: ${made.cert}, key: ${join(folder, 'none')} } }\n`;
    await expect(Service.start({ config })).rejects.toThrow(
      `${join(folder, 'none')} cannot be read (ENOENT)`,
    );
  });
});

describe('several processes that serve together', () => {
  it('tell their metrics as one, whichever is asked', async () => {
    const service = await Service.start({ flags: ['--processes', '2'] });
    try {
      const asked = Array.from({ length: 8 }, () =>
        fetch(`${service.url}/v1/namespace/$/list`, {
          headers: { ...headers, connection: 'close' },
        }),
      );
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(8).fill(200));
      for (let time = 0; time < 3; time++) {
        const answer = await fetch(`${service.url}/metrics`, {
          headers: { ...headers, connection: 'close' },
        });
        expect(await answer.text()).toContain(
          'arrowgate_requests_total{operation="ListNamespaces",decision="allow",backend="embedded",status="2xx"} 8',
        );
      }
    } finally {
      await service.stop();
    }
  });
});
