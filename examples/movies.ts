import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Table } from 'apache-arrow';
import { arrow, columnOf, DATASETS } from './catalog.ts';

/** A film as `movies.json` of vega-datasets has it. */
interface Film {
  readonly Title: string | number | null;
  readonly 'Worldwide Gross': number | null;
  readonly 'Production Budget': number | null;
  readonly 'Release Date': string;
  readonly 'Major Genre': string | null;
  readonly Director: string | null;
  readonly 'Rotten Tomatoes Rating': number | null;
  readonly 'IMDB Rating': number | null;
  readonly 'IMDB Votes': number | null;
}

/** 3,201 films: text, dates, money as int64, ratings that may be missing, and a vector of traits. */
export function movies(): Table {
  const films = JSON.parse(readFileSync(join(DATASETS, 'movies.json'), 'utf8')) as Film[];
  const { Utf8, Int64, Float64, Float32, DateDay, Field, FixedSizeList } = arrow;
  const traits = new FixedSizeList(4, new Field('item', new Float32(), true));
  return new arrow.Table({
    title: columnOf(films, new Utf8(), (film) => text(film.Title)),
    director: columnOf(films, new Utf8(), (film) => film.Director),
    genre: columnOf(films, new Utf8(), (film) => film['Major Genre']),
    released: columnOf(films, new DateDay(), (film) => new Date(`${film['Release Date']} UTC`)),
    budget: columnOf(films, new Int64(), (film) => integer(film['Production Budget'])),
    gross: columnOf(films, new Int64(), (film) => integer(film['Worldwide Gross'])),
    rating: columnOf(films, new Float64(), (film) => film['IMDB Rating']),
    votes: columnOf(films, new Int64(), (film) => integer(film['IMDB Votes'])),
    traits: columnOf(films, traits, traitsOf),
  });
}

/** What films are compared by: ratings, money and fame, each between 0 and 1. */
function traitsOf(film: Film): readonly number[] {
  return [
    (film['IMDB Rating'] ?? 5) / 10,
    (film['Rotten Tomatoes Rating'] ?? 50) / 100,
    Math.log10((film['Production Budget'] ?? 1e6) + 1) / 9,
    Math.log10((film['IMDB Votes'] ?? 100) + 1) / 6,
  ];
}

/** Some titles, such as 300, are numbers in the file. */
function text(value: string | number | null): string | null {
  return value === null ? null : String(value);
}

function integer(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}
