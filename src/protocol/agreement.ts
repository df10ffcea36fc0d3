import { isDeepStrictEqual } from 'node:util';
import type { CatalogRequest } from './backend.ts';
import { namedPath } from './database.ts';
import { CatalogError } from './errors.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import { normalMode } from './mode.ts';
import type { OperationName } from './operations/operation-name.ts';
import { namesObject } from './operations/operations.ts';
import { parameterKind, queryParameters, readParameter } from './query-parameter.ts';

/** The fields of the route and the query of a request. */
export type AgreementInput = Pick<
  CatalogRequest,
  'operation' | 'object' | 'indexName' | 'target' | 'root' | 'query'
>;

type Body = Record<string, JsonValue>;

/** Their query stands in the body itself or under `query`. */
const plans: ReadonlySet<OperationName> = new Set<OperationName>([
  'ExplainTableQueryPlan',
  'AnalyzeTableQueryPlan',
]);

/** A field that a request may say twice, in one spelling each. */
interface RepeatedField {
  readonly name: string;
  readonly once: JsonValue | undefined;
  readonly repeated: JsonValue | undefined;
  /** The body's default in canonical spelling; absent for a field without a default. */
  readonly byDefault?: JsonValue | undefined;
}

/**
 * Holds a JSON body against the route and the query: what both say must be the
 * same. Null and an empty id count as
 * absent. So does the default of a query parameter: generated clients write defaults into
 * each body, and what the query says explicitly wins.
 * A body that is a bare map says nothing of its own and is exempt.
 * @throws CatalogError InvalidInput naming the field that differs.
 */
export function checkAgreement(input: AgreementInput, body: Body): void {
  if (input.operation.body === 'map' || repeatsNothing(input, body)) return;
  const inner = plans.has(input.operation.name) ? body['query'] : undefined;
  const parts = isJsonObject(inner) ? [body, inner] : [body];
  const all = [
    ...parts.flatMap((part) => [...repeatedByRoute(input, part), ...repeatedByQuery(input, part)]),
    ...repeatedWithin(body, parts.at(-1)!),
  ];
  const bad = all.find((said) => !agrees(said));
  if (bad === undefined) return;
  throw new CatalogError(
    'InvalidInput',
    `the field ${JSON.stringify(bad.name)} of the body differs from what the request says elsewhere`,
  );
}

/** Whether a body has only fields that a request says once: most reads have. */
function repeatsNothing({ operation, query }: AgreementInput, body: Body): boolean {
  if (plans.has(operation.name)) return isEmptyBody(body);
  for (const name in body) if (Object.hasOwn(byRoute, name) || query.has(name)) return false;
  return true;
}

function isEmptyBody(body: Body): boolean {
  for (const _ in body) return false;
  return true;
}

/** Fields that a body has under two names, which the route says too, or both beside and inside a nested query. */
function repeatedWithin(body: Body, inner: Body): RepeatedField[] {
  return [
    { name: 'new_namespace', once: body['new_namespace_id'], repeated: body['new_namespace'] },
    {
      name: 'branch',
      once: inOneSpelling('branch', body['branch']),
      repeated: inOneSpelling('branch', inner['branch']),
    },
  ];
}

/** What the route says, by the field of a body that may say it too. */
const byRoute: Readonly<Record<string, (input: AgreementInput) => JsonValue | undefined>> = {
  id: (input) => (namesObject(input.operation) ? [...namedPath(input, input.object)] : undefined),
  index_name: ({ indexName }) => indexName,
  new_table_name: (input) => targetOf(input)?.at(-1),
  new_namespace_id: namespaceOf,
  new_namespace: namespaceOf,
};

function repeatedByRoute(input: AgreementInput, body: Body): RepeatedField[] {
  return Object.entries(byRoute).map(([name, once]) => ({
    name,
    once: once(input),
    repeated: body[name],
    byDefault: name === 'id' ? [] : undefined,
  }));
}

function targetOf(input: AgreementInput): readonly string[] | undefined {
  return input.target && namedPath(input, input.target);
}

function namespaceOf(input: AgreementInput): string[] | undefined {
  return targetOf(input)?.slice(0, -1);
}

function repeatedByQuery({ operation, query }: AgreementInput, body: Body): RepeatedField[] {
  return [...query].map(([name, values]) => {
    const spellings = values.map((value) => inOneSpelling(name, readParameter(name, value)));
    const given = body[name];
    const several = operation.repeatable.includes(name) && Array.isArray(given);
    const byDefault = queryParameters[name]?.default;
    return {
      name,
      once: several ? spellings : spellings[0],
      repeated: inOneSpelling(name, given),
      byDefault,
    };
  });
}

function inOneSpelling<Value extends JsonValue | undefined>(name: string, value: Value) {
  if (typeof value !== 'string') return value;
  if (name === 'branch') return mainIfEmpty(value);
  return parameterKind(name) === 'choice' ? normalMode(value) : value;
}

/** The main branch has two names. */
function mainIfEmpty(branch: string): string {
  return branch === '' ? 'main' : branch;
}

function agrees({ once, repeated, byDefault }: RepeatedField): boolean {
  if ((once ?? null) === null || (repeated ?? null) === null) return true;
  return isDeepStrictEqual(once, repeated) || isDeepStrictEqual(repeated, byDefault);
}
