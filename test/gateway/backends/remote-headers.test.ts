import { describe, expect, it } from 'vitest';
import {
  credentialHeader,
  headersBack,
  headersOut,
  crossingHeaders,
} from '../../../src/gateway/backends/remote-headers.ts';
import { operations } from '../../../src/protocol/operations/operations.ts';
import { addTraceContext, type Traced } from '../../../src/gateway/backends/remote-backend.ts';

describe('The headers that a backend gets', () => {
  const kept = {
    accept: '*/*',
    'content-length': '3',
    'content-range': 'bytes 0-2/3',
    'content-type': 'application/json',
    'phalanx-version': '0.2.0',
    range: 'bytes=0-1',
    'user-agent': 'x',
    'x-service-ctx-a': '1',
    'x-lance-ctx-b': '2',
    'x-request-timeout-ms': '5',
    'x-lancedb-min-version': '3',
    'x-lancedb-min-timestamp': '2026-01-01T00:00:00Z',
    'x-lancedb-min-read-version': '2',
  };

  it('are those that are known, and no credential, cookie or word of another hop', () => {
    const lost = {
      authorization: 'Bearer s',
      'x-api-key': 's',
      cookie: 's=1',
      'proxy-authorization': 's',
      'x-arrowgate-decision': 'allow',
      'x-forwarded-for': '::1',
      forwarded: 'for=x',
      'x-unknown': '1',
      'x-http-method-override': 'GET',
      'x-lancedb-database': 'other',
      'x-lancedb-database-prefix': 'hr',
      'x-lancedb-user-id': 'user:admin',
      'x-lancedb-future': '1',
      'x-lance-future': '1',
      'x-service-future': '1',
      'x-lance-table-location': 's3://elsewhere',
      'x-service-table-properties': '{}',
      te: 'trailers',
      upgrade: 'h2c',
      'keep-alive': 'timeout=5',
      'transfer-encoding': 'chunked',
      expect: '100-continue',
      host: 'gateway',
    };
    expect(headersOut({ ...kept, ...lost }, operations.QueryTable)).toEqual(kept);
  });

  it('are those of the table for the operation that has them', () => {
    const own = {
      'x-lance-table-location': 'l',
      'x-lance-table-properties': '{}',
      'x-service-table-location': 'l',
      'x-service-table-properties': '{}',
    };
    expect(headersOut(own, operations.CreateTable)).toEqual(own);
    expect(headersOut(own, operations.DeclareTable)).toEqual({});
    expect(
      headersOut({ ...own, connection: 'x-lance-table-location' }, operations.CreateTable),
    ).not.toHaveProperty('x-lance-table-location');
  });

  it('are those of the table of headers, each once', () => {
    const names = crossingHeaders.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const sent = Object.fromEntries(names.map((name) => [name.replace('*', 'k'), '1']));
    const made = crossingHeaders.filter(({ source }) => source === 'gateway');
    const expected = { ...sent };
    for (const { name } of made) delete expected[name];
    expect(headersOut(sent, operations.CreateTable)).toEqual(expected);
  });

  it('are without those that Connection names', () => {
    const { 'x-service-ctx-a': _, ...rest } = kept;
    expect(
      headersOut({ ...kept, connection: 'Keep-Alive, X-Service-Ctx-A' }, operations.QueryTable),
    ).toEqual(rest);
  });
});

describe('The headers that a client gets', () => {
  it('are those of the answer, and none of the backend itself', () => {
    const kept = {
      'content-range': 'bytes 0-1/2',
      'phalanx-version': '0.4.0',
      'retry-after': '7',
      'x-lancedb-version': '12',
    };
    const lost = {
      'set-cookie': ['a=b'],
      server: 'x',
      'x-powered-by': 'y',
      'x-arrowgate-decision': 'deny',
      'x-request-id': 'theirs',
      'www-authenticate': 'Basic',
      connection: 'close',
      'x-lance-hop': '1',
    };
    expect(headersBack({ ...kept, ...lost, connection: 'close, x-lance-hop' })).toEqual(kept);
  });
});

describe('The credential of a backend', () => {
  it('is an API key, unless it says that it is a bearer token', () => {
    expect(credentialHeader(undefined)).toEqual({});
    expect(credentialHeader('agk_1_2')).toEqual({ 'x-api-key': 'agk_1_2' });
    expect(credentialHeader('Bearer a.b.c')).toEqual({ authorization: 'Bearer a.b.c' });
  });
});

describe('The trace of a request', () => {
  const decision = '7b1c9c3e-4a55-4c1f-9a39-0a1b2c3d4e5f';
  const added = (traced: Traced): object => {
    const to = {};
    addTraceContext(to, traced, decision);
    return to;
  };
  const own = { traceparent: '00-7b1c9c3e4a554c1f9a390a1b2c3d4e5f-9a390a1b2c3d4e5f-00' };
  const theirs = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

  it.each([
    [{ traceparent: theirs }, { traceparent: theirs }],
    [
      { traceparent: theirs, tracestate: 'a=b' },
      { traceparent: theirs, tracestate: 'a=b' },
    ],
    [{}, own],
    [{ tracestate: 'a=b' }, own],
    [{ traceparent: 'x' }, own],
    [{ traceparent: `ff${theirs.slice(2)}` }, own],
    [{ traceparent: '00-00000000000000000000000000000000-b7ad6b7169203331-01' }, own],
    [{ traceparent: '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01' }, own],
  ])('%j goes on as %j', (headers, expected) => {
    expect(added({ headers })).toEqual(expected);
  });

  it.each([
    [{ traceparent: theirs, tracestate: 'a=b' }, { tracestate: 'a=b' }],
    [{ traceparent: 'x', tracestate: 'a=b' }, {}],
    [{}, {}],
  ])('%j goes on as the span of this gateway, where it keeps one', (headers, state) => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01';
    expect(added({ headers, traceparent })).toEqual({ traceparent, ...state });
  });
});
