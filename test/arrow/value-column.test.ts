import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateColumns } from '../../src/arrow/validate.ts';
import { Field, type Data } from 'apache-arrow';
import {
  flagValues,
  int32Values,
  int64Values,
  listValues,
  momentValues,
  structValues,
  textReader,
  textValues,
  uint64Values,
  wordValues,
  type ValueKind,
} from '../../src/arrow/value-column.ts';

interface Row {
  readonly word: string | null;
  readonly list: readonly string[] | null;
  readonly number: bigint | null;
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const word = fc.constantFrom('', 'a', 'b', 'ä', '\u{1F600}', 'a longer word');
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const absent = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 3 });

interface Case<Value> {
  readonly name: string;
  readonly kind: ValueKind<Value>;
  readonly value: fc.Arbitrary<Value>;
}

const caseOf = <Value>(name: string, kind: ValueKind<Value>, value: fc.Arbitrary<Value>) =>
  ({ name, kind, value }) as Case<unknown>;

const row: fc.Arbitrary<Row> = fc.record({
  word: absent(word),
  list: absent(fc.array(word, { maxLength: 3 })),
  number: absent(int64),
});

const cases = [
  caseOf('texts', textValues, text),
  caseOf('words', wordValues, word),
  caseOf('truth values', flagValues, fc.boolean()),
  caseOf('integers of 32 bits', int32Values, fc.integer()),
  caseOf('integers of 64 bits', int64Values, int64),
  caseOf('moments', momentValues, int64),
  caseOf('integers without a sign', uint64Values, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  caseOf('lists', listValues(wordValues), fc.array(word, { maxLength: 4 })),
  caseOf(
    'structs',
    structValues<Row>({ word: wordValues, list: listValues(wordValues), number: int64Values }),
    row,
  ),
];

function valuesOf<Value>(kind: ValueKind<Value>, data: Data): readonly (Value | null)[] {
  validateColumns([new Field('column', data.type, true)], [data]);
  return Array.from({ length: data.length }, (_, at) => kind.read(data, at));
}

/** More rows than the first memory of any buffer holds. */
const rows = <Value>(value: fc.Arbitrary<Value>) =>
  fc.array(absent(value), { maxLength: 700, size: 'max' });

describe.each(cases)('a column of $name', ({ kind, value }) => {
  it('gives back the values that it was made of', () => {
    fc.assert(
      fc.property(rows(value), (values) => {
        expect(valuesOf(kind, kind.data(values))).toEqual(values);
      }),
      { numRuns: 30 },
    );
  });

  it('keeps its values when its memory is used again', () => {
    fc.assert(
      fc.property(rows(value), rows(value), (one, other) => {
        const column = kind.grow();
        const [first, second] = [one, other].map((values) => {
          for (const each of values) {
            if (each === null) column.addNulls(1);
            else column.add(each);
          }
          return column.take();
        });
        expect(valuesOf(kind, first!)).toEqual(one);
        expect(valuesOf(kind, second!)).toEqual(other);
      }),
      { numRuns: 30 },
    );
  });

  it('has no bitmap without nulls, and one null for each absent value', () => {
    const [some] = fc.sample(value, 1);
    expect(kind.data([some, some]).nullBitmap?.length ?? 0).toBe(0);
    expect(kind.data([some, null, null]).nullCount).toBe(2);
    expect(kind.data([]).length).toBe(0);
  });
});

describe('a reader of texts', () => {
  it.each([
    ['ASCII texts', fc.string({ unit: 'binary-ascii' })],
    ['any texts', text],
  ])('reads %s as they are read one by one', (_, each) => {
    fc.assert(
      fc.property(fc.array(absent(each)), fc.nat(), fc.nat(), (values, from, count) => {
        const whole = textValues.data(values);
        const start = Math.min(from % 5, values.length);
        const part = whole.slice(start, Math.min(count % 9, values.length - start));
        for (const data of [whole, part]) {
          const read = textReader(data);
          const found = Array.from({ length: data.length }, (__, at) => read(at));
          expect(found).toEqual(valuesOf(textValues, data));
        }
      }),
    );
  });

  it('reads damaged bytes as they are read one by one', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.uint8Array(), (values, bytes) => {
        const data = textValues.data(values);
        data.values.set(bytes.subarray(0, data.values.length));
        const read = textReader(data);
        for (const at of values.keys()) expect(read(at)).toBe(textValues.read(data, at));
      }),
    );
  });
});
