import { stopwords as arabic } from '@orama/stopwords/arabic';
import { stopwords as danish } from '@orama/stopwords/danish';
import { stopwords as dutch } from '@orama/stopwords/dutch';
import { stopwords as finnish } from '@orama/stopwords/finnish';
import { stopwords as french } from '@orama/stopwords/french';
import { stopwords as german } from '@orama/stopwords/german';
import { stopwords as greek } from '@orama/stopwords/greek';
import { stopwords as italian } from '@orama/stopwords/italian';
import { stopwords as norwegian } from '@orama/stopwords/norwegian';
import { stopwords as portuguese } from '@orama/stopwords/portuguese';
import { stopwords as romanian } from '@orama/stopwords/romanian';
import { stopwords as russian } from '@orama/stopwords/russian';
import { stopwords as swedish } from '@orama/stopwords/swedish';
import { stopwords as tamil } from '@orama/stopwords/tamil';
import { newStemmer } from 'snowball-stemmers';
import { retained, short } from './stop-words.ts';

/** The languages that LanceDB supports. */
export const languages = [
  'Arabic',
  'Danish',
  'Dutch',
  'English',
  'Finnish',
  'French',
  'German',
  'Greek',
  'Hungarian',
  'Italian',
  'Norwegian',
  'Portuguese',
  'Romanian',
  'Russian',
  'Spanish',
  'Swedish',
  'Tamil',
  'Turkish',
] as const;

export type Language = (typeof languages)[number];

/** Words that carry no meaning of their own. */
const stopWords: Readonly<Record<Language, readonly string[]>> = {
  Arabic: without(arabic, retained.Arabic),
  Danish: danish,
  Dutch: dutch,
  English: short.English,
  Finnish: finnish,
  French: without(french, retained.French),
  German: german,
  Greek: greek,
  Hungarian: short.Hungarian,
  Italian: italian,
  Norwegian: norwegian,
  Portuguese: portuguese,
  Romanian: without(romanian, retained.Romanian),
  Russian: russian,
  Spanish: short.Spanish,
  Swedish: without(swedish, retained.Swedish),
  Tamil: tamil,
  Turkish: short.Turkish,
};

/** The language of a name, in any case. */
export function languageOf(name: string): Language | undefined {
  return languages.find((language) => language.toLowerCase() === name.toLowerCase());
}

export function stopWordsOf(language: Language): readonly string[] {
  return stopWords[language];
}

/** Whether a language has a stemmer. */
export function hasStemmer(language: Language): boolean {
  return language !== 'Greek';
}

/** The Snowball stemmer of a language, for words in lower case. */
export function stemmerOf(language: Language): (word: string) => string {
  const stemmer = newStemmer(language.toLowerCase());
  return (word) => stemmer.stem(word);
}

function without(words: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Set(others);
  return words.filter((word) => word !== '' && !left.has(word));
}
