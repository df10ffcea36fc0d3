import { Int64, Utf8 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, refusal, typeOf } from './support.ts';

const batch = batchOf({
  s: column(new Utf8(), ['abc d', "O'NEIL the-2ND", 'é😀x_ÄB', '', null]),
  n: column(new Int64(), [65n, 0x1f600n, 255n, -1n, null]),
  code: column(new Int64(), [65n, 0x1f600n, 255n, 0n, null]),
});

describe('functions of characters', () => {
  it.each([
    ['initcap(s)', 'Utf8', ['Abc D', "O'Neil The-2nd", 'É😀X_Äb', '', null]],
    ['ascii(s)', 'Int32', [97, 79, 233, 0, null]],
    ['chr(code)', 'Utf8', ['A', '😀', 'ÿ', '\0', null]],
    ['bit_length(s)', 'Int32', [40, 112, 88, 0, null]],
    ['to_hex(n)', 'Utf8', ['41', '1f600', 'ff', 'ffffffffffffffff', null]],
    ["translate(s, 'abca', 'xy')", 'Utf8', ['xy d', "O'NEIL the-2ND", 'é😀x_ÄB', '', null]],
    ["translate(s, '😀é', 'e🙂')", 'Utf8', ['abc d', "O'NEIL the-2ND", '🙂ex_ÄB', '', null]],
    [
      "concat_ws('-', s, null, n)",
      'Utf8',
      ['abc d-65', "O'NEIL the-2ND-128512", 'é😀x_ÄB-255', '--1', ''],
    ],
    [
      "concat_ws(s, 'a', 1 = 1)",
      'Utf8',
      ['aabc dtrue', "aO'NEIL the-2NDtrue", 'aé😀x_ÄBtrue', 'atrue', null],
    ],
    ["concat_ws(null, 'a', 'b')", 'Utf8', [null, null, null, null, null]],
  ])('%s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });

  it.each([
    ['chr(n)', 'value: expected the number of a Unicode character in chr, found -1, at position 1'],
    [
      'chr(55296)',
      'value: expected the number of a Unicode character in chr, found 55296, at position 1',
    ],
    [
      'chr(1114112)',
      'value: expected the number of a Unicode character in chr, found 1114112, at position 1',
    ],
    [
      'ascii(n)',
      'type: expected a string as argument 1 of ascii(text), found int64, at position 7',
    ],
    [
      'initcap(n)',
      'type: expected a string as argument 1 of initcap(text), found int64, at position 9',
    ],
    [
      'to_hex(s)',
      'type: expected an integer as argument 1 of to_hex(integer), found string, at position 8',
    ],
    [
      'translate(s, s)',
      'type: expected translate(text, from, to), found 2 arguments, at position 1',
    ],
    [
      "concat_ws(',')",
      'type: expected concat_ws(separator, value, ...), found 1 argument, at position 1',
    ],
    [
      "concat_ws(',', X'61')",
      'type: expected values that have a text, found binary, at position 16',
    ],
    [
      "concat_ws(repeat(s, 4000000), 'a', 'b')",
      'limit: expected at most 67108864 characters from concat_ws, found 112000002, at position 1',
    ],
  ])('%s is refused', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });
});
