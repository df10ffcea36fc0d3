import type { Answer } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';
import { openApiDocument } from '../protocol/openapi.ts';
import { admit } from './admit.ts';
import type { Gateway } from './gateway.ts';
import { linger } from './linger.ts';
import { errorBody } from './outcome.ts';
import { readiness } from './readiness.ts';
import { pathOf } from './route.ts';
import { send } from './send.ts';
import type { Received } from './steps.ts';

type Page = (gateway: Gateway, received: Received) => Promise<Answer> | Answer;

/** What is served beside the protocol (contract section 3). */
const pages: ReadonlyMap<string, Page> = new Map<string, Page>([
  ['/healthz', () => json(200, { status: 'ok' })],
  ['/readyz', readiness],
  ['/openapi.json', (gateway) => json(200, openApiDocument(gateway.version))],
]);

/** Whether something beside the protocol is served at a path. */
export function isPage(path: string): boolean {
  return pages.has(path);
}

/** Answers a request that is not one to the protocol. */
export async function handlePlain(gateway: Gateway, received: Received): Promise<void> {
  const answer = await plainAnswer(gateway, received);
  linger(received.incoming, gateway.linger);
  const closing = received.body.waiting || gateway.drain.stopping;
  await send(received.response, answer, {
    'x-request-id': received.requestId,
    ...(closing ? { connection: 'close' } : {}),
  });
}

async function plainAnswer(gateway: Gateway, received: Received): Promise<Answer> {
  const { method = '', url = '' } = received.incoming;
  const page = pages.get(pathOf(url));
  if (page === undefined) return refusal(404, `there is nothing at ${pathOf(url)}`, received);
  if (method !== 'GET' && method !== 'HEAD') {
    const refused = refusal(405, `${method} is not a method of ${pathOf(url)}`, received);
    return { ...refused, headers: { allow: 'GET, HEAD' } };
  }
  return guarded(page, gateway, received);
}

async function guarded(page: Page, gateway: Gateway, received: Received): Promise<Answer> {
  try {
    admit(received, false);
    return await page(gateway, received);
  } catch (error) {
    if (error instanceof CatalogError) return errorAnswer(error.row.status, error, received);
    gateway.log.error({ err: error, requestId: received.requestId }, 'a request failed inside');
    return errorAnswer(500, new CatalogError('Internal', 'internal error'), received);
  }
}

function refusal(status: number, sentence: string, received: Received): Answer {
  return errorAnswer(status, new CatalogError('Unsupported', sentence), received);
}

function errorAnswer(status: number, error: CatalogError, received: Received): Answer {
  return { status, contentType: 'application/json', body: errorBody(error, received.requestId) };
}

function json(status: number, value: object): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}
