import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import type { CatalogRequest } from '../../../protocol/backend.ts';
import type { Canary, Restrictions } from '../../../protocol/restrictions.ts';
import { LiteralSearch } from '../../../sql/literal-keys.ts';

/** Fields of a body whose texts are SQL. */
const SQL_FIELDS = ['filter', 'predicate', 'columns', 'updates'] as const;
/** Fields of a body whose texts are searched for. */
const SEARCH_FIELDS = ['full_text_query'] as const;

/**
 * Tells the gateway which canaries a request names, from the literals of its body: no expression of
 * the caller is evaluated. Also for a request that is refused later.
 * @returns Whether it names any.
 */
export function noteCanaries(
  { noteCanaries: note }: Pick<CatalogRequest, 'noteCanaries'>,
  { canaries = [] }: Restrictions,
  body: Readonly<Record<string, JsonValue>>,
): boolean {
  const named = canaries.length === 0 ? [] : namedCanaries(body, canaries);
  if (named.length > 0) note?.(named);
  return named.length > 0;
}

/** The canaries of which a body has a key. */
export function namedCanaries(
  body: Readonly<Record<string, JsonValue>>,
  canaries: readonly Canary[],
): readonly Canary[] {
  const search = new LiteralSearch(canaries.flatMap(({ keys }) => keys));
  // Explanations have the query in a field of its own.
  const { query } = body;
  for (const fields of isJsonObject(query) ? [body, query] : [body]) {
    for (const name of SQL_FIELDS) for (const text of textsIn(fields[name])) search.add(text);
    for (const name of SEARCH_FIELDS) {
      for (const text of textsIn(fields[name])) search.addSearched(text);
    }
  }
  return canaries.filter(({ keys }) => keys.some((key) => search.has(key)));
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
