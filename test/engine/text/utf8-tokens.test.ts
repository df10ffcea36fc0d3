import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { PieceTable, HASH_START, UNKNOWN } from '../../../src/engine/index/text/piece-table.ts';
import { TokenTable } from '../../../src/engine/index/text/token-table.ts';
import { defaultTextOptions } from '../../../src/engine/tokens/text-options.ts';
import { Tokenizer } from '../../../src/engine/tokens/tokenizer.ts';

const letters = fc.constantFrom(
  'a',
  'dogs',
  'The',
  'x1',
  ' ',
  ', ',
  '_',
  '-',
  '\0',
  'é',
  '犬',
  '\u{1d400}',
  'word'.repeat(20),
);
const texts = fc.array(
  fc.option(
    fc.array(letters, { maxLength: 8 }).map((some) => some.join('')),
    { freq: 9 },
  ),
);

it('are the same of the bytes of a text and of the text', () => {
  const bases = fc.constantFrom('simple', 'whitespace', 'ngram', 'raw');
  fc.assert(
    fc.property(texts, bases, fc.boolean(), (rows, base, isSelected) => {
      const options = { ...defaultTextOptions, base_tokenizer: base } as const;
      const test = (token: string) => isSelected || token < 'm';
      const [one, other] = [0, 1].map(() => new TokenTable(new Tokenizer(options), true, 3, test));
      for (const text of rows) {
        one!.add(text === null ? null : [text]);
        // Other bytes surround those of a text.
        const bytes = Buffer.from(`z${text ?? ''}z`);
        if (text === null) other!.add(null);
        else other!.addUtf8(bytes, 1, bytes.length - 1);
      }
      expect(other!.header()).toEqual(one!.header());
      expect([...other!.sorted()]).toEqual([...one!.sorted()]);
    }),
  );
});

it('are found among any number of pieces, and are not slow to find where pieces have one hash', () => {
  const table = new PieceTable();
  const piece = (at: number) => Buffer.from(`piece ${at}`);
  const hash = (at: number) => (at < 1000 ? HASH_START : Math.imul(at, 0x9e3779b1));
  for (let at = 0; at < 20_000; at++) table.add(piece(at), 0, piece(at).length, hash(at), at);
  const found = Array.from({ length: 20_000 }, (_, at) =>
    table.find(piece(at), 0, piece(at).length, hash(at)),
  );
  expect(found.filter((value, at) => value !== at && value !== UNKNOWN)).toEqual([]);
  expect(found.slice(0, 1000).filter((value) => value !== UNKNOWN).length).toBeLessThan(100);
  expect(found.slice(1000).filter((value) => value === UNKNOWN).length).toBeLessThan(200);
  expect(table.find(piece(1), 0, 6, hash(1))).toBe(UNKNOWN);
});
