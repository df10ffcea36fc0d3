import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Table } from 'apache-arrow';
import { arrow } from './catalog.ts';

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

/** The folder of the data sets. */
export const DATASETS = fileURLToPath(
  new URL('../node_modules/vega-datasets/data', import.meta.url),
);

/** 3,201 films: text, dates, money as int64, ratings that may be missing, and a vector of traits. */
export function movies(): Table {
  const films = JSON.parse(readFileSync(join(DATASETS, 'movies.json'), 'utf8')) as Film[];
  const { Utf8, Int64, Float64, Float32, DateDay, Field, FixedSizeList } = arrow;
  const traits = new FixedSizeList(4, new Field('item', new Float32(), true));
  const column = arrow.vectorFromArray;
  return new arrow.Table({
    title: column(
      films.map((film) => text(film.Title)),
      new Utf8(),
    ),
    director: column(
      films.map((film) => film.Director),
      new Utf8(),
    ),
    genre: column(
      films.map((film) => film['Major Genre']),
      new Utf8(),
    ),
    released: column(
      films.map((film) => new Date(`${film['Release Date']} UTC`)),
      new DateDay(),
    ),
    budget: column(
      films.map((film) => integer(film['Production Budget'])),
      new Int64(),
    ),
    gross: column(
      films.map((film) => integer(film['Worldwide Gross'])),
      new Int64(),
    ),
    imdb_rating: column(
      films.map((film) => film['IMDB Rating']),
      new Float64(),
    ),
    imdb_votes: column(
      films.map((film) => integer(film['IMDB Votes'])),
      new Int64(),
    ),
    traits: column(films.map(traitsOf), traits),
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

function text(value: string | number | null): string | null {
  return value === null ? null : String(value);
}

function integer(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}
