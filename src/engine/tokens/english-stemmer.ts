/**
 * The English stemmer of Snowball ("Porter2"), with the words and the suffixes of the package `snowball-stemmers`: it
 * gives the same stems in a tenth of the time.
 */

/** Words with stems of their own. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ...'andes atlas bias cosmos howe news sky'.split(' ').map((word) => [word, word] as const),
  ['dying', 'die'],
  ['early', 'earli'],
  ['gently', 'gentl'],
  ['idly', 'idl'],
  ['lying', 'lie'],
  ['only', 'onli'],
  ['singly', 'singl'],
  ['skies', 'sky'],
  ['skis', 'ski'],
  ['tying', 'tie'],
  ['ugly', 'ugli'],
]);

/** Words that keep what looks like a suffix. */
const whole = new Set('canning earring exceed herring inning outing proceed succeed'.split(' '));

/** Words that begin so have their first region behind it. */
const beginnings = ['arsen', 'commun', 'gener'];

const doubles = new Set('bb dd ff gg mm nn pp rr tt'.split(' '));

/** A suffix, what takes its place, and the letters of which one must precede it; any if absent. */
type Suffix = readonly [suffix: string, replacement: string, before?: string];

/** Suffixes by the code of their last letter, the longest first. */
type Suffixes = readonly (readonly Suffix[] | undefined)[];

const step2 = byLastLetter([
  ...replaced('ate', 'ational ation ator'),
  ...replaced('able', 'abli'),
  ...replaced('al', 'alism aliti alli'),
  ...replaced('ance', 'anci'),
  ...replaced('ble', 'biliti bli'),
  ...replaced('ence', 'enci'),
  ...replaced('ent', 'entli'),
  ...replaced('ful', 'fulli fulness'),
  ...replaced('ive', 'iveness iviti'),
  ...replaced('ize', 'ization izer'),
  ...replaced('less', 'lessli'),
  ...replaced('ous', 'ousli ousness'),
  ...replaced('tion', 'tional'),
  ['ogi', 'og', 'l'],
  ['li', '', 'cdeghkmnrt'],
]);

const step3 = byLastLetter([
  ...replaced('ate', 'ational'),
  ...replaced('tion', 'tional'),
  ...replaced('al', 'alize'),
  ...replaced('ic', 'icate iciti ical'),
  ...replaced('', 'ful ness'),
]);

const step4 = byLastLetter([
  ...replaced('', 'al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize'),
  ['ion', '', 'st'],
]);

/** The stem of a word in lower case. */
export function englishStem(word: string): string {
  const stem = exceptions.get(word);
  if (stem !== undefined) return stem;
  if (word.length < 3) return word;
  const plain = word.startsWith("'") ? word.slice(1) : word;
  const marked = withConsonants(plain);
  const stemmed = stemOf(marked);
  return marked === plain ? stemmed : stemmed.replaceAll('Y', 'y');
}

/** @param word Has `Y` for a `y` that is a consonant. */
function stemOf(word: string): string {
  const beginning = beginnings.find((each) => word.startsWith(each));
  const region1 = beginning?.length ?? regionAfter(word, 0);
  const region2 = regionAfter(word, region1);
  const singular = withoutPlural(word);
  if (whole.has(singular)) return singular;
  let stem = withoutTense(singular, region1);
  stem = withoutY(stem);
  stem = replace(stem, step2, region1);
  stem = withoutNoun(stem, region1, region2);
  stem = replace(stem, step4, region2);
  return withoutEnd(stem, region1, region2);
}

/** Marks each `y` at the beginning and behind a vowel. */
function withConsonants(word: string): string {
  if (!word.includes('y')) return word;
  let marked = '';
  for (let at = 0; at < word.length; at++) {
    const isConsonant = word[at] === 'y' && (at === 0 || isVowel(marked, at - 1));
    marked += isConsonant ? 'Y' : word[at]!;
  }
  return marked;
}

