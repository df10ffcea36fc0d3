import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Table } from 'apache-arrow';
import { arrow } from './catalog.ts';
import { DATASETS } from './movies.ts';

interface Flight {
  readonly date: string;
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}

/** 20,000 flights of 2001: when, between which airports, how far, how late in minutes. */
export function flights(): Table {
  const text = readFileSync(join(DATASETS, 'flights-20k.json'), 'utf8');
  const list = JSON.parse(text) as Flight[];
  const { Utf8, Int32, TimestampMillisecond } = arrow;
  const column = arrow.vectorFromArray;
  return new arrow.Table({
    departed: column(
      list.map(({ date }) => Date.parse(`${date} UTC`)),
      new TimestampMillisecond(),
    ),
    origin: column(
      list.map(({ origin }) => origin),
      new Utf8(),
    ),
    destination: column(
      list.map(({ destination }) => destination),
      new Utf8(),
    ),
    distance: column(
      list.map(({ distance }) => distance),
      new Int32(),
    ),
    delay: column(
      list.map(({ delay }) => delay),
      new Int32(),
    ),
  });
}
