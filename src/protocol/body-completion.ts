import type { AgreementInput } from './agreement.ts';
import { namedPath } from './database.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import type { OperationName } from './operations/operation-name.ts';
import { readParameter } from './query-parameter.ts';

type Body = Record<string, JsonValue>;

/**
 * A JSON body in the shape of its model, with what the route and the query say where
 * the body is silent or has a default. It is made
 * before the model is checked and after `checkAgreement`; a bare map stays as it is.
 */
export function completeBody(input: AgreementInput, body: Body): Body {
  if (input.operation.body === 'map') return body;
  if (isSilent(input, body)) return body;
  const shaped = shapes[input.operation.name]?.(body) ?? body;
  // They agree, or the body has a default: the explicit value wins.
  return { ...withoutNulls(shaped), ...fieldsOutsideBody(input) };
}

/** Whether neither route nor query sets a field, as in most reads. */
function isSilent({ indexName, target, query }: AgreementInput, body: Body): boolean {
  for (const _ in body) return false;
  return query.size === 0 && indexName === undefined && target === undefined;
}

function fieldsOutsideBody(input: AgreementInput): Body {
  const { operation, indexName, query } = input;
  const target = input.target && namedPath(input, input.target);
  const said: Body = {};
  for (const [name, values] of query) {
    if (name === 'delimiter') continue;
    const read = values.map((value) => readParameter(name, value));
    said[name] = operation.repeatable.includes(name) ? read : read[0]!;
  }
  if (indexName !== undefined) said['index_name'] = indexName;
  if (target !== undefined) {
    said['new_table_name'] = target.at(-1)!;
    said['new_namespace_id'] = target.slice(0, -1);
  }
  return said;
}

/** Null in the body counts as absent: it must not hide the value of the route. */
function withoutNulls(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

/** Bodies that clients send in two shapes. */
const shapes: Readonly<Partial<Record<OperationName, (body: Body) => Body>>> = {
  ExplainTableQueryPlan: nestQuery,
  AnalyzeTableQueryPlan: flattenQuery,
  RenameTable: nameNamespace,
  DescribeTable: nameColumns,
};

/**
 * LanceDB asks for the columns of an open table by a null version; it opens a table without a body. Null would
 * count as absent.
 */
function nameColumns(body: Body): Body {
  return body['version'] === null ? { ...body, needs_columns: true } : body;
}

const ofRequest: ReadonlySet<string> = new Set(['identity', 'context', 'id', 'verbose']);

/** Moves a query that is the body itself under `query`. An empty body has none and is refused. */
function nestQuery(body: Body): Body {
  if (Object.hasOwn(body, 'query')) return body;
  const entries = Object.entries(body);
  const others = Object.fromEntries(entries.filter(([name]) => ofRequest.has(name)));
  const query = Object.fromEntries(entries.filter(([name]) => !ofRequest.has(name)));
  const isUnchanged = Object.keys(query).every((name) => name === 'branch');
  return isUnchanged ? body : { ...others, query };
}

/** Replaces the body by its member `query`; members beside it win. */
function flattenQuery(body: Body): Body {
  const { query, ...others } = body;
  return isJsonObject(query) ? { ...query, ...others } : body;
}

/** LanceDB calls the namespace of a new name `new_namespace`. */
function nameNamespace(body: Body): Body {
  const { new_namespace: namespace, ...others } = body;
  return namespace === undefined || namespace === null
    ? body
    : { new_namespace_id: namespace, ...withoutNulls(others) };
}