/** Where the part of a word begins that follows a vowel and another letter. */
function regionAfter(word: string, from: number): number {
  let at = from;
  while (at < word.length && !isVowel(word, at)) at++;
  while (at < word.length && isVowel(word, at)) at++;
  return Math.min(word.length, at + 1);
}

function withoutPlural(word: string): string {
  const owner = /'(?:s'?)?$/.exec(word);
  const own = owner === null ? word : word.slice(0, owner.index);
  if (own.endsWith('ied') || own.endsWith('ies')) return own.slice(0, own.length > 4 ? -2 : -1);
  if (!own.endsWith('s') || own.endsWith('ss') || own.endsWith('us')) return own;
  if (own.endsWith('sses')) return own.slice(0, -2);
  return hasVowel(own, own.length - 2) ? own.slice(0, -1) : own;
}

function withoutTense(word: string, region1: number): string {
  const [suffix] = /(?:e?ed|ing)(?:ly)?$/.exec(word) ?? [];
  if (suffix === undefined) return word;
  const stem = word.slice(0, -suffix.length);
  if (suffix.startsWith('ee')) return region1 <= stem.length ? `${stem}ee` : word;
  if (!hasVowel(stem, stem.length)) return word;
  const end = stem.slice(-2);
  if (end === 'at' || end === 'bl' || end === 'iz') return `${stem}e`;
  if (doubles.has(end)) return stem.slice(0, -1);
  return region1 === stem.length && isShort(stem) ? `${stem}e` : stem;
}

function withoutY(word: string): string {
  const last = word.length - 1;
  const isY = word.endsWith('y') || word.endsWith('Y');
  return isY && last > 1 && !isVowel(word, last - 1) ? `${word.slice(0, last)}i` : word;
}

function withoutNoun(word: string, region1: number, region2: number): string {
  if (!word.endsWith('ative')) return replace(word, step3, region1);
  return region2 <= word.length - 5 ? word.slice(0, -5) : word;
}

function withoutEnd(word: string, region1: number, region2: number): string {
  const last = word.length - 1;
  if (word.endsWith('ll')) return region2 <= last ? word.slice(0, last) : word;
  if (!word.endsWith('e')) return word;
  const stem = word.slice(0, last);
  return region2 <= last || (region1 <= last && !isShort(stem)) ? stem : word;
}

/** Replaces the longest suffix, if it lies in a region. */
function replace(word: string, suffixes: Suffixes, region: number): string {
  const found = suffixes[word.charCodeAt(word.length - 1)];
  const one = found?.find(([suffix]) => word.endsWith(suffix));
  if (one === undefined) return word;
  const [suffix, replacement, before] = one;
  const start = word.length - suffix.length;
  if (start < region) return word;
  if (before !== undefined && (start === 0 || !before.includes(word[start - 1]!))) return word;
  return word.slice(0, start) + replacement;
}

/** Whether a word ends in a short syllable. */
function isShort(word: string): boolean {
  const last = word.length - 1;
  if (last < 1 || !isVowel(word, last - 1) || isVowel(word, last)) return false;
  return last === 1 || (!'wxY'.includes(word[last]!) && !isVowel(word, last - 2));
}

function hasVowel(word: string, end: number): boolean {
  for (let at = 0; at < end; at++) if (isVowel(word, at)) return true;
  return false;
}

const vowels = Uint8Array.from({ length: 128 }, (_, code) =>
  Number('aeiouy'.includes(String.fromCharCode(code))),
);

function isVowel(word: string, at: number): boolean {
  return vowels[word.charCodeAt(at)] === 1;
}

function replaced(replacement: string, suffixes: string): readonly Suffix[] {
  return suffixes.split(' ').map((suffix) => [suffix, replacement]);
}

function byLastLetter(suffixes: readonly Suffix[]): Suffixes {
  const byLetter: Suffix[][] = [];
  for (const one of suffixes) (byLetter[one[0].charCodeAt(one[0].length - 1)] ??= []).push(one);
  for (const some of byLetter) some?.sort(([left], [right]) => right.length - left.length);
  return byLetter;
}
