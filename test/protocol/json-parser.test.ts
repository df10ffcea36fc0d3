import { setImmediate } from 'node:timers/promises';
import { assert, asyncProperty, json } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonInTurns } from '../../src/protocol/json-parser.ts';
import { parseJson, type JsonValue } from '../../src/protocol/json.ts';
import { checkModel } from '../../src/protocol/models/models.ts';
import { refusalOf } from './refusal.ts';

const inTurns = (text: string): Promise<JsonValue> => parseJsonInTurns(text, () => setImmediate());

const EIGHT_MIB = 8 * 1024 ** 2;

function filled(begin: string, piece: string, end: string): string {
  return begin + piece.repeat(Math.floor((EIGHT_MIB - 100) / piece.length)) + end;
}

describe('a long text is parsed as a short one is', () => {
  it('for any value', async () => {
    await assert(
      asyncProperty(json({ maxDepth: 6 }), async (text) => {
        expect(await inTurns(text)).toStrictEqual(parseJson(text));
      }),
    );
  });

  it.each([
    '9007199254740993',
    '[-9223372036854775808, 18446744073709551615, 1.0, 1e3, -0]',
    ' {"a" : [ ] , "b":{ } ,"c":[{"d":null}]} ',
    '{"__proto__":{"x":1},"constructor":2}',
    String.raw`"\u0041\n\\\"\ud83d\ude00"`,
    '{"a":1,"a":1}',
  ])('%s', async (text) => {
    expect(await inTurns(text)).toStrictEqual(parseJson(text));
  });

  it.each([
    '',
    '[1,]',
    '{"a":1,}',
    '[1 2]',
    '01',
    '1.',
    '+1',
    'nul',
    '"\u0001"',
    String.raw`"\x"`,
    '"open',
    String.raw`"open\"`,
    '[1]]',
    '{"a" 1}',
    '{1:2}',
    '{"a":1,"a":2}',
    '1e999',
    '9'.repeat(400),
    '['.repeat(300),
  ])('and refused where that is: %s', async (text) => {
    const short = refusalOf(() => parseJson(text));
    const long = await inTurns(text).catch((error: unknown) => error);
    expect(short).toMatch(/^InvalidInput: /);
    expect(long).toMatchObject({ row: { code: 13 } });
  });
});

describe('others have their turn while eight mebibytes are parsed', () => {
  it.each([
    ['numbers', filled('{"vector":[', '0.123456789,', '1]}')],
    ['small integers', filled('{"vector":[', '1,', '1]}')],
    ['long integers', filled('{"vector":[', '9007199254740993,', '1]}')],
    ['vectors', filled('{"vector":[', `[${'0.5,'.repeat(127)}1],`, '[1]]}')],
  ])('%s', async (_name, text) => {
    let turns = 0;
    await parseJsonInTurns(text, () => {
      turns += 1;
      return setImmediate();
    });
    expect(turns).toBeGreaterThan(3);
  });
});

describe('values beside numbers are counted', () => {
  it.each([
    ['texts', filled('{"columns":[', '"a",', '"b"]}')],
    ['lists', filled('{"vector":[', '[],', '[]]}')],
    ['nulls', filled('{"vector":[', 'null,', '1]}')],
  ])('too many %s', async (_name, text) => {
    await expect(inTurns(text)).rejects.toThrow(
      /^the text has more than 131072 values beside numbers at position \d+$/,
    );
  });
});

describe('a long list is checked by a few of its numbers', () => {
  const numbers = Array.from({ length: 5000 }, (_, index) => index);
  const query = (vector: JsonValue): JsonValue => ({ vector, k: 1 });

  it('and by all that is no number', () => {
    expect(() => checkModel('QueryTableRequest', query(numbers))).not.toThrow();
    const bad = refusalOf(() => checkModel('QueryTableRequest', query([...numbers, 'x'])));
    expect(bad).toMatch(/^InvalidInput: QueryTableRequest: the field "vector" must be/);
  });
});
