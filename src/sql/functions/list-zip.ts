import { sizeAt, startAt } from '../../arrow/spans.ts';
import { Field, Struct } from 'apache-arrow';
import type { Kernel } from '../evaluate/bound.ts';
import { appendAll } from '../values/append.ts';
import { isValid, structColumn, type Column, type ListColumn } from '../values/column.ts';
import { listType } from '../bind/element.ts';
import { maxListElements } from '../values/limits.ts';
import { listsOf } from '../values/lists.ts';
import { call } from '../evaluate/node.ts';
import { constantColumn } from '../values/scalar.ts';
import { takeRows } from '../values/take.ts';
import { elementType } from '../values/types.ts';
import { checkCount, type FunctionRow } from './function-row.ts';
import { tooManyElements } from './list-builder.ts';
import { listArgument } from './list.ts';

function presentSize(lists: ListColumn, row: number): number {
  return isValid(lists, row) ? sizeAt(lists, row) : 0;
}

/** Row `i` is as long as the longest list of that row; null if all are null. */
const zipKernel: Kernel = (columns, made) => {
  const { length, types } = made;
  const all = columns.map(listsOf);
  const [starts, ends] = [new Uint32Array(length), new Uint32Array(length)];
  const valid = new Uint8Array(length);
  let size = 0;
  for (let row = 0; row < length; row++) {
    valid[row] = all.some((lists) => isValid(lists, row)) ? 1 : 0;
    starts[row] = size;
    size += Math.max(...all.map((lists) => presentSize(lists, row)));
    ends[row] = size;
    if (size > maxListElements) throw tooManyElements(made);
  }
  const fields = all.map((lists, at): Column => {
    const values = appendAll([lists.child, constantColumn(elementType(types[at]!), null, 1)]);
    const rows = new Uint32Array(size).fill(values.length - 1);
    for (let row = 0; row < length; row++) {
      for (let place = 0; place < presentSize(lists, row); place++) {
        rows[starts[row]! + place] = startAt(lists, row) + place;
      }
    }
    return takeRows(values, rows);
  });
  const child = structColumn(size, null, (at) => fields[at]!);
  return { kind: 'list', length, child, starts, ends, valid };
};

function zipRow(name: string): FunctionRow {
  const usage = `${name}(list, ...)`;
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, Infinity);
      const lists = made.arguments.map((_, at) => listArgument(usage, made, at));
      const fields = lists.map(({ type }, at) => new Field(`c${at}`, elementType(type), true));
      const type = listType(new Struct(fields));
      const { position } = made;
      return call({ name, type, arguments: lists, kernel: zipKernel, position, fallible: true });
    },
  };
}

/** Lists made into one of structs with the fields `c0`, `c1` and so on. */
export const listZipFunctions: Readonly<Record<string, FunctionRow>> = {
  arrays_zip: zipRow('arrays_zip'),
  list_zip: zipRow('list_zip'),
};
