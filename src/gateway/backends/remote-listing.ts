import { checkAgreement } from '../../protocol/agreement.ts';
import type { Answer, CatalogRequest } from '../../protocol/backend.ts';
import { completeBody } from '../../protocol/body-completion.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { checkPath, joinIdentifier, type ObjectPath } from '../../protocol/identifier.ts';
import { isJsonObject, stringifyJson, type JsonValue } from '../../protocol/json.ts';
import { operations } from '../../protocol/operations/operations.ts';
import type { Permit, VisibleNames } from '../../protocol/permit.ts';
import { readParameter } from '../../protocol/query-parameter.ts';
import { BackendUnavailable } from './remote-error.ts';
import { jsonOf } from './remote-answer.ts';

/** Minimum and maximum page size of requests to a backend. */
const LEAST_NAMES = 100;
const MOST_NAMES = 1000;
/** Maximum number of pages that one listing asks a backend for. */
const MOST_PAGES = 1000;
/** Maximum size of one page of a backend, in bytes. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Between the names of an identifier in the listing of all tables. */
const DELIMITER = '$';
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Headers of the last answer of the backend that the client gets; others may tell of hidden names. */
const KEPT_HEADERS = ['phalanx-version'];

/** Kind of a backend's page tokens, as observed. */
export interface PageTokens {
  kind: 'names' | 'opaque' | undefined;
}

/** Dependencies of a listing on its backend. */
interface ListedBackend {
  readonly name: string;
  /** Maximum number of names on one page. */
  readonly page: number;
  /** Learned from one listing for the next. */
  readonly tokens: PageTokens;
  /** Sends a request that has no body. */
  readonly send: (request: CatalogRequest) => Promise<Answer>;
}

/**
 * A listing with its parameters in the query. They may stand in a body, which is read
 * here and not forwarded, since not every server of the protocol reads it.
 * @throws CatalogError InvalidInput for a body that differs from the route or the query.
 */
export function withoutBody(request: CatalogRequest, body: JsonValue | undefined): CatalogRequest {
  if (body === undefined) return { ...request, method: 'GET' };
  if (!isJsonObject(body)) throw new CatalogError('InvalidInput', 'the body must be a JSON object');
  checkAgreement(request, body);
  const query = new Map(request.query);
  for (const [name, value] of Object.entries(completeBody(request, body))) {
    if (request.operation.query.includes(name) && typeof value !== 'object') {
      query.set(name, [String(value)]);
    }
  }
  return { ...request, method: 'GET', query };
}

/**
 * The listing that a LanceDB client means by `GET /v1/table/`: the tables of the root. All
 * other servers read that route as the listing of all tables.
 */
export function rootListing(request: CatalogRequest): CatalogRequest {
  const isRoot = request.operation.name === 'ListAllTables' && request.dialect === 'lancedb';
  return isRoot ? { ...request, operation: operations.ListTables } : request;
}

/**
 * A page of a backend's names that the caller may see, in the order of their bytes and
 * filled from further pages of the backend, as the embedded engine lists. Its token is the
 * last name on it. Refusals of the backend pass unchanged.
 * @throws BackendUnavailable when the backend answers no listing; CatalogError Unsupported when it
 * has too many pages.
 */
export async function visibleListing(
  request: CatalogRequest,
  permit: Permit,
  backend: ListedBackend,
): Promise<Answer> {
  const listing = new Listing(rootListing(request), permit, backend);
  if (!permit.sees(request.object, 'namespace')) return listing.answer([], undefined);
  try {
    return await listing.page();
  } catch (error) {
    if (error instanceof Refused) return error.answer;
    throw error;
  }
}

/** Thrown inside of this file alone, with the refusal of a backend. */
class Refused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`the backend answered ${answer.status}`);
    this.answer = answer;
  }
}

/** A page as a backend answers it. */
interface BackendPage {
  readonly names: readonly string[];
  readonly token: string | undefined;
}

class Listing {
  readonly #request: CatalogRequest;
  readonly #permit: Permit;
  readonly #backend: ListedBackend;
  readonly #member: 'namespaces' | 'tables';
  readonly #limit: number;
  readonly #after: string;
  #pages = 0;
  #headers: Answer['headers'];

  constructor(request: CatalogRequest, permit: Permit, backend: ListedBackend) {
    const { query } = request;
    const limit = Number(readParameter('limit', query.get('limit')?.[0] ?? '-1'));
    this.#request = request;
    this.#permit = permit;
    this.#backend = backend;
    this.#member = request.operation.name === 'ListNamespaces' ? 'namespaces' : 'tables';
    // Below zero is no limit, as everywhere.
    this.#limit = limit < 0 ? backend.page : Math.min(limit, backend.page);
    this.#after = query.get('page_token')?.[0] ?? '';
    if (LONE_SURROGATE.test(this.#after)) {
      throw new CatalogError('InvalidInput', 'page_token is not valid Unicode');
    }
  }

  get #tokens(): PageTokens {
    return this.#backend.tokens;
  }

