import { describe, expect, it } from 'vitest';
import { matchRoute, type OperationMatch } from '../../src/protocol/route.ts';
import { operationNames, operations } from '../../src/protocol/operations/operations.ts';
import { refusalOf } from './refusal.ts';

const LANCEDB = 'LanceDB-Node-Client/0.31.0';

function matched(method: string, target: string, userAgent?: string): OperationMatch {
  const match = matchRoute(method, target, userAgent);
  if (match.kind !== 'operation') throw new Error(`${target} is ${JSON.stringify(match)}`);
  return match;
}

const values: Readonly<Record<string, string>> = {
  id: 'prod%24sales',
  index_name: 'price_idx',
  target: 'prod%24orders',
  column: 'picture',
  row_id: '18446744073709551615',
};

function filled(path: string, id: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === 'id' ? id : values[name]!));
}

const routes = operationNames.flatMap((name) =>
  operations[name].routes.map((route) => ({ name, ...route })),
);

describe('every route', () => {
  it.each(routes)('$method $path is $name in every spelling', ({ name, method, path }) => {
    const spellings = [
      filled(path, 'prod$sales'),
      filled(path, 'prod%24sales'),
      `/${filled(path, 'prod$sales')}`,
      `///${filled(path, 'prod%24sales')}`,
      `${filled(path, 'prod$sales')}/`,
      `${filled(path, 'prod.sales')}?delimiter=.`.replace('prod%24orders', 'prod.orders'),
      `${filled(path, 'prod%2Fsales')}?delimiter=%2F`.replace('prod%24orders', 'prod%2Forders'),
      `${filled(path, 'prod::sales')}/?delimiter=%3A%3A`.replace('prod%24orders', 'prod::orders'),
      `${filled(path, 'prod$sales')}?no_such_parameter=1&delimiter=%24&`,
    ];
    const object = path.includes('{id}') ? ['prod', 'sales'] : [];
    for (const spelling of spellings) {
      const match = matched(method, spelling);
      expect([match.operation.name, match.object]).toEqual([name, object]);
      expect(match.target).toEqual(path.includes('{target}') ? ['prod', 'orders'] : undefined);
      expect(match.indexName).toBe(path.includes('{index_name}') ? 'price_idx' : undefined);
    }
  });

  it.each(routes)('$method $path refuses other verbs by naming its own', ({ path }) => {
    const allow = routes.filter((route) => route.path === path).map((route) => route.method);
    for (const verb of ['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'get']) {
      expect(matchRoute(verb, filled(path, 'a'), undefined)).toEqual({ kind: 'method', allow });
    }
  });
});

describe('a literal route', () => {
  it('wins over an identifier of the same spelling', () => {
    expect(matched('POST', '/v1/table/version/batch-create').object).toEqual([]);
    expect(matched('POST', '/v1/table/batch-commit').operation.name).toBe('BatchCommitTables');
  });

  it('leaves a table of that name what it does not take', () => {
    const match = matched('POST', '/v1/table/version/describe');
    expect([match.operation.name, match.object]).toEqual(['DescribeTable', ['version']]);
    const stats = matched('POST', '/v1/table/index/index/list/stats');
    expect([stats.operation.name, stats.object, stats.indexName]).toEqual([
      'DescribeTableIndexStats',
      ['index'],
      'list',
    ]);
  });
});

describe('an identifier', () => {
  it.each([
    ['/v1/namespace/$/list', []],
    ['/v1/namespace/%24/list?delimiter=%24', []],
    ['/v1/namespace/./list?delimiter=.', []],
    ['/v1/namespace/%2F/list?delimiter=/', []],
    ['/v1/namespace/::/list?delimiter=::', []],
    ['/v1/namespace/a.b/list', ['a.b']],
    ['/v1/namespace/a%2Fb/list', ['a/b']],
    ['/v1/namespace/a%2524b/list', ['a%24b']],
    ['/v1/namespace/a$b/list?delimiter=.', ['a$b']],
    ['/v1/namespace/%E4%B8%AD$%F0%9F%9A%80/list', ['中', '🚀']],
    ['/v1/namespace/a%5Cb/list', ['a\\b']],
    ['/v1/namespace/a%20b/list', ['a b']],
    ['/v1/namespace/a%2Bb/list', ['a+b']],
  ])('%s is %j', (target, object) => {
    expect(matched('GET', target).object).toEqual(object);
  });

  it('has a plus for LanceDB where the namespace dialect has a space', () => {
    expect(matched('POST', '/v1/table/a+b/describe').object).toEqual(['a b']);
    expect(matched('POST', '/v1/table/a+b/describe/').object).toEqual(['a+b']);
    expect(matched('POST', '/v1/table/a+b/describe', LANCEDB).object).toEqual(['a+b']);
  });

  it('keeps dots, spaces and slashes in the name of an index', () => {
    const match = matched('POST', '/v1/table/t/index/a.b%20c%2Fd/stats');
    expect(match.indexName).toBe('a.b c/d');
  });

  it('may name more than a table: column and row of a blob', () => {
    const { parameters } = matched('GET', '/v1/table/t/blob/a.b/18446744073709551615/bytes');
    expect([...parameters]).toEqual([
      ['column', 'a.b'],
      ['row_id', '18446744073709551615'],
    ]);
  });
});

describe('the dialect', () => {
  it.each([
    ['/v1/table/t/describe', undefined, 'namespace'],
    ['/v1/table/t/describe/', undefined, 'lancedb'],
    ['/v1/table/t/clone', LANCEDB, 'lancedb'],
    ['/v1/table/t/describe/?delimiter=.', undefined, 'lancedb'],
    ['/v1/table/t/describe?delimiter=/', undefined, 'namespace'],
    ['/v1/table/t/describe', 'lancedb-like/1', 'namespace'],
  ])('of %s from %s is %s', (target, userAgent, dialect) => {
    expect(matched('POST', target, userAgent).dialect).toBe(dialect);
  });

  it('of the root listing depends on the user agent alone', () => {
    for (const path of ['/v1/table', '/v1/table/', '//v1/table/?limit=1']) {
      expect(matched('GET', path).dialect).toBe('namespace');
      expect(matched('GET', path, LANCEDB).dialect).toBe('lancedb');
    }
  });
});

describe('the query', () => {
  it('keeps what the operation knows, decoded as a form', () => {
    const target =
      '/v1/table/t/merge_insert/?on=a&on=b%2Bc&when_matched_update_all_filt=x+%3E+1&y=2';
    expect([...matched('POST', target).query]).toEqual([
      ['on', ['a', 'b+c']],
      ['when_matched_update_all_filt', ['x > 1']],
    ]);
  });

  it('is not decoded twice', () => {
    const { query } = matched('GET', '/v1/namespace/$/table/list?page_token=a%2525');
    expect(query.get('page_token')).toEqual(['a%25']);
  });
});

describe('paths that are no route', () => {
  it.each(['/', '', '*', '/v1', '/v2/table', '/V1/table', '/healthz', '/v1/table/a', 'v1x/table'])(
    '%s is unknown',
    (target) => {
      expect(matchRoute('GET', target, undefined)).toEqual({ kind: 'unknown' });
    },
  );
});

describe('a target that could be read in two ways', () => {
  const character = 'the request target has a character that must be percent-encoded';
  const fixed = 'the fixed parts of a route may not be percent-encoded';
  const empty = 'an identifier has an empty segment';
  const control = 'a segment of an identifier holds a control character';

  it.each([
    ['/v1/table/a//describe', 'the path "/v1/table/a//describe" has an empty segment'],
    ['/v1/table/a/describe//', 'the path "/v1/table/a/describe//" has an empty segment'],
    ['/v1//table/a/describe', 'the path "/v1//table/a/describe" has an empty segment'],
    ['/v1/table/../a/describe', 'the path has a ".." segment'],
    ['/x/../v1/table/a/describe', 'the path has a ".." segment'],
    ['/v1/./table/a/describe', 'the path has a "." segment'],
    ['/v1/table/a/./describe', 'the path has a "." segment'],
    ['/v1/table/./describe', '"." cannot be a segment of an identifier'],
    ['/v1/table/%2e%2E/describe', '".." cannot be a segment of an identifier'],
    ['/v1/table/a$../describe', '".." cannot be a segment of an identifier'],
    ['/v1/table/a$$b/describe', empty],
    ['/v1/table/a$/describe', empty],
    ['/v1/table/$a/describe', empty],
    ['/v1/table/a::b/describe?delimiter=:', empty],
    ['/v1/table/$/describe', 'the root is not a table'],
    ['/v1/table/t/rename/to/$', 'the root is not a table'],
    ['/v1/transaction/$/describe', 'the root is not a transaction'],
    ['/v1/table/a%/describe', '"a%" is not valid percent-encoding'],
    ['/v1/table/a%2/describe', '"a%2" is not valid percent-encoding'],
    ['/v1/table/%C0%AF/describe', '"%C0%AF" is not valid percent-encoding'],
    ['/v1/table/%ED%A0%80/describe', '"%ED%A0%80" is not valid percent-encoding'],
    ['/v1/table/%FF/describe', '"%FF" is not valid percent-encoding'],
    ['/v1/table/a%00/describe', control],
    ['/v1/table/a%0Ab/describe', control],
    ['/v1/table/a%7F/describe', control],
    ['/v1/table/a%C2%85/describe', control],
    ['/v1/table/a\\b/describe', 'the path has a backslash'],
    ['/v1/table/é/describe', character],
    ['/v1/table/a b/describe', character],
    ['/v1/table/a/describe?branch=é', character],
    ['/v1/table/a/describe#x', 'the request target has a fragment'],
    ['/v1/table/a/describe?delimiter=.#x', 'the request target has a fragment'],
    ['/v1/t%61ble/a/describe', fixed],
    ['/v1/table/batch%2Dcommit', fixed],
    ['/v1/table/v%65rsion/batch%2dcreate', fixed],
    ['/v1/table/a/d%65scribe', fixed],
    ['/v1/table/a/index/%2E%2E/stats', '".." cannot be a segment of an identifier'],
    ['/v1/table/a/describe?delimiter=', 'the delimiter is empty'],
    ['/v1/table/a/describe?delimiter', 'the delimiter is empty'],
    [`/v1/table/a/describe?delimiter=${'x'.repeat(65)}`, 'the delimiter is longer than 64 bytes'],
    ['/v1/table/a/describe?delimiter=%0A', 'the delimiter holds a control character'],
    [
      '/v1/table/a/describe?delimiter=.&delimiter=.',
      'the query parameter delimiter stands more than once',
    ],
    [
      '/v1/table/a/describe?delimiter=.&%64elimiter=$',
      'the query parameter delimiter stands more than once',
    ],
    [
      '/v1/table/a/create?mode=create&mode=overwrite',
      'the query parameter mode stands more than once',
    ],
    ['/v1/table/a/describe?mode=a&mode=b', 'the query parameter mode stands more than once'],
    ['/v1/table/a/insert?branch=a&branch=b', 'the query parameter branch stands more than once'],
    ['/v1/table/a/version/list?limit=1&limit=2', 'the query parameter limit stands more than once'],
    ['/v1/table/a/describe?x=%zz', '"%zz" is not valid percent-encoding'],
    ['/v1/table/a/version/list?limit=ten', 'the query parameter limit must be a whole number'],
    ['/v1/table/a/version/list?limit=', 'the query parameter limit must be a whole number'],
    [
      '/v1/table/a/describe?check_declared=1',
      'the query parameter check_declared must be true or false',
    ],
    [
      '/v1/table/a/create?properties=[]',
      'the query parameter properties must be a JSON object of strings',
    ],
    [
      '/v1/table/a/create?properties=%7B%22a%22:1%7D',
      'the query parameter properties must be a JSON object of strings',
    ],
    [
      '/v1/table/a/create?mode=upsert',
      '"upsert" is no mode of CreateTable; it knows create, exist_ok, overwrite',
    ],
    ['/v1/table/a/insert?mode=', '"" is no mode of InsertIntoTable; it knows append, overwrite'],
  ])('is refused: %s', (target, sentence) => {
    expect(refusalOf(() => matchRoute('POST', target, undefined))).toBe(
      `InvalidInput: ${sentence}`,
    );
  });

  it('is refused when it is too long', () => {
    const target = `/v1/table/${'a'.repeat(1024)}/describe`;
    expect(refusalOf(() => matchRoute('POST', target, undefined))).toBe(
      'InvalidInput: an identifier is at most 1024 bytes long',
    );
  });
});
