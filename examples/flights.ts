import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Table } from 'apache-arrow';
import { arrow, columnOf, DATASETS } from './catalog.ts';

/** A flight as `flights-20k.json` of vega-datasets has it. */
interface Flight {
  readonly date: string;
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}

/** 20,000 flights of 2001: when, between which airports, how many miles, how many minutes late. */
export function flights(): Table {
  const list = JSON.parse(readFileSync(join(DATASETS, 'flights-20k.json'), 'utf8')) as Flight[];
  const { Utf8, Int32, TimestampMillisecond } = arrow;
  const departed = ({ date }: Flight): number => Date.parse(`${date} UTC`);
  return new arrow.Table({
    departed: columnOf(list, new TimestampMillisecond(), departed),
    origin: columnOf(list, new Utf8(), (flight) => flight.origin),
    destination: columnOf(list, new Utf8(), (flight) => flight.destination),
    distance: columnOf(list, new Int32(), (flight) => flight.distance),
    delay: columnOf(list, new Int32(), (flight) => flight.delay),
  });
}
