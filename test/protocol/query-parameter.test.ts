import { describe, expect, it } from 'vitest';
import { operationNames, operations } from '../../src/protocol/operations/operations.ts';
import {
  parameterKind,
  queryParameters,
  readParameter,
} from '../../src/protocol/query-parameter.ts';
import { refusalOf } from './refusal.ts';

describe('a query parameter', () => {
  it.each([
    ['limit', '1', 1],
    ['limit', '0', 0],
    ['limit', '-1', -1],
    ['limit', '9223372036854775807', 9223372036854775807n],
    ['version', '-9223372036854775807', -9223372036854775807n],
    ['version', '9007199254740993', 9007199254740993n],
    ['descending', 'True', true],
    ['use_index', 'false', false],
    ['page_token', '', ''],
    ['mode', 'Overwrite', 'Overwrite'],
    ['properties', '{"a":"b"}', { a: 'b' }],
  ])('%s=%s stands for a value of its kind', (name, text, value) => {
    expect(readParameter(name, text)).toEqual(value);
  });

  it.each([
    ['limit', '1.0', 'a whole number'],
    ['limit', ' 1', 'a whole number'],
    ['limit', '9223372036854775808', 'a whole number'],
    ['version', '1e3', 'a whole number'],
    ['descending', 'yes', 'true or false'],
    ['storage_options', '{"a":1}', 'a JSON object of strings'],
    ['properties', 'null', 'a JSON object of strings'],
  ])('%s=%s is refused', (name, text, expected) => {
    expect(refusalOf(() => readParameter(name, text))).toBe(
      `InvalidInput: the query parameter ${name} must be ${expected}`,
    );
  });

  it('is known to some operation, and one with modes has them listed', () => {
    const used = new Set(operationNames.flatMap((name) => operations[name].query));
    expect(Object.keys(queryParameters).filter((name) => !used.has(name))).toEqual([]);
    for (const name of operationNames) {
      const { query, choices } = operations[name];
      const open = query.filter((parameter) => parameterKind(parameter) === 'choice');
      expect(open.filter((parameter) => choices[parameter] === undefined)).toEqual([]);
    }
  });
});
