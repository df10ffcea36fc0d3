import { Field, Struct } from 'apache-arrow';
import type { Bound, Kernel } from '../evaluate/bound.ts';
import { structColumn } from '../values/column.ts';
import { bindElement } from '../bind/element.ts';
import { SqlError } from '../values/sql-error.ts';
import { call } from '../evaluate/node.ts';
import { isComputable } from '../values/types.ts';
import { checkCount, wrongArgument, type FunctionCall, type FunctionRow } from './function-row.ts';

const structKernel: Kernel = (columns, { length }) =>
  structColumn(length, null, (at) => columns[at]!);

function structOf(
  usage: string,
  made: FunctionCall,
  fields: readonly (readonly [name: string, value: Bound])[],
): Bound {
  const other = fields.find(([, value]) => !isComputable(value.type));
  if (other !== undefined) {
    const at = made.arguments.indexOf(other[1]) + 1;
    throw wrongArgument(usage, 'a value that can be computed with', at, other[1]);
  }
  return call({
    name: made.name,
    type: new Struct(fields.map(([name, value]) => new Field(name, value.type, true))),
    arguments: fields.map(([, value]) => value),
    kernel: structKernel,
    position: made.position,
    fallible: false,
  });
}

const namedUsage = "named_struct('name', value, ...)";

/** The name of a field, which is a literal: the type of the result depends on it. */
function nameAt(made: FunctionCall, at: number): string {
  const argument = made.arguments[at]!;
  if (argument.kind === 'literal' && typeof argument.value === 'string' && argument.value !== '') {
    return argument.value;
  }
  throw wrongArgument(namedUsage, 'the name of a field in quotes', at + 1, argument);
}

function namedFields(made: FunctionCall): readonly (readonly [string, Bound])[] {
  const fields = new Map<string, Bound>();
  for (let at = 0; at < made.arguments.length; at += 2) {
    const name = nameAt(made, at);
    if (fields.has(name)) {
      const message = `expected fields of different names in named_struct, found '${name}' twice`;
      throw new SqlError('value', message, made.arguments[at]!.position);
    }
    fields.set(name, made.arguments[at + 1]!);
  }
  return [...fields];
}

const namedRow: FunctionRow = {
  usage: namedUsage,
  bind(made) {
    checkCount(namedUsage, made, 2, made.arguments.length % 2 === 0 ? Infinity : 1);
    return structOf(namedUsage, made, namedFields(made));
  },
};

function unnamedRow(usage: string): FunctionRow {
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, Infinity);
      return structOf(
        usage,
        made,
        made.arguments.map((value, at) => [`c${at}`, value]),
      );
    },
  };
}

const getUsage = "get_field(struct, 'name', ...)";

/** `get_field(s, 'a', 'b')` is `s['a']['b']`. */
const getRow: FunctionRow = {
  usage: getUsage,
  bind(made) {
    checkCount(getUsage, made, 2, Infinity);
    const [struct, ...names] = made.arguments;
    return names.reduce((operand, name) => bindElement(operand, name, made.position), struct);
  },
};

/** Functions that make structs and take fields out of them. */
export const structFunctions: Readonly<Record<string, FunctionRow>> = {
  named_struct: namedRow,
  struct: unnamedRow('struct(value, ...)'),
  row: unnamedRow('row(value, ...)'),
  get_field: getRow,
};
