import { assert, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { headerText } from '../../src/protocol/context.ts';

it('gives back any text that was sent as UTF-8', () => {
  assert(
    property(
      string({ unit: 'binary' }).filter((text) => !/\p{Surrogate}/u.test(text)),
      (text) => {
        expect(headerText(Buffer.from(text).toString('latin1'))).toBe(text);
      },
    ),
  );
});

it('leaves bytes that are not UTF-8 as they are', () => {
  expect(headerText('caf\u00e9')).toBe('caf\u00e9');
});
