import { describe, expect, it } from 'vitest';
import { CatalogError, type ErrorName } from '../../../src/protocol/errors.ts';
import { defaultTextOptions, textOptions } from '../../../src/engine/tokens/text-options.ts';
import type { Fields } from '../../../src/engine/base/fields.ts';

describe('the options of a text index', () => {
  it.each<[Fields, object]>([
    [{}, {}],
    [{ max_token_length: null }, { max_token_length: null }],
    [
      { max_token_length: 5, language: 'german' },
      { max_token_length: 5, language: 'German' },
    ],
    [
      { stem: false, language: 'Greek' },
      { stem: false, language: 'Greek' },
    ],
    [
      { base_tokenizer: 'ngram', ngram_min_length: 2 },
      { base_tokenizer: 'ngram', min_ngram_length: 2 },
    ],
    [
      { min_ngram_length: 4, max_ngram_length: 6 },
      { min_ngram_length: 4, max_ngram_length: 6 },
    ],
    [{ custom_stop_words: ['a'], lance_tokenizer: 'text' }, { custom_stop_words: ['a'] }],
    [{ with_position: true, block_size: 256 }, { with_position: true }],
  ])('of %j', (body, options) => {
    expect(textOptions(body)).toEqual({ ...defaultTextOptions, ...options });
  });

  const languages =
    'Arabic, Danish, Dutch, English, Finnish, French, German, Greek, Hungarian, Italian, Norwegian, Portuguese, Romanian, Russian, Spanish, Swedish, Tamil, Turkish';
  it.each<[Fields, ErrorName, string]>([
    [
      { language: 'Klingon' },
      'InvalidInput',
      `language must be one of ${languages}, not "Klingon"`,
    ],
    [
      { base_tokenizer: 'letters' },
      'InvalidInput',
      'base_tokenizer must be "simple", "whitespace", "raw" or "ngram", not "letters"',
    ],
    [
      { base_tokenizer: 'jieba/default' },
      'Unsupported',
      'the tokenizer "jieba/default" is not built: it needs dictionaries; there are "simple", "whitespace", "raw" or "ngram"',
    ],
    [
      { language: 'Greek' },
      'Unsupported',
      'words of the language Greek are not reduced to their stems: set stem to false',
    ],
    [{ stem: 'yes' }, 'InvalidInput', 'stem must be true or false, not a string'],
    [{ max_token_length: -1 }, 'InvalidInput', 'max_token_length must be at least 0, not -1'],
    [{ min_ngram_length: 0 }, 'InvalidInput', 'min_ngram_length must be from 1 to 255, not 0'],
    [
      { min_ngram_length: 4 },
      'InvalidInput',
      'min_ngram_length must be at most max_ngram_length, and 4 is more than 3',
    ],
    [
      { custom_stop_words: Array.from({ length: 5001 }, () => 'a') },
      'InvalidInput',
      'custom_stop_words must be at most 5000 words of 50000 letters together, not 5001 of 5001',
    ],
    [
      { custom_stop_words: ['a', 'b'.repeat(50_000)] },
      'InvalidInput',
      'custom_stop_words must be at most 5000 words of 50000 letters together, not 2 of 50001',
    ],
    [{ custom_stop_words: 'a' }, 'InvalidInput', 'custom_stop_words must be a list, not a string'],
    [
      { custom_stop_words: [1] },
      'InvalidInput',
      'custom_stop_words[0] must be a string, not the number 1',
    ],
    [{ lance_tokenizer: 'json' }, 'Unsupported', 'a text index of JSON by its paths is not built'],
    [{ lance_tokenizer: 'xml' }, 'InvalidInput', 'lance_tokenizer must be "text", not "xml"'],
  ])('that are refused: %j', (body, name, message) => {
    expect(() => textOptions(body)).toThrow(new CatalogError(name, message));
    expect(() => textOptions(body)).toThrow(
      expect.objectContaining({ row: expect.objectContaining({ name }) }),
    );
  });
});
