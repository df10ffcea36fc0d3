import { afterEach, describe, expect, it } from 'vitest';
import { metricTable } from '../../../src/gateway/telemetry/metric-table.ts';
import { Metrics } from '../../../src/gateway/telemetry/metrics.ts';
import { admin, ask, start, type Harness, type Setup } from '../harness.ts';

let harness: Harness;

afterEach(async () => {
  await harness.close();
});

async function open(setup: Setup = {}): Promise<Metrics> {
  const metrics = new Metrics('1.2.3');
  harness = await start({ ...setup, gateway: { metrics, ...setup.gateway } });
  return metrics;
}

const get = { method: 'GET' };

/** The values of a metric, by the text of its labels. */
async function values(name: string): Promise<Readonly<Record<string, number>>> {
  const { text } = await ask(harness, '/metrics', { ...get, headers: admin });
  const lines = text.split('\n').flatMap((line) => {
    const [, found, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    return found === name ? [[labels, Number(value)] as const] : [];
  });
  return Object.fromEntries(lines);
}

describe('the metrics', () => {
  it('count requests by operation, decision, backend and class of status, and nothing of who or what', async () => {
    await open();
    const key = await harness.key({ roles: ['role:analyst'], subject: 'user:hidden-name' });
    await ask(harness, '/v1/table/prod$secret-table/describe', { headers: admin, body: '{}' });
    await ask(harness, '/v1/table/prod$secret-table/describe', { headers: { 'x-api-key': key } });
    await ask(harness, '/v1/table/prod$hr$pay/describe', { headers: { 'x-api-key': key } });
    await ask(harness, '/v1/table/prod$t/describe');
    await ask(harness, '/v1/no-such-operation', { headers: admin });
    await ask(harness, '/healthz', get);
    expect(await values('arrowgate_requests_total')).toEqual({
      'operation="DescribeTable",decision="allow",backend="small",status="2xx"': 2,
      'operation="DescribeTable",decision="deny",backend="small",status="4xx"': 1,
      'operation="DescribeTable",decision="unauthenticated",backend="small",status="4xx"': 1,
      'operation="none",decision="invalid",backend="small",status="4xx"': 1,
    });
    const { text } = await ask(harness, '/metrics', { ...get, headers: admin });
    expect(text).not.toMatch(/secret-table|hidden-name|pay|no-such/);
  });

  it('measure how long they took, and their bytes', async () => {
    await open({
      handle: async ({ body }) => {
        for await (const chunk of body) void chunk;
        return { status: 200, contentType: 'a/b', body: 'twelve bytes' };
      },
    });
    await ask(harness, '/v1/table/prod$t/insert', { headers: admin, body: 'seven b' });
    const labels = 'operation="InsertIntoTable",decision="allow",backend="small",status="2xx"';
    const name = 'arrowgate_request_duration_seconds';
    expect(await values(`${name}_count`)).toEqual({ [labels]: 1 });
    expect((await values(`${name}_sum`))[labels]).toBeGreaterThan(0);
    const buckets = await values(`${name}_bucket`);
    expect(buckets[`${labels},le="+Inf"`]).toBe(1);
    expect(Object.values(buckets)).toEqual(Object.values(buckets).toSorted((a, b) => a - b));
    expect(await values('arrowgate_request_bytes_total')).toEqual({
      'operation="InsertIntoTable"': 7,
    });
    expect(await values('arrowgate_response_bytes_total')).toEqual({
      'operation="InsertIntoTable"': 12,
    });
  });

  it('are readable with the right manage only', async () => {
    await open();
    const key = await harness.key({ roles: ['role:analyst'] });
    const stranger = await ask(harness, '/metrics', get);
    expect([stranger.status, stranger.headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="arrowgate"',
    ]);
    const reader = await ask(harness, '/metrics', { ...get, headers: { 'x-api-key': key } });
    expect([reader.status, JSON.parse(reader.text)]).toMatchObject([
      403,
      { error: 'user:alice may not manage the gateway', code: 15 },
    ]);
    const manager = await ask(harness, '/metrics', { ...get, headers: admin });
    expect([manager.status, manager.headers['content-type']]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
  });

  it('and health are all that a listener of their own serves, without a key', async () => {
    await open({ site: 'admin' });
    const paths = ['/metrics', '/healthz', '/readyz', '/openapi.json', '/v1/table/t/describe', '/'];
    const statuses = await Promise.all(
      paths.map(async (path) => (await ask(harness, path, { ...get, headers: admin })).status),
    );
    expect(statuses).toEqual([200, 200, 200, 404, 404, 404]);
    expect((await ask(harness, '/metrics', get)).status).toBe(200);
    expect(harness.audit.records).toEqual([]);
  });

  it('hold nothing that the table of metrics does not name, and no label that it does not', async () => {
    const metrics = await open();
    metrics.source('policyInfo', () => [{ labels: { digest: 'd' }, value: 1 }]);
    metrics.count('auditWrites', 'ok');
    metrics.flushed(0.002);
    await ask(harness, '/v1/table/prod$t/describe', { headers: admin });
    const text = await metrics.text();
    const rows = Object.values(metricTable);
    for (const { name, type, help } of rows) {
      expect(text).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
    }
    for (const line of text.split('\n').filter((each) => each.startsWith('arrowgate_'))) {
      const name = /^\w+/.exec(line)![0].replace(/_(bucket|sum|count)$/, '');
      const row = rows.find((each) => each.name === name || each.name === /^\w+/.exec(line)![0]);
      expect(row, line).toBeDefined();
      const labels = [...line.matchAll(/(\w+)="/g)].map(([, label]) => label);
      expect(labels.filter((label) => label !== 'le')).toEqual(row!.labels);
    }
    expect(text).toMatch(/^process_start_time_seconds \d/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  });

  it('of several processes are aggregated', async () => {
    const metrics = await open();
    const other = new Metrics('1.2.3');
    const ended = {
      operation: 'DescribeTable',
      decision: 'allow',
      backend: 'small',
      status: 200,
      seconds: 0.003,
      bytesIn: 2,
      bytesOut: 5,
    };
    metrics.ended(ended);
    other.ended(ended);
    other.ended({ ...ended, operation: 'DropTable' });
    metrics.together(async () => [await metrics.values(), await other.values()]);
    expect(await values('arrowgate_requests_total')).toEqual({
      'operation="DescribeTable",decision="allow",backend="small",status="2xx"': 2,
      'operation="DropTable",decision="allow",backend="small",status="2xx"': 1,
    });
    expect(
      (await values('arrowgate_request_duration_seconds_bucket'))[
        'operation="DescribeTable",decision="allow",backend="small",status="2xx",le="0.005"'
      ],
    ).toBe(2);
    expect(await values('arrowgate_info')).toEqual({ 'version="1.2.3"': 1 });
  });
});
