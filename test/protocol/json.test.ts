import * as fc from 'fast-check';
import { parse } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH, isJsonObject, parseJson, stringifyJson } from '../../src/protocol/json.ts';
import { refusalOf } from './refusal.ts';

describe('a JSON text', () => {
  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['18446744073709551615', 18446744073709551615n],
    ['1.0', 1],
    ['1e3', 1000],
    ['0.10000000149011612', 0.10000000149011612],
    ['1e-400', 0],
    ['[null,true,"\\u4e2d"]', [null, true, '中']],
    [' {"a" : {} } ', { a: {} }],
    ['{"a":1,"a":1}', { a: 1 }],
  ])('%s is read without loss', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it('may have a bounded number of members, in all its objects together', () => {
    const objects = (members: number) =>
      `[${Array(members / 4)
        .fill('{"a:":1,"b":"::","c":2,"d":3}')
        .join(',')}]`;
    expect(refusalOf(() => parseJson(objects(65_536)))).toBe('no refusal');
    expect(refusalOf(() => parseJson(objects(65_540)))).toBe(
      'InvalidInput: objects have more than 65536 members at position 491526',
    );
  });

  it('may be nested to the limit and no deeper, in lists and objects', () => {
    const nested = (open: string, close: string, depth: number) =>
      open.repeat(depth) + '1' + close.repeat(depth);
    expect(refusalOf(() => parseJson(nested('[', ']', MAX_JSON_DEPTH)))).toBe('no refusal');
    expect(refusalOf(() => parseJson(nested('[', ']', MAX_JSON_DEPTH + 1)))).toBe(
      'InvalidInput: lists and objects are nested deeper than 256 levels at position 256',
    );
    expect(refusalOf(() => parseJson(nested('{"a":', '}', 1_000_000)))).toBe(
      'InvalidInput: lists and objects are nested deeper than 256 levels at position 1280',
    );
    expect(parseJson(JSON.stringify('['.repeat(1000) + '\\"' + '{'.repeat(1000)))).toHaveLength(
      2002,
    );
  });

  it.each([
    ['', 'JSON value expected but reached end of input at position 0'],
    ['{"a":1,}', "Quoted object key expected but got '}' at position 7"],
    ['{"a":1} x', "Expected end of input but got 'x' at position 8"],
    ['{"a":1,"a":2}', "Duplicate key 'a' encountered at position 8"],
    ['NaN', "JSON value expected but got 'N' at position 0"],
    ["{'a':1}", "Quoted object key expected but got ''' at position 1"],
    ['"abc', `End of string '"' expected but reached end of input at position 4`],
    ['[1', `Array item or end of array ']' expected but reached end of input at position 2`],
  ])('%j is refused with a position', (text, fault) => {
    expect(refusalOf(() => parseJson(text))).toBe(
      `InvalidInput: the text is not valid JSON: ${fault}`,
    );
  });

  it.each([
    ['1e400', '1e400'],
    ['[-1e999]', '-1e999'],
    ['9'.repeat(400), `${'9'.repeat(40)}…`],
  ])('%s is beyond the range of numbers', (text, shown) => {
    expect(refusalOf(() => parseJson(text))).toBe(
      `InvalidInput: the number ${shown} is beyond the range of numbers`,
    );
  });

  it('is read as by a parser that loses nothing, whatever it is made of', () => {
    const pieces = fc.constantFrom(
      '{ } [ ] , : " \\ e + - 0 1 -0 .5 1e16 1e400 1E-400 null true'.split(' '),
      [' ', '\n', '"a"', '"b"', '"\\u00', '\u0001', '\u2028', '"__proto__"', '[[', '}}', '[1]}'],
      ['9007199254740991', '9007199254740993', '0.30000000000000004'],
      ['{"a":1,', '{"a":[1],"a":', '{"a":1,"a":1}', '{"a":{'],
    );
    const texts = fc
      .array(
        pieces.chain((some) => fc.constantFrom(...some)),
        { maxLength: 8 },
      )
      .map((parts) => parts.join(''));
    const own = (text: string) => refusedOr(() => parseJson(text));
    const lossless = (text: string) => refusedOr(() => parse(text, null, exactNumber));
    fc.assert(
      fc.property(texts, (text) => {
        const [one, other] = [own(text), lossless(text)];
        expect(one).toStrictEqual(other);
        expect(Object.is(one, other) || typeof one === 'object').toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it('does not reach the prototype of an object', () => {
    const value = parseJson('{"__proto__":{"polluted":true}}');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});

/** What a parser answers; the same mark for all that it refuses. */
function refusedOr(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return Symbol.for('refused');
  }
}

function exactNumber(text: string): number | bigint {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new RangeError(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}

describe('a value', () => {
  it('written and read again is the same', () => {
    const leaf = fc.oneof(
      fc.string(),
      fc.boolean(),
      fc.constant(null),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }),
      fc.maxSafeInteger(),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('value')),
        fc.dictionary(fc.string(), tie('value')),
      ),
    }));
    fc.assert(
      fc.property(value, (given) => {
        const text = stringifyJson(given);
        expect(stringifyJson(parseJson(text))).toBe(text);
      }),
    );
  });

  it('has its bigints written as the numbers they are', () => {
    expect(stringifyJson({ k: 9223372036854775807n, a: [1, undefined], b: undefined })).toBe(
      '{"k":9223372036854775807,"a":[1,null]}',
    );
  });

  it('that has no form in JSON is a mistake of the program', () => {
    expect(() => stringifyJson(undefined)).toThrow(new TypeError('the value has no form in JSON'));
  });

  it('is an object when it is neither null nor a list', () => {
    expect([{}, [], null, 'a', undefined].map((value) => isJsonObject(value))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
