import type { Operation } from '../operations/operation.ts';
import { queryParameters, type ParameterKind } from '../query-parameter.ts';

/** Meaning of the parameters of routes. */
const pathParameters: Readonly<Record<string, string>> = {
  id: 'The identifier: its parts joined by the delimiter, the root the delimiter alone.',
  index_name: 'The name of the index.',
  target: 'The new identifier of the table, in the spelling of the first one.',
  column: 'The column of the blob.',
  row_id: 'The row id of the blob.',
};

/** Headers that carry fields of a request. */
const headers: Readonly<Record<string, string>> = {
  'x-service-table-location': 'Where the new table lies.',
  'x-service-table-properties': 'Properties of the new table, as a JSON object of strings.',
  'x-lance-table-location': 'The older name of x-service-table-location.',
  'x-lance-table-properties': 'The older name of x-service-table-properties.',
  range: 'The requested bytes (RFC 9110).',
};

const kinds: Readonly<Record<ParameterKind, object>> = {
  text: { type: 'string' },
  choice: { type: 'string' },
  flag: { type: 'boolean' },
  count: { type: 'integer' },
  version: { type: 'integer', format: 'int64' },
  map: { type: 'string', contentMediaType: 'application/json' },
};

export function parametersOf(operation: Operation, path: string): object[] {
  return [
    ...templateNames(path).map(pathParameter),
    ...operation.query.map((name) => queryParameter(operation, name)),
    ...operation.headers.map(headerParameter),
  ];
}

/** The names in braces of a path template, in order. */
function templateNames(path: string): string[] {
  return [...path.matchAll(/\{(.+?)\}/g)].map((found) => found[1]!);
}

function pathParameter(name: string): object {
  const description = pathParameters[name];
  return { name, in: 'path', required: true, description, schema: { type: 'string' } };
}

function queryParameter(operation: Operation, name: string): object {
  const parameter = queryParameters[name];
  if (parameter === undefined) throw new TypeError(`there is no query parameter ${name}`);
  const schema = {
    ...schemaOf(operation, name, parameter.kind),
    ...parameter.bounds,
    ...(parameter.default === undefined ? {} : { default: parameter.default }),
  };
  return { name, in: 'query', required: false, description: parameter.description, schema };
}

function schemaOf(operation: Operation, name: string, kind: ParameterKind): object {
  const values = operation.choices[name];
  const schema = kind === 'choice' && values !== undefined ? choice(values) : kinds[kind];
  return operation.repeatable.includes(name) ? { type: 'array', items: schema } : schema;
}

function choice(values: readonly string[]): object {
  return { type: 'string', enum: values, default: values[0] };
}

function headerParameter(name: string): object {
  const schema = { type: 'string' };
  return { name, in: 'header', required: false, description: headers[name], schema };
}
