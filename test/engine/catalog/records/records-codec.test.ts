import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeDropped,
  decodeNamespace,
  decodeTable,
  encodeDropped,
  encodeNamespace,
  encodeTable,
} from '../../../../src/engine/catalog/records/records-codec.ts';

const properties = fc
  .array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })))
  .map((entries) => Object.fromEntries<string>(entries));
const millis = fc.maxSafeNat();
const plain = { noNullPrototype: true } as const;
const namespace = fc.record({ id: fc.uuid(), properties, createdMillis: millis }, plain);
const tableFields = {
  id: fc.uuid(),
  kind: fc.constantFrom('declared' as const, 'engine' as const, 'lance' as const),
  location: fc.option(fc.string()),
  properties,
  createdMillis: millis,
};
const table = fc.record(tableFields, plain);
const dropped = fc.record(
  { path: fc.array(fc.string(), { minLength: 1 }), record: table, droppedMillis: millis },
  plain,
);

describe('records as bytes', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(namespace, table, dropped, (first, second, third) => {
        expect(decodeNamespace(encodeNamespace(first))).toStrictEqual(first);
        expect(decodeTable(encodeTable(second))).toStrictEqual(second);
        expect(decodeDropped(encodeDropped(third))).toStrictEqual(third);
      }),
    );
  });

  it('do not depend on the order in which a record was made', () => {
    const one = { id: 'x', properties: { a: '1', b: '2' }, createdMillis: 5 };
    const other = { createdMillis: 5, properties: { b: '2', a: '1' }, id: 'x' };
    expect(encodeNamespace(one)).toStrictEqual(encodeNamespace(other));
  });

  it('keep a property that is called like a part of every object', () => {
    const properties = Object.fromEntries([['__proto__', 'kept']]);
    const record = { id: 'x', properties, createdMillis: 5 };
    expect(Object.entries(decodeNamespace(encodeNamespace(record)).properties)).toStrictEqual([
      ['__proto__', 'kept'],
    ]);
  });

  it.each([
    ['[]', 'a catalog record is damaged: its record cannot be read'],
    ['{"kind":"engine"}', 'a catalog record is damaged: its id cannot be read'],
    ['{"id":"x","kind":"view"}', 'a catalog record is damaged: its kind cannot be read'],
    [
      '{"id":"x","kind":"engine","location":7}',
      'a catalog record is damaged: its location cannot be read',
    ],
    [
      '{"id":"x","kind":"engine","location":null,"properties":{"a":1}}',
      'a catalog record is damaged: its properties cannot be read',
    ],
    [
      '{"id":"x","kind":"engine","location":null,"properties":{}}',
      'a catalog record is damaged: its createdMillis cannot be read',
    ],
  ])('say what is damaged in %s', (text, sentence) => {
    expect(() => decodeTable(Buffer.from(text))).toThrow(new Error(sentence));
  });
});
