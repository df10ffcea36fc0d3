import { endAt, sizeAt, startAt } from '../../arrow/spans.ts';
import { Uint64, type DataType } from 'apache-arrow';
import { kernelOf, boolType, type Bound, type Kernel } from '../evaluate/bound.ts';
import {
  isValid,
  newStates,
  statesColumn,
  structColumn,
  truth,
  type Column,
  type ListColumn,
} from '../values/column.ts';
import { bindList, listType } from '../bind/element.ts';
import { SqlError } from '../values/sql-error.ts';
import { rowKeys } from '../values/keys.ts';
import { listsOf, packedLists } from '../values/lists.ts';
import { keyOf, keyRows, mapPart, valuesAt } from '../bind/map-element.ts';
import { call } from '../evaluate/node.ts';
import { allValid } from '../values/text.ts';
import { elementType, familyOf, isComputable, mapTypeOf, mapTypes } from '../values/types.ts';
import { checkCount, wrongArgument, type FunctionCall, type FunctionRow } from './function-row.ts';
import { listArgument } from './list.ts';

function mapArgument(usage: string, { arguments: [map] }: FunctionCall): Bound {
  if (familyOf(map!.type) !== 'map' || !isComputable(map!.type)) {
    throw wrongArgument(usage, 'a map', 1, map!);
  }
  return map!;
}

/** A function of a map alone. */
function ownRow(
  usage: string,
  result: (map: DataType) => DataType,
  kernelFor: (map: DataType) => Kernel,
): FunctionRow {
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, 1);
      const map = mapArgument(usage, made);
      const { name, position } = made;
      const [type, kernel] = [result(map.type), kernelFor(map.type)];
      return call({ name, type, arguments: [map], kernel, position, fallible: false });
    },
  };
}

function partRow(usage: string, part: 'keys' | 'values'): FunctionRow {
  const typeOf = (map: DataType): DataType => mapTypes(map)[part === 'keys' ? 0 : 1];
  const partKernel = (map: DataType): Kernel =>
    kernelOf(1, ([column]) => {
      const maps = listsOf(column);
      return { ...maps, child: mapPart(maps, part, typeOf(map)) };
    });
  return ownRow(usage, (map) => listType(typeOf(map)), partKernel);
}

const entriesRow = ownRow(
  'map_entries(map)',
  (map) => listType(elementType(map)),
  () => kernelOf(1, ([column]) => listsOf(column)),
);

const countKernel: Kernel = kernelOf(1, ([column], { length }) => {
  const maps = listsOf(column);
  const values = BigUint64Array.from({ length }, (_, row) =>
    isValid(maps, row) ? BigInt(sizeAt(maps, row)) : 0n,
  );
  return { kind: 'bigint', length, values, valid: maps.valid };
});

/** How many entries a map has. */
export const mapSizeRow = ownRow(
  'cardinality(map)',
  () => new Uint64(),
  () => countKernel,
);

/** A function of a map and a key. */
function keyRow(
  usage: string,
  result: (map: DataType) => DataType,
  found: (maps: ListColumn, entries: Int32Array, key: Column, map: DataType) => Column,
): FunctionRow {
  const kernel: Kernel = kernelOf(2, ([column, key], { types }) => {
    const maps = listsOf(column);
    return found(maps, keyRows(maps, key, types[0]), key, types[0]);
  });
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 2, 2);
      const map = mapArgument(usage, made);
      const { name, position } = made;
      const args = [map, keyOf(map, made.arguments[1])];
      return call({
        name,
        type: result(map.type),
        arguments: args,
        kernel,
        position,
        fallible: false,
      });
    },
  };
}

/** A list with the value of a key, or with a null if the map has no such key. */
function extractRow(usage: string): FunctionRow {
  return keyRow(
    usage,
    (map) => listType(mapTypes(map)[1]),
    (maps, entries, _, map) => {
      const { length } = entries;
      const starts = Uint32Array.from({ length }, (__, row) => row);
      const ends = Uint32Array.from({ length }, (__, row) => row + 1);
      const child = valuesAt(maps, entries, map);
      return { kind: 'list', length, child, starts, ends, valid: null };
    },
  );
}

const containsRow = keyRow(
  'map_contains_key(map, key)',
  () => boolType,
  (maps, entries, key) => {
    const states = newStates(entries.length);
    for (let row = 0; row < states.length; row++) {
      const known = isValid(maps, row) && isValid(key, row);
      states[row] = !known ? truth.unknown : entries[row]! < 0 ? truth.false : truth.true;
    }
    return statesColumn(states);
  },
);

/** Throws SqlError `value` for a key that is null or comes twice in one map. */
function checkKeys(keys: ListColumn, type: DataType, name: string, position: number): void {
  const key = rowKeys(keys.child, type);
  for (let row = 0; row < keys.length; row++) {
    const seen = new Set<string>();
    for (let at = startAt(keys, row); at < endAt(keys, row); at++) {
      if (!isValid(keys.child, at) || seen.size === seen.add(key(at)).size) {
        const found = isValid(keys.child, at) ? 'one twice' : 'a null';
        throw new SqlError('value', `expected different keys in ${name}, found ${found}`, position);
      }
    }
  }
}

/** Throws SqlError `value` if keys and values of a row differ in number. */
function checkSizes(keys: ListColumn, values: ListColumn, name: string, position: number): void {
  for (let row = 0; row < keys.length; row++) {
    const [a, b] = [keys, values].map(({ starts, ends }) => ends[row]! - starts[row]!);
    if (a !== b) {
      const message = `expected as many values as keys in ${name}, found ${a} keys and ${b} values`;
      throw new SqlError('value', message, position);
    }
  }
}

const mapKernel: Kernel = kernelOf(2, ([first, second], { name, position, types }) => {
  const valid = allValid([first, second]);
  const [keys, values] = [first, second].map((column) =>
    packedLists({ ...listsOf(column), valid }),
  ) as [ListColumn, ListColumn];
  checkSizes(keys, values, name, position);
  checkKeys(keys, elementType(types[0]), name, position);
  const parts = [keys.child, values.child];
  return { ...keys, child: structColumn(keys.child.length, null, (at) => parts[at]!) };
});

function bindMap(keys: Bound, values: Bound, { name, position }: FunctionCall): Bound {
  return call({
    name,
    type: mapTypeOf(elementType(keys.type), elementType(values.type)),
    arguments: [keys, values],
    kernel: mapKernel,
    position,
    fallible: true,
  });
}

const mapUsage = 'map(keys, values)';

const mapRow: FunctionRow = {
  usage: mapUsage,
  bind(made) {
    checkCount(mapUsage, made, 2, 2);
    return bindMap(listArgument(mapUsage, made, 0), listArgument(mapUsage, made, 1), made);
  },
};

const makeUsage = 'make_map(key, value, ...)';

const makeRow: FunctionRow = {
  usage: makeUsage,
  bind(made) {
    checkCount(makeUsage, made, 2, made.arguments.length % 2 === 0 ? Infinity : 1);
    const every = (from: 0 | 1): readonly Bound[] =>
      made.arguments.filter((_, at) => at % 2 === from);
    return bindMap(bindList(every(0), made.position), bindList(every(1), made.position), made);
  },
};

export const mapFunctions: Readonly<Record<string, FunctionRow>> = {
  map: mapRow,
  make_map: makeRow,
  map_keys: partRow('map_keys(map)', 'keys'),
  map_values: partRow('map_values(map)', 'values'),
  map_entries: entriesRow,
  map_extract: extractRow('map_extract(map, key)'),
  element_at: extractRow('element_at(map, key)'),
  map_contains_key: containsRow,
};