  async page(): Promise<Answer> {
    const found = this.#ordersAlike ? await this.#inOrder() : undefined;
    const names = found ?? (await this.#sorted());
    const isMore = names.length > this.#limit;
    const shown = names.slice(0, this.#limit);
    return this.answer(shown, isMore ? shown.at(-1) : undefined);
  }

  answer(names: readonly string[], token: string | undefined): Answer {
    const page = token === undefined ? {} : { page_token: token };
    return {
      status: 200,
      contentType: 'application/json',
      ...(this.#headers !== undefined && { headers: this.#headers }),
      body: stringifyJson({ [this.#member]: names, ...page }),
    };
  }

  /** Whether the names of the backend have the order of the names that the client gets. */
  get #ordersAlike(): boolean {
    const { operation, delimiter } = this.#request;
    return operation.name !== 'ListAllTables' || delimiter === DELIMITER;
  }

  /**
   * Names in the order of the backend, at most one more than the page holds.
   * Undefined where the backend has another order, or tokens that are no names.
   */
  async #inOrder(): Promise<readonly string[] | undefined> {
    if (this.#tokens.kind === 'opaque') return undefined;
    const found: string[] = [];
    // The first page shows the kind of the tokens.
    let cursor = this.#tokens.kind === 'names' ? this.#after : '';
    for (;;) {
      const page = await this.#fetchPage(cursor);
      const fresh = page.names.filter((name) => compare(name, cursor) > 0);
      if (!isOrdered(page, fresh)) {
        this.#tokens.kind = 'opaque';
        return undefined;
      }
      found.push(...this.#show(fresh));
      const next = this.#nextCursor(page);
      if (next === undefined || fresh.length === 0 || found.length > this.#limit) return found;
      this.#tokens.kind = 'names';
      cursor = compare(next, this.#after) < 0 ? this.#after : next;
    }
  }

  /** The first visible names beyond the start, one more than the page holds, of all pages of the backend. */
  async #sorted(): Promise<readonly string[]> {
    let found: readonly string[] = [];
    let cursor = '';
    for (;;) {
      const page = await this.#fetchPage(cursor);
      const names = new Set([...found, ...this.#show(page.names)]);
      found = [...names].sort(compare).slice(0, this.#limit + 1);
      const next = this.#nextCursor(page);
      if (next === undefined || next === cursor) return found;
      cursor = next;
    }
  }

  /** Token of the next page; undefined after the last. Some servers answer a full page without a token. */
  #nextCursor({ names, token }: BackendPage): string | undefined {
    return token ?? (names.length < this.#batch ? undefined : names.at(-1));
  }

  /** The names among these that the caller may see and that lie beyond the start. */
  #show(names: readonly string[]): VisibleNames {
    const entries = names.flatMap((name) => this.#entry(name) ?? []);
    const kind = this.#member === 'namespaces' ? 'namespace' : 'table';
    return this.#permit.show(
      entries.filter(({ name }) => compare(name, this.#after) > 0),
      ({ path }) => path,
      kind,
      ({ name }) => name,
    );
  }

  /** Undefined for a name that no route could say: what it means to the backend is not known. */
  #entry(name: string): { readonly name: string; readonly path: ObjectPath } | undefined {
    const { operation, object, delimiter } = this.#request;
    const all = operation.name === 'ListAllTables';
    const segments = all ? name.split(DELIMITER) : [name];
    const path = [...object, ...segments];
    if (!all && name.includes(DELIMITER)) return undefined;
    if (!isPath(path)) return undefined;
    return { name: all ? joinIdentifier(segments, delimiter) : name, path };
  }

  get #batch(): number {
    return Math.min(Math.max(this.#limit + 1, LEAST_NAMES), MOST_NAMES);
  }

  async #fetchPage(cursor: string): Promise<BackendPage> {
    const { name } = this.#backend;
    this.#pages += 1;
    if (this.#pages > MOST_PAGES) {
      throw new CatalogError(
        'Unsupported',
        `the backend ${name} has more than ${MOST_PAGES} pages of names to filter; list a namespace below it`,
      );
    }
    const query = new Map(this.#request.query);
    query.set('limit', [String(this.#batch)]);
    query.delete('page_token');
    if (cursor !== '') query.set('page_token', [cursor]);
    const pageRequest = { ...this.#request, method: 'GET', delimiter: DELIMITER, query };
    const answer = await this.#backend.send(pageRequest);
    if (answer.status !== 200) throw new Refused(answer);
    const page = pageOf(await jsonOf(answer, PAGE_BYTES), this.#member);
    if (page === undefined) {
      throw new BackendUnavailable(
        `the backend ${name} answered a listing that cannot be parsed, so it cannot be filtered`,
      );
    }
    this.#headers = forwardedHeaders(answer.headers);
    return page;
  }
}

function pageOf(
  value: JsonValue | undefined,
  member: 'namespaces' | 'tables',
): BackendPage | undefined {
  const names = isJsonObject(value) ? value[member] : undefined;
  if (!isJsonObject(value) || !Array.isArray(names)) return undefined;
  const { page_token: token } = value;
  const texts = names.filter((name) => typeof name === 'string');
  if (texts.length < names.length) return undefined;
  return { names: texts, token: typeof token === 'string' && token !== '' ? token : undefined };
}

/** Whether a page is one of names in the order of their bytes, whose token is the last of them. */
function isOrdered({ names, token }: BackendPage, fresh: readonly string[]): boolean {
  if (fresh.length > 0 && fresh.length < names.length) return false;
  if (token !== undefined && token !== names.at(-1)) return false;
  return names.every((name, at) => at === 0 || compare(names[at - 1]!, name) < 0);
}

function forwardedHeaders(headers: Answer['headers']): Answer['headers'] {
  const retained = KEPT_HEADERS.flatMap((name) => {
    const value = headers?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return retained.length === 0 ? undefined : Object.fromEntries(retained);
}

function isPath(path: ObjectPath): boolean {
  try {
    checkPath(path);
    return true;
  } catch (error) {
    if (error instanceof CatalogError) return false;
    throw error;
  }
}

/** By the bytes of UTF-8. */
function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
