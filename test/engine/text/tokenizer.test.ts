import { describe, expect, it } from 'vitest';
import { languages, stopWordsOf } from '../../../src/engine/text/languages.ts';
import { defaultTextOptions, type TextOptions } from '../../../src/engine/text/text-options.ts';
import { fuzzyTokenizer, Tokenizer } from '../../../src/engine/text/tokenizer.ts';

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
