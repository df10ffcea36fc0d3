import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { textBytes } from '../../../src/engine/base/text-bytes.ts';
import { PieceTable, UNKNOWN } from '../../../src/engine/index/text/piece-table.ts';
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
        else other!.addUtf8(textBytes(bytes), 1, bytes.length - 1);
      }
      expect(other!.header()).toEqual(one!.header());
      expect([...other!.sorted()]).toEqual([...one!.sorted()]);
    }),
  );
});

it('are the same in the rows that follow, whether words stay known or not', () => {
  const word = fc.constantFrom('a', 'dogs', 'cat', 'ox', 'running', '犬');
  const rows = fc.array(fc.array(word, { maxLength: 5 }).map((some) => some.join(' ')));
  fc.assert(
    fc.property(rows, rows, fc.boolean(), fc.boolean(), (before, after, keeps, withPositions) => {
      const tokenizer = new Tokenizer(defaultTextOptions);
      const table = new TokenTable(tokenizer, withPositions, 3);
      const added = (to: TokenTable, texts: readonly string[]) => {
        for (const text of texts)
          to.addUtf8(textBytes(Buffer.from(text)), 0, Buffer.byteLength(text));
      };
      added(table, before);
      const { distinct, units } = table;
      expect([...table.sorted()].length).toBe(distinct);
      table.restart(keeps);
      expect([table.distinct, table.units]).toEqual(keeps ? [distinct, units] : [0, 0]);
      added(table, after);
      const other = new TokenTable(tokenizer, withPositions, 3 + before.length);
      added(other, after);
      expect(table.header()).toEqual(other.header());
      expect([...table.sorted()]).toEqual([...other.sorted()]);
    }),
  );
});

it('are found among any number of pieces of any length', () => {
  const table = new PieceTable();
  const piece = (at: number) => textBytes(Buffer.from(`${at}${'x'.repeat(at % 140)}${at % 7}`));
  const values = Array.from({ length: 20_000 }, (_, at) => at);
  for (const at of values) table.add(piece(at), 0, piece(at).bytes.length, at);
  const found = values.map((at) => table.find(piece(at), 0, piece(at).bytes.length));
  expect(found.filter((value, at) => value !== at && value !== UNKNOWN)).toEqual([]);
  const isLong = (at: number) => piece(at).bytes.length > 127;
  const missing = values.filter((at) => found[at] === UNKNOWN);
  expect(missing.filter(isLong)).toEqual(values.filter(isLong));
  expect(missing.length - missing.filter(isLong).length).toBeLessThan(200);
  table.clear();
  expect(table.find(piece(1), 0, piece(1).bytes.length)).toBe(UNKNOWN);
});

it('are not slow to find where pieces have one hash', () => {
  const table = new PieceTable();
  // The last four bytes change the hash by a product: another factor undoes the change of the first ones.
  const inverse = inverseOf(0x85ebca6b);
  const piece = (at: number) => {
    const bytes = new Uint8Array(8);
    const view = new DataView(bytes.buffer);
    view.setInt32(0, at, true);
    view.setInt32(4, Math.imul(Math.imul(at, 0x9e3779b1) ^ 12_345, inverse) - 8, true);
    return textBytes(bytes);
  };
  for (let at = 0; at < 1000; at++) table.add(piece(at), 0, 8, at);
  const found = Array.from({ length: 1000 }, (_, at) => table.find(piece(at), 0, 8));
  expect(found.filter((value, at) => value !== at && value !== UNKNOWN)).toEqual([]);
  expect(found.filter((value) => value !== UNKNOWN).length).toBeLessThan(100);
});

/** The number whose product with an odd one is 1 in 32 bits. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let bits = 3; bits < 32; bits *= 2)
    inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}
