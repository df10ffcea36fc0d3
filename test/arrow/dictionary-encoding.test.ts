import { Dictionary, Int8, Utf8, Vector, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { sliceData } from '../../src/arrow/data.ts';
import { encodeDictionary } from '../../src/arrow/growing-dictionary.ts';
import { halfToFloat, floatToHalf } from '../../src/arrow/half-float.ts';

const type = new Dictionary(new Utf8(), new Int8());

describe('a column that becomes a dictionary column', () => {
  it('keeps its values and nulls, and has each value once', () => {
    const values = ['b', null, 'a', 'b', '', 'a', null];
    const [data] = vectorFromArray(values, new Utf8()).data;
    const encoded = encodeDictionary(data!, type);
    expect([...new Vector([encoded])]).toEqual(values);
    expect([...encoded.dictionary!]).toEqual(['b', 'a', '']);
    expect(encoded.nullCount).toBe(2);
  });

  it('may be a part of another', () => {
    const [data] = vectorFromArray(['x', 'b', null, 'a', 'b'], new Utf8()).data;
    const encoded = encodeDictionary(sliceData(data!, 1, 4), type);
    expect([...new Vector([encoded])]).toEqual(['b', null, 'a', 'b']);
    expect([...encoded.dictionary!]).toEqual(['b', 'a']);
  });

  it('is refused when its indices cannot count the values', () => {
    const values = Array.from({ length: 129 }, (_, at) => `v${at}`);
    const encode = (count: number) =>
      encodeDictionary(vectorFromArray(values.slice(0, count), new Utf8()).data[0]!, type);
    expect(encode(128).length).toBe(128);
    expect(() => encode(129)).toThrow('A dictionary would have 129 values, too many.');
  });
});

describe('half floats', () => {
  it('survive the way there and back, all of them', () => {
    const bits = Uint16Array.from({ length: 65_536 }, (_, at) => at);
    const floats = halfToFloat(bits);
    const back = floatToHalf(floats);
    const wrong = bits.filter((each, at) => !Number.isNaN(floats[at]!) && back[at] !== each);
    expect(wrong).toHaveLength(0);
    expect(halfToFloat(floatToHalf(new Float32Array([NaN])))[0]).toBeNaN();
  });

  it.each([
    [1 + 2 ** -11, 1],
    [1 + 3 * 2 ** -11, 1 + 2 ** -9],
    [65_519, 65_504],
    [65_520, Infinity],
    [-65_520, -Infinity],
    [2 ** -25, 0],
    [3 * 2 ** -25, 2 ** -23],
    [0.1, 0.0999755859375],
  ])('take %s as the nearest, %s', (value, expected) => {
    expect(halfToFloat(floatToHalf(new Float32Array([value])))[0]).toBe(expected);
  });
});
