import * as fc from 'fast-check';
import { newStemmer } from 'snowball-stemmers';
import { expect, it } from 'vitest';
import { englishStem } from '../../../src/engine/tokens/english-stemmer.ts';

const parts = [
  ..."a e i o u y Y b c d l s t n r x w tt ll ' 's 's' é 1 犬".split(' '),
  ...'s ss us ied ies sses ed eed ing edly eedly ingly at iz bl'.split(' '),
  ...'anci enci ogi li bli abli alli fulli lessli ousli entli aliti biliti iviti'.split(' '),
  ...'tional ational alism ation ization izer ator iveness fulness ousness'.split(' '),
  ...'icate ative alize iciti ical ful ness ic ance ence able ible ate ive ize iti'.split(' '),
  ...'al ism ion er ous ant ent ment ement e l gener commun arsen'.split(' '),
  ...'succeed proceed exceed canning inning earring herring outing'.split(' '),
  ...'skis skies sky dying lying tying idly gently ugly early only singly'.split(' '),
  ...'news howe atlas cosmos bias andes'.split(' '),
];
const snowball = newStemmer('english');

it('gives the stems of the package of all pairs of parts of words', () => {
  const words = parts.flatMap((one) => ['', ...parts].map((other) => one + other));
  expect(words.map(englishStem)).toEqual(words.map((word) => snowball.stem(word)));
});

it('gives the stems of the package of any words', () => {
  const word = fc.array(fc.constantFrom(...parts), { maxLength: 6 }).map((some) => some.join(''));
  fc.assert(
    fc.property(word, (each) => {
      expect(englishStem(each)).toBe(snowball.stem(each));
    }),
    { numRuns: 20_000 },
  );
});

it('gives stems by rules that are written here', () => {
  const stems = {
    running: 'run',
    "dog's": 'dog',
    generously: 'generous',
    hopping: 'hop',
    hoping: 'hope',
  };
  expect(Object.keys(stems).map(englishStem)).toEqual(Object.values(stems));
  expect(['sayings', 'boy', 'flies', 'dies', 'relational'].map(englishStem)).toEqual([
    'say',
    'boy',
    'fli',
    'die',
    'relat',
  ]);
});
