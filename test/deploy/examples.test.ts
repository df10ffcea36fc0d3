import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { crossingHeaders } from '../../src/gateway/backends/remote-headers.ts';

const read = (path: string): string =>
  readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');

/** Every header that crosses but those that place a table; a proxy has no guard to judge them. */
const crossing = crossingHeaders
  .map(({ name }) => name)
  .filter((name) => !name.endsWith('-location'));
const prefixes = crossing.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
const names = crossing.filter((name) => !name.endsWith('*'));
/** Headers that decide something in some catalog, and that the list does not have. */
const deciding = [
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'x-http-method',
  'x-http-method-override',
  'x-lance-table-location',
  'x-lancedb-database',
  'x-lancedb-database-prefix',
  'x-lancedb-user-id',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
  'x-service-table-location',
];

describe('the examples of proxies', () => {
  it('let the headers of the list cross nginx', () => {
    const [, catalog = ''] = read('nginx/authorize.conf').split('location /v1/ {');
    const [block = ''] = catalog.split('location / {');
    const set = [...block.matchAll(/^ +proxy_set_header (\S+)/gm)].map(([, name]) =>
      name!.toLowerCase(),
    );
    const own = ['host', 'connection', 'x-arrowgate-subject', 'x-arrowgate-decision-id'];
    const expected = [...names.filter((name) => name !== 'content-length'), ...own];
    expect(set.toSorted()).toEqual(expected.toSorted());
    expect(block).toContain('proxy_pass_request_headers off;');
  });

  it('let the headers of the list cross Envoy', () => {
    const text = read('envoy/envoy.yaml');
    const listed = [...text.matchAll(/\["([a-z-]+)"\] = true/g)].map(([, name]) => name!);
    const own = ['transfer-encoding', 'x-arrowgate-subject', 'x-arrowgate-decision-id'];
    expect(listed.toSorted()).toEqual([...names, ...own].toSorted());
    const [, found = ''] = /local prefixes = \{ (.*) \}/.exec(text)!;
    expect(found.split(', ')).toEqual([':', ...prefixes].map((prefix) => `"${prefix}"`));
  });

  it('show the gateway all headers that decide', () => {
    const patterns = /allowed_headers:\n +patterns:\n((?: +(?:- .*|#.*)\n)+)/.exec(
      read('envoy/envoy.yaml'),
    );
    const shown = parse(patterns![1]!) as readonly Readonly<Record<string, string>>[];
    const exact = shown.flatMap((pattern) => pattern['exact'] ?? []);
    const starts = shown.flatMap((pattern) => pattern['prefix'] ?? []);
    expect(exact).toEqual(
      expect.arrayContaining(['authorization', 'x-api-key', 'x-request-id', 'user-agent']),
    );
    expect(starts).toEqual(expect.arrayContaining(['x-service-', 'x-lance-', 'x-lancedb-']));
  });

  it('remove each header that decides from what crosses Traefik', () => {
    const { http } = parse(read('traefik/dynamic.yaml'));
    const { middlewares } = http;
    expect(http.routers.catalog.middlewares).toEqual(['arrowgate', 'credentials-end-here']);
    const removed = middlewares['credentials-end-here'].headers.customRequestHeaders;
    expect(Object.values(removed).every((value) => value === '')).toBe(true);
    expect(
      Object.keys(removed)
        .map((name) => name.toLowerCase())
        .toSorted(),
    ).toEqual(deciding);
    // Absent, all headers of the request are shown to the gateway.
    expect(middlewares.arrowgate.forwardAuth).not.toHaveProperty('authRequestHeaders');
  });
});
