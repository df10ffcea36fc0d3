import type { Answer, Backend, CatalogRequest } from '../../src/protocol/backend.ts';
import { RequestBudget, defaultBudget } from '../../src/protocol/budget.ts';
import { contextOf } from '../../src/protocol/context.ts';
import { parseJson, type JsonValue } from '../../src/protocol/json.ts';
import type { Permit } from '../../src/protocol/permit.ts';
import { matchRoute } from '../../src/protocol/route.ts';
import { anything } from './permit.ts';

/** What a test sends. */
export interface Sent {
  /** A text as it is, or a value as JSON; absent is no body. */
  readonly body?: string | Uint8Array | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly permit?: Permit;
  /** What the request may use; the default of the configuration when absent. */
  readonly budget?: RequestBudget;
  /** The id that the client gave the request. */
  readonly id?: string;
  readonly noteCanaries?: CatalogRequest['noteCanaries'];
}

/** A request as the gateway hands it to a backend. `line` is `POST /v1/table/t/describe`. */
export function requestOf(
  line: string,
  { body, headers = {}, id, budget = new RequestBudget(defaultBudget), noteCanaries }: Sent = {},
): CatalogRequest {
  const [method = '', target = ''] = line.split(' ');
  const match = matchRoute(method, target, headers['user-agent']);
  if (match.kind !== 'operation') throw new Error(`${line} is no operation`);
  return {
    ...match,
    headers,
    context: contextOf(headers),
    requestId: id ?? 'request-1',
    ...(id !== undefined && { clientRequestId: id }),
    ...(noteCanaries !== undefined && { noteCanaries }),
    signal: () => new AbortController().signal,
    budget,
    body: bytesOf(body),
  };
}

async function* bytesOf(body: Sent['body']): AsyncGenerator<Uint8Array> {
  if (body === undefined) return;
  if (body instanceof Uint8Array) yield body;
  else yield Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Sends a request to a backend and reads the answer's JSON. */
export async function ask(
  backend: Backend,
  line: string,
  sent: Sent = {},
): Promise<Answer & { readonly json: JsonValue }> {
  const answer = await backend.handle(requestOf(line, sent), sent.permit ?? anything());
  const json = typeof answer.body === 'string' ? parseJson(answer.body) : null;
  return { ...answer, json };
}

/** What the LanceDB client calls itself. */
export const lancedb = { 'user-agent': 'LanceDB-Node-Client/0.31.0' };
