import { Utf8 } from 'apache-arrow';
import { anything, assert, json, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactJson, jsonPart, parseJsonPath } from '../../src/sql/values/json-text.ts';
import { ask, batchOf, column, refusal, select } from './support.ts';

const batch = batchOf({
  j: column(new Utf8(), [
    '{"a": 1, "b": "x\\u00fc", "c": [1, 2, "z"], "d": {"e": true, "f": 1.5}, "g": null, "a b": 2}',
    '[1, {"a": "y"}]',
    '"text"',
    null,
    '{"a": "12", "c": [], "h": 12345678901234567890}',
  ]),
  bad: column(new Utf8(), ['{"a"', '', '[1,]', '{"a": 01}', 'x']),
  t: column(new Utf8(), ['a b-c d', 'ab', 'B a', null, 'x_y Über']),
});

describe('functions of JSON', () => {
  it.each<[string, readonly unknown[]]>([
    ["json_extract(j, '$.a')", ['1', null, null, null, '"12"']],
    ["json_extract(j, 'd')", ['{"e":true,"f":1.5}', null, null, null, null]],
    ["json_extract(j, '$.c[2]')", ['"z"', null, null, null, null]],
    ["json_extract(j, '$[1].a')", [null, '"y"', null, null, null]],
    [`json_extract(j, '$["a b"]')`, ['2', null, null, null, null]],
    ["json_extract(j, '$.g')", ['null', null, null, null, null]],
    ["json_extract(j, '$.h')", [null, null, null, null, '12345678901234567890']],
    ["json_get(j, '0')", [null, '1', null, null, null]],
    ["json_get_string(j, 'b')", ['xü', null, null, null, null]],
    ["json_get_string(j, 'a')", ['1', null, null, null, '12']],
    ["json_get_string(j, 'g')", [null, null, null, null, null]],
    ["json_get_int(j, 'a')", [1n, null, null, null, 12n]],
    ["json_get_int(json_get(j, 'd'), 'f')", [2n, null, null, null, null]],
    ["json_get_float(json_get(j, 'd'), 'f')", [1.5, null, null, null, null]],
    ["json_get_float(j, 'h')", [null, null, null, null, 12345678901234567000]],
    ["json_get_bool(json_get(j, 'd'), 'e')", [true, null, null, null, null]],
    ["json_exists(j, '$.g')", [true, false, false, null, false]],
    ["json_array_length(j, '$.c')", [3n, null, null, null, 0n]],
    ["json_array_length(j, '$')", [0n, 2n, 0n, null, 0n]],
    ["json_array_contains(j, '$.c', 'z')", [true, false, false, null, false]],
    ["json_array_contains(j, '$.c', '2')", [true, false, false, null, false]],
    ["contains_tokens(t, 'b a')", [true, false, false, null, false]],
    ["contains_tokens(t, 'Über')", [false, false, false, null, true]],
    ["contains_tokens(t, '')", [true, true, true, null, true]],
  ])('%s', (text, rows) => {
    expect(ask(text, batch)).toEqual(rows);
  });

  it('select rows', () => {
    expect(select("json_extract(j, '$.a') = '1'", batch)).toEqual([0]);
    expect(select("json_exists(j, '$.c[0]')", batch)).toEqual([0]);
  });

  it.each([
    [
      "json_get_int(j, 'b')",
      `value: expected an integer in json_get_int, found '"x\\u00fc"', at position 1`,
    ],
    [
      "json_get_int(j, 'h')",
      "value: expected an integer in json_get_int, found '12345678901234567890', at position 1",
    ],
    [
      "json_get_bool(j, 'a')",
      "value: expected true or false in json_get_bool, found '1', at position 1",
    ],
    [
      "json_get_string(j, 'c')",
      `value: expected a string in json_get_string, found '[1, 2, "z"]', at position 1`,
    ],
    ["json_get(bad, 'a')", `value: expected JSON in json_get, found '{"a"', at position 1`],
    [
      "json_extract(j, '$..c')",
      "value: expected a path such as $.a.b[0] in json_extract, found '$..c', at position 1",
    ],
    [
      "json_extract(j, '$.c[*]')",
      "value: expected a path such as $.a.b[0] in json_extract, found '$.c[*]', at position 1",
    ],
    [
      `json_extract(j, '${'.a'.repeat(101).slice(1)}')`,
      'limit: expected at most 100 steps in a path of json_extract, found 101, at position 1',
    ],
  ])('%s is refused', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });
});

describe('a JSON text', () => {
  it('is the same without its spaces, whatever it is', () => {
    assert(
      property(json(), (text) => {
        const spaced = JSON.stringify(JSON.parse(text), null, 3);
        expect(compactJson(spaced)).toBe(JSON.stringify(JSON.parse(text)));
        expect(JSON.parse(jsonPart(spaced, []) ?? '')).toEqual(JSON.parse(text));
      }),
    );
  });

  it('is looked into as it is parsed', () => {
    assert(
      property(anything({ withNullPrototype: false, maxDepth: 3 }), (value) => {
        const text = JSON.stringify({ value }) ?? '{}';
        const part = jsonPart(text, ['value']);
        const parsed = (JSON.parse(text) as { value?: unknown }).value;
        expect(part === undefined ? undefined : JSON.parse(part ?? '')).toEqual(parsed);
      }),
    );
  });

  it.each([
    '',
    '{',
    '[1,]',
    '[1 2]',
    '{"a":1,}',
    '01',
    'nul',
    '"\\x"',
    '"a',
    '1 1',
    '[}',
    '{"a":1]',
    '"\n"',
  ])('is none: %j', (text) => {
    expect(jsonPart(text, [])).toBe(null);
  });

  it('may be deep and long', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(jsonPart(deep, [0])).toBe(deep.slice(1, -1));
    const long = JSON.stringify({ a: '\n'.repeat(300_000) });
    expect(jsonPart(long, ['a'])?.length).toBe(600_002);
  });
});

describe('a path into JSON', () => {
  it.each<[string, readonly (string | number)[] | undefined]>([
    ['$', []],
    ['', []],
    ['a.b', ['a', 'b']],
    ['$.a[0].b', ['a', 0, 'b']],
    [`$['a b']["c.d"]`, ['a b', 'c.d']],
    ['$[3]', [3]],
    ['$a', undefined],
    ['a..b', undefined],
    ['a.', undefined],
    ['[x]', undefined],
    ['a[-1]', undefined],
  ])('%j', (path, steps) => {
    expect(parseJsonPath(path)).toEqual(steps);
  });
});
