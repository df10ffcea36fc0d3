import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { otlpTraces } from '../../../src/gateway/otlp-traces.ts';
import type { Traces } from '../../../src/gateway/telemetry/traces.ts';
import { admin, ask, start, type Harness } from '../harness.ts';

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

/** A collector that keeps what it is sent. */
let collector: Server;
let bodies: string[];
let paths: string[];
let traces: Traces;
let counted: Record<string, number>;
let harness: Harness;

beforeEach(async () => {
  bodies = [];
  paths = [];
  counted = {};
  collector = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    paths.push(incoming.url ?? '');
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.end('{}');
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  traces = tracesTo(`http://127.0.0.1:${port}`);
});

afterEach(async () => {
  await harness.close();
  collector.closeAllConnections();
  collector.close();
});

function tracesTo(endpoint: string): Traces {
  return otlpTraces({
    endpoint,
    version: '1.2.3',
    counted: (result, spans) => {
      counted[result] = (counted[result] ?? 0) + spans;
    },
  });
}

/** Everything that was sent, once the traces are closed. */
async function spans(): Promise<readonly SentSpan[]> {
  await traces.close();
  const sent = bodies.map((text) => JSON.parse(text) as Sent);
  return sent.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((each) => each.spans)),
  );
}

function attributesOf({ attributes }: SentSpan): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
  );
}

const SERVER = 2;
const DESCRIBE = '/v1/table/prod$t/describe?delimiter=%24&token=hidden-query';

describe('a trace', () => {
  it('has a span of the request with its decision, and one of each step inside', async () => {
    harness = await start({ gateway: { traces } });
    const headers = { ...admin, 'x-request-id': 'mine' };
    await ask(harness, '/v1/table/prod$t/describe', { headers, body: '{}' });
    const sent = await spans();
    const [server] = sent.filter(({ kind }) => kind === SERVER);
    expect(server).toMatchObject({ name: 'DescribeTable', status: { code: 0 } });
    expect(attributesOf(server!)).toMatchObject({
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'url.path': '/v1/table/prod$t/describe',
      'arrowgate.operation': 'DescribeTable',
      'arrowgate.object': '/prod/t',
      'arrowgate.decision': 'allow',
      'arrowgate.backend': 'small',
      'arrowgate.request_id': 'mine',
    });
    const inside = sent.filter(({ parentSpanId }) => parentSpanId === server!.spanId);
    expect(inside.map(({ name }) => name).toSorted()).toEqual([
      'attempt',
      'backend',
      'decide',
      'outcome',
    ]);
    expect(new Set(sent.map(({ traceId }) => traceId)).size).toBe(1);
    expect(paths).toEqual(['/v1/traces']);
    expect(counted).toEqual({ exported: 5 });
  });

  it('tells of a refusal what the audit log tells, and no credential', async () => {
    harness = await start({ gateway: { traces } });
    const key = await harness.key({ roles: [] });
    await ask(harness, DESCRIBE, { headers: { 'x-api-key': key, cookie: 'hidden-cookie' } });
    const [server] = (await spans()).filter(({ kind }) => kind === SERVER);
    expect(attributesOf(server!)).toMatchObject({
      'http.response.status_code': 403,
      'arrowgate.decision': 'deny',
      'arrowgate.error_code': 15,
    });
    const all = bodies.join('');
    for (const secret of [key, 'hidden-cookie', 'hidden-query', admin['x-api-key']]) {
      expect(all).not.toContain(secret);
    }
  });

  it('goes on where the client began it', async () => {
    harness = await start({ gateway: { traces } });
    const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const headers = { ...admin, traceparent: `00-${trace}-${span}-01` };
    await ask(harness, '/v1/table/prod$t/describe', { headers });
    const [server] = (await spans()).filter(({ kind }) => kind === SERVER);
    expect(server).toMatchObject({ traceId: trace, parentSpanId: span });
  });

  it('is not kept of a request whose client says not to', async () => {
    harness = await start({ gateway: { traces } });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
    await ask(harness, '/v1/table/prod$t/describe', { headers: { ...admin, traceparent } });
    expect(await spans()).toEqual([]);
  });

  it('of a failure inside is an error', async () => {
    harness = await start({
      gateway: { traces },
      handle: () => {
        throw new Error('bad sector');
      },
    });
    await ask(harness, '/v1/table/prod$t/describe', { headers: admin });
    const [server] = (await spans()).filter(({ kind }) => kind === SERVER);
    expect(server).toMatchObject({ status: { code: 2 } });
    expect(bodies.join('')).not.toContain('bad sector');
  });
});

describe('a collector that is away', () => {
  it('keeps no request from its answer, and no stop from its end', async () => {
    await traces.close();
    traces = tracesTo('http://127.0.0.1:1/v1/traces');
    harness = await start({ gateway: { traces } });
    const asked = Array.from({ length: 50 }, () =>
      ask(harness, '/v1/table/prod$t/describe', { headers: admin }),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await traces.close();
    expect(counted['exported']).toBeUndefined();
  });
});
