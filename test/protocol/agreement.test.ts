import { describe, expect, it } from 'vitest';
import { checkAgreement } from '../../src/protocol/agreement.ts';
import { completeBody } from '../../src/protocol/body-completion.ts';
import { isJsonObject, parseJson, type JsonValue } from '../../src/protocol/json.ts';
import { checkModel } from '../../src/protocol/models/models.ts';
import { matchRoute, type OperationMatch } from '../../src/protocol/route.ts';
import { refusalOf } from './refusal.ts';

function matched(target: string): OperationMatch {
  const match = matchRoute('POST', target, undefined);
  if (match.kind !== 'operation') throw new Error(`${target} is no operation`);
  return match;
}

function object(text: string): Record<string, JsonValue> {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new Error(`${text} is no object`);
  return value;
}

function verdict(target: string, body: string): string {
  return refusalOf(() => checkAgreement(matched(target), object(body)));
}

describe('a body that says what the route says', () => {
  it.each([
    ['/v1/table/a$b/describe', '{}'],
    ['/v1/table/a$b/describe', '{"id":["a","b"]}'],
    ['/v1/table/a.b/describe?delimiter=.', '{"id":["a","b"]}'],
    ['/v1/table/a$b/describe', '{"id":null}'],
    ['/v1/namespace/$/describe', '{"id":[]}'],
    ['/v1/table/a$b/describe', '{"id":[]}'],
    ['/v1/table/a$b/explain_plan', '{"id":[],"query":{"id":[]}}'],
    ['/v1/table/a/describe?with_table_uri=true', '{"with_table_uri":false}'],
    ['/v1/table/a/describe?check_declared=true', '{"check_declared":false}'],
    ['/v1/table/a/version/list?descending=true', '{"descending":false}'],
    ['/v1/namespace/$/table/list?include_declared=false', '{"include_declared":true}'],
    ['/v1/table/a/index/i/stats', '{"index_name":"i"}'],
    ['/v1/table/a/describe?with_table_uri=true', '{"with_table_uri":true}'],
    ['/v1/table/a/describe?load_detailed_metadata=false', '{"load_detailed_metadata":null}'],
    ['/v1/table/a/version/list?limit=1&descending=TRUE', '{"limit":1,"descending":true}'],
    ['/v1/table/a/version/list?branch=', '{"branch":"main"}'],
    ['/v1/table/a/version/list?branch=main', '{"branch":""}'],
    ['/v1/namespace/$/list?limit=9223372036854775807', '{"limit":9223372036854775807}'],
    [
      '/v1/namespace/$/table/list?page_token=x&include_declared=true',
      '{"page_token":"x","include_declared":true}',
    ],
    ['/v1/table/a/rename/to/x$b', '{"new_table_name":"b","new_namespace_id":["x"]}'],
    ['/v1/table/a/rename/to/x$b', '{"new_namespace":["x"]}'],
    ['/v1/table/a/rename/to/b', '{"new_table_name":"b","new_namespace_id":[]}'],
    ['/v1/table/a/rename', '{"new_table_name":"b","new_namespace_id":["x"],"new_namespace":["x"]}'],
    ['/v1/table/a/explain_plan?branch=b', '{"branch":"b","query":{"id":["a"],"branch":"b"}}'],
    ['/v1/table/a/create?mode=ExistOk', '{"mode":"\\"exist_ok\\""}'],
    ['/v1/table/version/batch-create', '{"id":["anything"]}'],
    ['/v1/table/a/schema_metadata/update?branch=b', '{"id":"mine","branch":"c"}'],
  ])('%s with %s is accepted', (target, body) => {
    expect(verdict(target, body)).toBe('no refusal');
  });
});

