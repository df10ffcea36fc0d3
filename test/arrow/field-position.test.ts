import { Field, Int32 } from 'apache-arrow';
import { expect, it } from 'vitest';
import { fieldPosition } from '../../src/arrow/field-position.ts';

it('is that of the first field of the name', () => {
  const fields = ['a', 'b', 'a', '__proto__'].map((name) => new Field(name, new Int32()));
  const names = ['a', 'b', '__proto__', 'c', 'constructor', ''];
  const expected = [0, 1, 3, undefined, undefined, undefined];
  expect(names.map((name) => fieldPosition(fields, name))).toEqual(expected);
  expect(names.map((name) => fieldPosition(fields, name))).toEqual(expected);
});
