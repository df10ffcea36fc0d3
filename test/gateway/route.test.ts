import { describe, expect, it } from 'vitest';
import { needsOf } from '../../src/gateway/decision/needs.ts';
import { route } from '../../src/gateway/route.ts';
import type { Received } from '../../src/gateway/decision/steps.ts';
import { matchRoute } from '../../src/protocol/route.ts';

function routed(method: string, url: string, userAgent?: string) {
  const headers = userAgent === undefined ? {} : { 'user-agent': userAgent };
  return route({ incoming: { method, url, headers } } as Received).route;
}

const LANCE = 'LanceDB-Rust-Client/0.31';
const CASES: readonly (readonly [string, string, string?])[] = [
  ['POST', '/v1/table/prod$t/describe'],
  ['POST', '/v1/table/prod$t/describe', LANCE],
  ['POST', '/v1/table/prod$t/describe/'],
  ['POST', '/v1/table/prod$t/describe', 'curl/8'],
  ['GET', '/v1/table/prod$t/query'],
  ['POST', '/v1/table/prod$t/query'],
  ['POST', '/v1/table/prod$t/query', LANCE],
  ['POST', '/v1/table/a%2Fb/describe'],
  ['POST', '/v1/table/prod$t/rename/to/prod$u'],
  ['GET', '/v1/namespace/prod/list?delimiter=.'],
];

function matchOf([method, url, userAgent]: (typeof CASES)[number]) {
  try {
    return matchRoute(method, url, userAgent);
  } catch (error) {
    return String(error);
  }
}

function routeOf(given: (typeof CASES)[number]) {
  try {
    return { ...routed(...given) };
  } catch (error) {
    return String(error);
  }
}

describe('a target that was asked for before', () => {
  it('is what it is for its method and its kind of client, in whatever order they come', () => {
    const known = CASES.filter((given) => {
      const match = matchOf(given);
      return typeof match !== 'string' && match.kind === 'operation';
    });
    expect(known.length).toBeGreaterThan(6);
    for (const given of [...known, ...known.toReversed(), ...known]) {
      expect(routeOf(given)).toMatchObject(matchOf(given) as object);
    }
  });

  it('is refused for another method, and a bad one each time', () => {
    for (const _ of [1, 2]) {
      expect(routed('POST', '/v1/table/t/describe').operation.name).toBe('DescribeTable');
      expect(() => routed('PATCH', '/v1/table/t/describe')).toThrow('PATCH is not a method');
      expect(() => routed('POST', '/v1/table/a$$b/describe')).toThrow('empty segment');
      expect(() => routed('POST', '/v1/nothing')).toThrow('no such operation: POST /v1/nothing');
    }
  });

  it('needs the same as one that was not', () => {
    for (const url of ['/v1/table/prod$t/describe', '/v1/table/prod$t/rename/to/prod$u']) {
      const match = matchRoute('POST', url, undefined);
      if (match.kind !== 'operation') throw new Error(`${url} is no route`);
      routed('POST', url);
      const again = routed('POST', url);
      expect([needsOf(again), needsOf(again)]).toEqual([needsOf(match), needsOf(match)]);
    }
  });

  it('is forgotten when there are too many others', () => {
    for (let index = 0; index < 10_000; index++) {
      expect(routed('POST', `/v1/table/t${index}/describe`).object).toEqual([`t${index}`]);
    }
    expect(routed('POST', '/v1/table/t0/describe').object).toEqual(['t0']);
  });
});
