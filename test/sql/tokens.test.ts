import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokenReader } from '../../src/sql/parse/tokens.ts';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import { casesOf } from '../support/cases.ts';

/** Kinds, texts and positions of all tokens, or the error. */
function tokensOf(text: string): string {
  const next = tokenReader(text);
  const found: string[] = [];
  try {
    for (let token = next(); token.kind !== 'end'; token = next())
      found.push(`${token.kind} ${token.text} ${token.position}`);
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    found.push(error.message);
  }
  return found.join(' | ').replaceAll('\u3000', ' ');
}

const pieces = [
  "a Key_1 _x x 42 007 1.5 .5 1. 1e5 2E-3 1a 1_ é 𝒜 a$b 'a''b' x'0a' \"q\" `q` '",
  '= == < <= <> > >= != ! ( ) [ ] , + * % - -- / /* | || : :: . $1 ? #',
].flatMap((some) => some.split(' '));

describe('tokens', () => {
  it.each([
    ['key = 42', 'name key 1 | symbol = 5 | number 42 7'],
    [
      'a<=b<>c!=d==1',
      'name a 1 | symbol <= 2 | name b 4 | symbol <> 5 | name c 7 | symbol != 8 | name d 10 | symbol == 11 | number 1 13',
    ],
    ['a<1>b', 'name a 1 | symbol < 2 | number 1 3 | symbol > 4 | name b 5'],
    ['f(1,.5)', 'name f 1 | symbol ( 2 | number 1 3 | symbol , 4 | number .5 5 | symbol ) 7'],
    ['s.a$b', 'name s 1 | symbol . 2 | name a$b 3'],
    ["x'0A'", 'binary 0A 1'],
    ['x=1.5e3', 'name x 1 | symbol = 2 | number 1.5e3 3'],
    ['\u{1F600}', 'expected an expression, found the character "\u{1F600}", at position 1'],
    ["'\u{1F600}' = a", 'string \u{1F600} 1 | symbol = 5 | name a 7'],
    ['1a', 'expected the number 1 to end, found "a", at position 2'],
    ['\t\n\v\f\r a\u00a0', 'name a 7'],
    ['', ''],
  ])('of %j', (text, tokens) => {
    expect(tokensOf(text)).toBe(tokens);
  });

  it('are the same before an ASCII blank, which ends most, and before another', () => {
    const texts = array(constantFrom(...pieces), { maxLength: 8 });
    assert(
      property(texts, (parts) => {
        expect(tokensOf(parts.join(' '))).toBe(tokensOf(parts.join('\u3000')));
        expect(tokensOf(`${parts.join('')} `)).toBe(tokensOf(`${parts.join('')}\u3000`));
      }),
      { numRuns: casesOf(500, 20_000) },
    );
  });
});
