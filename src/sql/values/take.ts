import { gatherRows } from '../../arrow/gather.ts';
import {
  newStates,
  statesColumn,
  structColumn,
  type BytesColumn,
  type Column,
  type ListColumn,
  type NestedColumn,
  type Valid,
} from './column.ts';
import { hold, spend } from './meter.ts';

function takeValid(valid: Valid, rows: Uint32Array): Valid {
  return valid === null ? null : gatherRows(valid, 1, rows);
}

function takeSpans<Spans extends BytesColumn | ListColumn>(
  column: Spans,
  rows: Uint32Array,
): Spans {
  return {
    ...column,
    length: rows.length,
    starts: gatherRows(column.starts, 1, rows),
    ends: gatherRows(column.ends, 1, rows),
    valid: takeValid(column.valid, rows),
  };
}

function takeNested({ rows, data, valid }: NestedColumn, wanted: Uint32Array): Column {
  const picked = rows === null ? wanted : gatherRows(rows, 1, wanted);
  return {
    kind: 'nested',
    length: wanted.length,
    data,
    rows: picked,
    valid: takeValid(valid, wanted),
  };
}

type Takers = {
  readonly [Kind in Column['kind']]: (
    column: Extract<Column, { kind: Kind }>,
    rows: Uint32Array,
  ) => Column;
};

const takers: Takers = {
  states: ({ states }, rows) => statesColumn(gatherRows(states, 1, rows, newStates(rows.length))),
  number: ({ values, valid }, rows) => ({
    kind: 'number',
    length: rows.length,
    values: gatherRows(values, 1, rows),
    valid: takeValid(valid, rows),
  }),
  bigint: ({ values, valid }, rows) => ({
    kind: 'bigint',
    length: rows.length,
    values: gatherRows(values, 1, rows),
    valid: takeValid(valid, rows),
  }),
  wide: ({ values, valid }, rows) => ({
    kind: 'wide',
    length: rows.length,
    values: Array.from(rows, (row) => values[row]!),
    valid: takeValid(valid, rows),
  }),
  bytes: takeSpans,
  list: takeSpans,
  struct: ({ field, valid }, rows) =>
    structColumn(rows.length, takeValid(valid, rows), (at) => takeRows(field(at), rows)),
  nested: takeNested,
  null: (_, { length }) => ({ kind: 'null', length }),
};

/** The given rows of a column, in the given order; a row may come more than once. */
export function takeRows(column: Column, rows: Uint32Array): Column {
  const width = column.kind === 'wide' ? 40 : 9;
  spend(rows.length * width);
  hold(rows.length * width);
  return takers[column.kind](column as never, rows);
}
