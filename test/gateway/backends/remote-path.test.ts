import { unboundedBudget } from '../../../src/protocol/budget.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { remotePath } from '../../../src/gateway/backends/remote-path.ts';
import type { CatalogRequest } from '../../../src/protocol/backend.ts';
import { matchRoute, type OperationMatch } from '../../../src/protocol/route.ts';

async function* nothing(): AsyncGenerator<Uint8Array> {}

function matched(method: string, target: string, agent?: string): OperationMatch {
  const match = matchRoute(method, target, agent);
  if (match.kind !== 'operation') throw new Error(`${target} is ${match.kind}`);
  return match;
}

function requestFor(method: string, target: string, agent?: string): CatalogRequest {
  const { kind: _, ...match } = matched(method, target, agent);
  return {
    ...match,
    method,
    headers: {},
    context: new Map(),
    requestId: 'r',
    budget: unboundedBudget(),
    signal: () => new AbortController().signal,
    body: nothing(),
  };
}

const path = (line: string, prefix: readonly string[] = [], agent?: string): string => {
  const [method = '', target = ''] = line.split(' ');
  return remotePath(requestFor(method, target, agent), prefix);
};

describe('The path that a backend gets', () => {
  it.each([
    ['POST /v1/table/a$b/describe', '/v1/table/a%24b/describe'],
    ['POST //v1/table/a%24b/describe/', '/v1/table/a%24b/describe/'],
    ['POST /v1/table/a.b/describe?delimiter=.', '/v1/table/a%24b/describe'],
    ['POST /v1/table/a/describe?delimiter=.', '/v1/table/a/describe'],
    ['GET /v1/namespace/./list?delimiter=.', '/v1/namespace/%24/list'],
    [
      'GET /v1/namespace/$/list?limit=5&x=1&page_token=a%20b',
      '/v1/namespace/%24/list?page_token=a%20b&limit=5',
    ],
    ['POST /v1/namespace/$/list?limit=5', '/v1/namespace/%24/list?limit=5'],
    ['GET /v1/table?delimiter=.', '/v1/table?delimiter=.'],
    [
      'POST /v1/table/%61+b/insert?mode=append&branch=x%2Fy',
      '/v1/table/a%20b/insert?branch=x%2Fy&mode=append',
    ],
    ['POST /v1/table/t/merge_insert?on=a&on=b', '/v1/table/t/merge_insert?on=a&on=b'],
    ['POST /v1/table/t/rename/to/s$u', '/v1/table/t/rename/to/s%24u'],
    ['POST /v1/table/t/rename', '/v1/table/t/rename'],
    ['POST /v1/table/t/index/my%20index/stats', '/v1/table/t/index/my%20index/stats'],
    ['GET /v1/table/t/blob/c%C3%A4/7/bytes', '/v1/table/t/blob/c%C3%A4/7/bytes'],
  ])('%s', (line, expected) => {
    expect(path(line)).toBe(expected);
  });

  it('ends with a slash for LanceDB, whichever way it was asked', () => {
    expect(path('GET /v1/table', [], 'LanceDB-Node-Client/1')).toBe('/v1/table/');
    expect(path('POST /v1/table/t/describe', [], 'LanceDB-Node-Client/1')).toBe(
      '/v1/table/t/describe/',
    );
  });

  it('lacks the prefix that is stripped', () => {
    expect(path('POST /v1/table/east$hr$t/describe', ['east'])).toBe('/v1/table/hr%24t/describe');
    expect(path('GET /v1/namespace/east/list', ['east'])).toBe('/v1/namespace/%24/list');
  });

  it('is refused for a name that it could not say in one way', () => {
    expect(() => path('POST /v1/table/a$b/describe?delimiter=.')).toThrow(
      'the name "a$b" holds "$", which is ambiguous for a backend',
    );
  });

  it('means the same to the next gateway', () => {
    const segment = fc.string({ minLength: 1, maxLength: 8 }).filter(isName);
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (names, slash) => {
          const target = `/v1/table/${encodeURIComponent(names.join('$'))}/describe${slash ? '/' : ''}`;
          const first = requestFor('POST', target);
          const again = matched('POST', remotePath(first, []));
          expect([again.object, again.dialect, again.operation.name]).toEqual([
            names,
            first.dialect,
            'DescribeTable',
          ]);
        },
      ),
    );
  });
});

function isName(name: string): boolean {
  return !/[$\p{Cc}\p{Surrogate}]/u.test(name) && name !== '.' && name !== '..';
}
