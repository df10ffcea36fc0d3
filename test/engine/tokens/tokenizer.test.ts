import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { languages, stopWordsOf } from '../../../src/engine/tokens/languages.ts';
import { defaultTextOptions, type TextOptions } from '../../../src/engine/tokens/text-options.ts';
import { TokenTable } from '../../../src/engine/index/text/token-table.ts';
import { fuzzyTokenizer, Tokenizer } from '../../../src/engine/tokens/tokenizer.ts';

const plain: Partial<TextOptions> = { stem: false, remove_stop_words: false };

/** Tokens with their positions. */
function tokensOf(text: string, options: Partial<TextOptions>): readonly string[] {
  const tokens: string[] = [];
  const tokenizer = new Tokenizer({ ...defaultTextOptions, ...options });
  tokenizer.visit(text, (token, position) => tokens.push(`${token}@${position}`));
  return tokens;
}

describe('tokens', () => {
  it.each<[string, Partial<TextOptions>, string]>([
    ['The quick, brown FOX!', {}, 'quick@1 brown@2 fox@3'],
    ['running runs generously', {}, 'run@0 run@1 generous@2'],
    ['willing', {}, ''],
    ['Running', { stem: false, lower_case: false }, 'Running@0'],
    ["it's a_b e-mail 5½ x٣y ⅷ", plain, 'it@0 s@1 a@2 b@3 e@4 mail@5 512@6 x٣y@7 viii@8'],
    ['naïve Ærø Straße Łódź ﬁn', plain, 'naive@0 aero@1 strasse@2 lodz@3 fin@4'],
    ['naïve', { ...plain, ascii_folding: false }, 'naïve@0'],
    ['ΣΊΣΥΦΟΣ ЁЛКА 日本', plain, 'σίσυφοσ@0 ёлка@1 日本@2'],
    ['😀 𝒳y 𐐷', plain, 'Xy@0 𐐷@1'],
    ["it's e-mail\tx", { ...plain, base_tokenizer: 'whitespace' }, "it's@0 e-mail@1 x@2"],
    ['Two Words', { ...plain, base_tokenizer: 'raw' }, 'two words@0'],
    [
      'ab c',
      { ...plain, base_tokenizer: 'ngram', min_ngram_length: 2 },
      'ab@0 ab @0 b @1 b c@1  c@2',
    ],
    [
      '😀bc',
      {
        ...plain,
        base_tokenizer: 'ngram',
        min_ngram_length: 1,
        max_ngram_length: 2,
        prefix_only: true,
      },
      '😀@0 😀b@0',
    ],
    ['abcd abc éé', { ...plain, max_token_length: 4 }, 'abc@1'],
    ['one two three', { custom_stop_words: ['two'], stem: false }, 'one@0 three@2'],
    ['die Häuser und das Haus', { language: 'German' }, 'haus@1 haus@4'],
    ['los perros corren', { language: 'Spanish' }, 'perr@1 corr@2'],
    ['', {}, ''],
    [' ,;', {}, ''],
  ])('of %j with %j', (text, options, tokens) => {
    expect(tokensOf(text, options).join(' ')).toBe(tokens);
  });

  it('are the same again and again', () => {
    expect(tokensOf('Dogs dogs DOGS', {})).toEqual(['dog@0', 'dog@1', 'dog@2']);
  });

  it('of words that may be misspelt are as they are written', () => {
    const tokens: string[] = [];
    const tokenizer = fuzzyTokenizer(defaultTextOptions);
    tokenizer.visit('The Runnïng', (token) => tokens.push(token));
    expect(tokens).toEqual(['the', 'running']);
  });

  it('have stop words in every language', () => {
    for (const language of languages) {
      expect(stopWordsOf(language).length, language).toBeGreaterThan(30);
      expect(new Set(stopWordsOf(language)).has(''), language).toBe(false);
    }
    expect(stopWordsOf('English')).toHaveLength(33);
  });
});

describe('a tokenizer', () => {
  /** How much more memory is held after work than before, in MiB. */
  function heldAfter(work: () => void): number {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    collect();
    const before = process.memoryUsage().heapUsed;
    work();
    collect();
    return (process.memoryUsage().heapUsed - before) / 2 ** 20;
  }

  it.each(['simple', 'whitespace', 'raw'] as const)(
    'keeps no texts in memory, however long their words are: %s',
    (base) => {
      const tokenizer = new Tokenizer({ ...defaultTextOptions, base_tokenizer: base });
      const table = new TokenTable(tokenizer, false, 0);
      const text = Buffer.from('the sea and the dog '.repeat(2500));
      const held = heldAfter(() => {
        for (let at = 0; at < 1000; at++) table.add([`${text.toString()} identifier${1e9 + at}`]);
      });
      expect(held).toBeLessThan(20);
      expect([table.rows, table.held > 0]).toEqual([1000, base !== 'raw']);
    },
  );
});

describe('gathered tokens', () => {
  it('are counted with their text, each once', () => {
    const table = new TokenTable(new Tokenizer({ ...defaultTextOptions, stem: false }), false, 0);
    table.add(['dog', 'cattle dog']);
    table.add(['dog']);
    expect([table.held, table.distinct, table.units]).toEqual([4, 2, 9]);
  });

  it('are refused of a row that makes more than memory holds', () => {
    const table = new TokenTable(new Tokenizer(defaultTextOptions), false, 7);
    table.add(['dog']);
    expect(() => table.add(['x '.repeat(15_000_001)])).toThrow(
      'the text of row 8 of a fragment makes more than 15000000 tokens',
    );
  });

  it('are those that were asked for, however many others there are', () => {
    const isAsked = (token: string) => token === 'dog' || token.startsWith('n6999');
    const table = new TokenTable(new Tokenizer(defaultTextOptions), true, 0, isAsked);
    const words = Array.from({ length: 70_000 }, (_, at) => `n${at}`);
    table.add([words.join(' '), 'dog']);
    table.add([words.slice(0, 10).join(' ')]);
    table.add(['n69990 dog']);
    const found = [...table.sorted()].map(({ token, postings }) => [token, [...postings.rows]]);
    expect(found.filter(([token]) => token === 'dog' || token === 'n69990')).toEqual([
      ['dog', [0, 2]],
      ['n69990', [0, 2]],
    ]);
    expect(table.distinct).toBe(12);
    expect([...table.header().lengths]).toEqual([70_001, 10, 2]);
  });
});
