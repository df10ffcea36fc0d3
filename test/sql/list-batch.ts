import { Field, Int32, List, Utf8 } from 'apache-arrow';
import { batchOf, column } from './support.ts';

/** Two rows, one of them with nulls. */
export const batch = batchOf({
  n: column(new Int32(), [3, null]),
  t: column(new Utf8(), ['a,b,c', null]),
  l: column(new List(new Field('item', new Int32(), true)), [[3, null, 1, 3], null]),
});
