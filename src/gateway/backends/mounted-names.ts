import type { Answer, CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { isJsonObject, parseJson, stringifyJson, type JsonValue } from '../../protocol/json.ts';
import type { Permit } from '../../protocol/permit.ts';

/**
 * Adds to a page of a namespace's children those that other backends serve,
 * each where it belongs: names come bytewise, and a token is the last name.
 * An answer that is no such page is left as it is.
 * @param mounted The names of those children.
 */
export function withMounted(
  answer: Answer,
  request: CatalogRequest,
  permit: Permit,
  mounted: readonly string[],
): Answer {
  const { object } = request;
  const visible = mounted.filter((name) => permit.sees([...object, name], 'namespace'));
  const page = visible.length === 0 ? undefined : pageOf(answer);
  if (page === undefined) return answer;
  const merged = merge(page, visible, request);
  const { page_token: _, ...rest } = page.fields;
  const token = merged.token === undefined ? {} : { page_token: merged.token };
  return { ...answer, body: stringifyJson({ ...rest, namespaces: merged.names, ...token }) };
}

interface Page {
  readonly fields: { readonly [key: string]: JsonValue };
  readonly names: readonly string[];
  readonly token: string | undefined;
}

function pageOf({ status, body }: Answer): Page | undefined {
  const fields = status === 200 && typeof body === 'string' ? parsed(body) : undefined;
  if (!isJsonObject(fields)) return undefined;
  const { namespaces, page_token: token } = fields;
  if (!Array.isArray(namespaces)) return undefined;
  const names = namespaces.filter((name) => typeof name === 'string');
  return { fields, names, token: typeof token === 'string' ? token : undefined };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}

function merge(
  { names, token }: Page,
  mounted: readonly string[],
  { query }: CatalogRequest,
): { readonly names: readonly string[]; readonly token: string | undefined } {
  const after = query.get('page_token')?.[0] ?? '';
  const fits = (name: string): boolean =>
    !names.includes(name) &&
    compare(name, after) > 0 &&
    (token === undefined || compare(name, names.at(-1) ?? token) < 0);
  const all = [...names, ...mounted.filter(fits)].sort(compare);
  const requested = Number(query.get('limit')?.[0] ?? Infinity);
  // Below zero is no limit, as everywhere.
  const limit = requested < 0 ? Infinity : requested;
  if (all.length <= limit) return { names: all, token };
  const shown = all.slice(0, limit);
  return { names: shown, token: shown.at(-1) };
}

function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** The child names of a namespace that the fixed segments of a pattern lead to. */
export function listedNames(
  namespace: ObjectPath,
  mounts: readonly ObjectPath[],
): readonly string[] {
  const names = mounts
    .filter((mount) => mount.length > namespace.length)
    .filter((mount) => namespace.every((segment, at) => segment === mount[at]))
    .map((mount) => mount[namespace.length]!);
  return [...new Set(names)];
}
