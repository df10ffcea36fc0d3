import { boolType, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import {
  isValid,
  newStates,
  statesColumn,
  truth,
  type BytesColumn,
  type Column,
} from '../values/column.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import {
  compactJson,
  jsonElements,
  jsonPart,
  parseJsonPath,
  textOfJson,
  type JsonStep,
} from '../values/json-text.ts';
import { maxJsonSteps } from '../values/limits.ts';
import { hold, room, spend } from '../values/meter.ts';
import { float64Type, int64Type, textType } from '../cast/literals.ts';
import { allValid, buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { plainFunction, type FunctionRow } from './function-row.ts';

/** The path to a member, or to an element of an array. */
type Steps = (key: string, json: string, call: KernelCall) => readonly JsonStep[];

const byKey: Steps = (key, json) => {
  const isPlace = /^\s*\[/.test(json) && /^\d{1,9}$/.test(key);
  return [isPlace ? Number(key) : key];
};

const byPath: Steps = (path, _, { name, position }) => {
  const steps = parseJsonPath(path);
  if (steps === undefined) {
    const message = `expected a path such as $.a.b[0] in ${name}, found '${excerpt(path)}'`;
    throw new SqlError('value', message, position);
  }
  if (steps.length > maxJsonSteps) {
    const message = `expected at most ${maxJsonSteps} steps in a path of ${name}, found ${steps.length}`;
    throw new SqlError('limit', message, position);
  }
  return steps;
};

/** Most paths are the same for all rows. */
function rememberedPath(read: Steps): Steps {
  if (read === byKey) return read;
  let last: { readonly path: string; readonly steps: readonly JsonStep[] } | undefined;
  return (path, json, call) => {
    if (last?.path !== path) last = { path, steps: read(path, json, call) };
    return last.steps;
  };
}

function wrong(call: KernelCall, expected: string, found: string): SqlError {
  const message = `expected ${expected} in ${call.name}, found '${excerpt(found)}'`;
  return new SqlError('value', message, call.position);
}

/** The part of each row's JSON that a key or a path leads to; undefined where there is none. */
function partsIn(
  [column, way]: readonly Column[],
  call: KernelCall,
  read: Steps,
): (string | undefined)[] {
  const [texts, ways] = [textColumnOf(column!), textColumnOf(way!)];
  const valid = allValid([texts, ways]);
  const stepsOf = rememberedPath(read);
  return Array.from({ length: call.length }, (_, row) =>
    valid === null || valid[row] === 1 ? partAt(texts, ways, row, call, stepsOf) : undefined,
  );
}

function partAt(
  texts: BytesColumn,
  ways: BytesColumn,
  row: number,
  call: KernelCall,
  stepsOf: Steps,
): string | undefined {
  const json = textAt(texts, row);
  room(json.length * 24);
  hold(json.length);
  const found = jsonPart(json, stepsOf(textAt(ways, row), json, call));
  if (found === null) throw wrong(call, 'JSON', json);
  return found;
}

function present(values: readonly unknown[]): Uint8Array {
  return Uint8Array.from(values, (value) => (value === undefined ? 0 : 1));
}

function textsOf(values: readonly (string | undefined)[], { position }: KernelCall): Column {
  return buildTexts(values.length, present(values), position, (row) => values[row]!);
}

function partRow(name: string, way: string, stepsOf: Steps): FunctionRow {
  const kernel: Kernel = (columns, call) =>
    textsOf(
      partsIn(columns, call, stepsOf).map((part) =>
        part === undefined ? undefined : compactJson(part),
      ),
      call,
    );
  return plainFunction({
    usage: `${name}(json, ${way})`,
    parameters: ['text', 'text'],
    result: textType,
    kernel,
    fallible: true,
  });
}

/** A member as an SQL value; JSON null is SQL null. */
function members<Value>(
  columns: readonly Column[],
  call: KernelCall,
  expected: string,
  read: (json: string) => Value | undefined,
): (Value | undefined)[] {
  return partsIn(columns, call, byKey).map((json) => {
    if (json === undefined || json === 'null') return undefined;
    const value = read(json);
    if (value === undefined) throw wrong(call, expected, json);
    return value;
  });
}

function isNested(json: string): boolean {
  return json.startsWith('{') || json.startsWith('[');
}

function readText(json: string): string | undefined {
  if (isNested(json)) return undefined;
  return json.startsWith('"') ? textOfJson(json) : json;
}

/** Rounded to the nearest, halves away from zero. */
function readFloat(json: string): number | undefined {
  const written = readText(json);
  if (written === 'true' || written === 'false') return written === 'true' ? 1 : 0;
  const isNumber = written !== undefined && /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(written);
  return isNumber ? Number(written) : undefined;
}

function readInteger(json: string): bigint | undefined {
  const written = readText(json) ?? '';
  if (/^[+-]?\d{1,40}$/.test(written)) {
    const value = BigInt(written.replace('+', ''));
    return BigInt.asIntN(64, value) === value ? value : undefined;
  }
  const float = json.startsWith('"') ? undefined : readFloat(json);
  const rounded = Math.sign(float ?? 0) * Math.round(Math.abs(float ?? 0));
  return float === undefined || !(Math.abs(rounded) < 2 ** 63) ? undefined : BigInt(rounded);
}

function readBoolean(json: string): boolean | undefined {
  const written = (readText(json) ?? '').toLowerCase();
  return written === 'true' ? true : written === 'false' ? false : undefined;
}

function truths(values: readonly (boolean | undefined)[]): Column {
  const states = newStates(values.length);
  values.forEach((value, row) => {
    states[row] = value === undefined ? truth.unknown : value ? truth.true : truth.false;
  });
  return statesColumn(states);
}

function integers(values: readonly (bigint | undefined)[]): Column {
  const { length } = values;
  const filled = BigInt64Array.from(values, (value) => value ?? 0n);
  return { kind: 'bigint', length, values: filled, valid: present(values) };
}

function memberRow(name: string, result: typeof textType, kernel: Kernel): FunctionRow {
  return plainFunction({
    usage: `${name}(json, 'key')`,
    parameters: ['text', 'text'],
    result,
    kernel,
    fallible: true,
  });
}

const stringRow = memberRow('json_get_string', textType, (columns, call) =>
  textsOf(members(columns, call, 'a string', readText), call),
);

const intRow = memberRow('json_get_int', int64Type, (columns, call) =>
  integers(members(columns, call, 'an integer', readInteger)),
);

const floatRow = memberRow('json_get_float', float64Type, (columns, call) => {
  const values = members(columns, call, 'a number', readFloat);
  const filled = Float64Array.from(values, (value) => value ?? 0);
  return { kind: 'number', length: filled.length, values: filled, valid: present(values) };
});

const boolRow = memberRow('json_get_bool', boolType, (columns, call) =>
  truths(members(columns, call, 'true or false', readBoolean)),
);

/** Whether rows have JSON and a path. */
function allPresent(columns: readonly Column[], row: number): boolean {
  return columns.every((column) => isValid(column, row));
}

const existsRow = plainFunction({
  usage: "json_exists(json, 'path')",
  parameters: ['text', 'text'],
  result: boolType,
  kernel: (columns, call) =>
    truths(
      partsIn(columns, call, byPath).map((part, row) =>
        allPresent(columns, row) ? part !== undefined : undefined,
      ),
    ),
  fallible: true,
});

const lengthRow = plainFunction({
  usage: "json_array_length(json, 'path')",
  parameters: ['text', 'text'],
  result: int64Type,
  kernel: (columns, call) =>
    integers(
      partsIn(columns, call, byPath).map((part) =>
        part === undefined ? undefined : BigInt(jsonElements(part)?.length ?? 0),
      ),
    ),
  fallible: true,
});

const containsRow = plainFunction({
  usage: "json_array_contains(json, 'path', value)",
  parameters: ['text', 'text', 'text'],
  result: boolType,
  kernel: (columns, call) => {
    const values = textColumnOf(columns[2]!);
    const parts = partsIn(columns, call, byPath);
    return truths(
      parts.map((part, row) => {
        if (!allPresent(columns, row)) return undefined;
        const value = textAt(values, row);
        const elements = part === undefined ? [] : (jsonElements(part) ?? []);
        spend(elements.length * 16);
        return elements.some((each) => compactJson(each) === value || readText(each) === value);
      }),
    );
  },
  fallible: true,
});

/** Functions of texts that hold JSON. */
export const jsonFunctions: Readonly<Record<string, FunctionRow>> = {
  json_extract: partRow('json_extract', "'path'", byPath),
  json_get: partRow('json_get', "'key'", byKey),
  json_get_string: stringRow,
  json_get_int: intRow,
  json_get_float: floatRow,
  json_get_bool: boolRow,
  json_exists: existsRow,
  json_array_length: lengthRow,
  json_array_contains: containsRow,
};