describe('a body that says something else', () => {
  it.each([
    ['/v1/table/a$b/describe', '{"id":["a"]}', 'id'],
    ['/v1/table/a$b/describe', '{"id":["b","a"]}', 'id'],
    ['/v1/table/a$b/describe', '{"id":["a$b"]}', 'id'],
    ['/v1/table/a$b/describe', '{"id":"a$b"}', 'id'],
    ['/v1/namespace/$/describe', '{"id":["a"]}', 'id'],
    ['/v1/transaction/t/describe', '{"id":["u"]}', 'id'],
    ['/v1/table/a/index/i/stats', '{"index_name":"j"}', 'index_name'],
    ['/v1/table/a/describe?with_table_uri=false', '{"with_table_uri":true}', 'with_table_uri'],
    [
      '/v1/table/a/describe?load_detailed_metadata=true',
      '{"load_detailed_metadata":"true"}',
      'load_detailed_metadata',
    ],
    ['/v1/table/a/describe?check_declared=false', '{"check_declared":true}', 'check_declared'],
    ['/v1/table/a/describe?branch=x', '{"branch":"main"}', 'branch'],
    ['/v1/table/a/query?branch=x', '{"branch":"y"}', 'branch'],
    ['/v1/table/a/create?mode=overwrite', '{"mode":"create"}', 'mode'],
    ['/v1/table/a/version/list?limit=1', '{"limit":2}', 'limit'],
    ['/v1/table/a/version/list?descending=false', '{"descending":true}', 'descending'],
    ['/v1/namespace/$/list?page_token=x', '{"page_token":"y"}', 'page_token'],
    [
      '/v1/namespace/$/table/list?include_declared=true',
      '{"include_declared":false}',
      'include_declared',
    ],
    ['/v1/table/a/rename/to/x$b', '{"new_table_name":"c"}', 'new_table_name'],
    ['/v1/table/a/rename/to/x$b', '{"new_namespace_id":["y"]}', 'new_namespace_id'],
    ['/v1/table/a/rename/to/x$b', '{"new_namespace":[]}', 'new_namespace'],
    ['/v1/table/a/rename', '{"new_namespace_id":["x"],"new_namespace":["y"]}', 'new_namespace'],
    ['/v1/table/a/explain_plan', '{"query":{"id":["b"]}}', 'id'],
    ['/v1/table/a/explain_plan?branch=x', '{"query":{"branch":"y"}}', 'branch'],
    ['/v1/table/a/analyze_plan', '{"branch":"x","query":{"branch":"y"}}', 'branch'],
  ])('%s with %s is refused for its %s', (target, body, field) => {
    expect(verdict(target, body)).toBe(
      `InvalidInput: the field "${field}" of the body differs from what the request says elsewhere`,
    );
  });
});

describe('a body with what the route says', () => {
  function completed(target: string, body: string): Record<string, JsonValue> {
    return completeBody(matched(target), object(body));
  }

  it.each([
    ['/v1/table/a/describe?with_table_uri=true', '{}', { with_table_uri: true }],
    [
      '/v1/table/a/describe?with_table_uri=true',
      '{"with_table_uri":null}',
      { with_table_uri: true },
    ],
    ['/v1/table/a/version/list?limit=5&delimiter=.', '{"id":["a"]}', { id: ['a'], limit: 5 }],
    [
      '/v1/table/a/describe?with_table_uri=true',
      '{"with_table_uri":false,"check_declared":false}',
      { with_table_uri: true, check_declared: false },
    ],
    ['/v1/table/a/merge_insert?on=x&on=y', '{}', { on: ['x', 'y'] }],
    ['/v1/table/a/index/i/drop', '{}', { index_name: 'i' }],
    ['/v1/table/a/rename/to/x$b', '{}', { new_table_name: 'b', new_namespace_id: ['x'] }],
    [
      '/v1/table/a/rename',
      '{"new_table_name":"b","new_namespace":["x"]}',
      { new_table_name: 'b', new_namespace_id: ['x'] },
    ],
    ['/v1/table/a/rename', '{"new_table_name":"b","new_namespace":null}', { new_table_name: 'b' }],
    [
      '/v1/table/a/explain_plan',
      '{"verbose":true,"query":{"k":1}}',
      { verbose: true, query: { k: 1 } },
    ],
    [
      '/v1/table/a/explain_plan',
      '{"verbose":true,"id":["a"],"k":1,"vector":[],"branch":"b"}',
      { verbose: true, id: ['a'], query: { k: 1, vector: [], branch: 'b' } },
    ],
    ['/v1/table/a/analyze_plan', '{"k":1,"vector":[]}', { k: 1, vector: [] }],
    ['/v1/table/a/analyze_plan', '{"id":["a"],"query":{"k":1}}', { id: ['a'], k: 1 }],
    ['/v1/table/a/schema_metadata/update?branch=b', '{"branch":"mine"}', { branch: 'mine' }],
  ])('%s: %s', (target, body, expected) => {
    expect(completed(target, body)).toEqual(expected);
  });

  it('fits its model where the route alone names the new table', () => {
    const body = completed('/v1/table/a/rename/to/x$b', '{}');
    expect(refusalOf(() => checkModel('RenameTableRequest', body))).toBe('no refusal');
  });

  it('fits its model in both shapes of a plan', () => {
    for (const text of ['{"k":1,"vector":[1]}', '{"query":{"k":1,"vector":[1]}}']) {
      const explain = completed('/v1/table/a/explain_plan', text);
      const analyze = completed('/v1/table/a/analyze_plan', text);
      expect(explain['query']).toEqual({ k: 1, vector: [1] });
      expect(analyze).toEqual({ k: 1, vector: [1] });
      checkModel('ExplainTableQueryPlanRequest', explain);
      checkModel('AnalyzeTableQueryPlanRequest', analyze);
    }
  });
});
