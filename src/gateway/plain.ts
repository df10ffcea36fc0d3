import type { Answer } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';
import { openApiDocument } from '../protocol/openapi/openapi.ts';
import { admit } from './admit.ts';
import { encoded } from './http/content-coding.ts';
import type { Gateway } from './gateway.ts';
import { linger } from './http/linger.ts';
import { requireManage, readiness } from './readiness.ts';
import { METRICS_TYPE } from './telemetry/metrics.ts';
import { errorBody, headersFor } from './outcome.ts';
import { MethodRefused, targetPath } from './route.ts';
import { send } from './http/send.ts';
import type { Received } from './decision/steps.ts';

type Page = (gateway: Gateway, received: Received) => Promise<Answer> | Answer;

/** Pages outside of the protocol. */
const pages: ReadonlyMap<string, Page> = new Map<string, Page>([
  ['/healthz', () => json(200, { status: 'ok' })],
  ['/readyz', readiness],
  ['/metrics', managersMetrics],
  ['/openapi.json', (gateway) => json(200, openApiDocument(gateway.version))],
]);

/** Pages of the separate admin listener. */
const adminPages: ReadonlyMap<string, Page> = new Map<string, Page>([
  ['/healthz', () => json(200, { status: 'ok' })],
  ['/readyz', readiness],
  ['/metrics', metricsPage],
]);
/** Whether something beside the protocol is served at a path. */
export function isPage(path: string): boolean {
  return pages.has(path);
}

/** Answers a request that is not one to the protocol. */
export async function handlePlain(
  gateway: Gateway,
  received: Received,
  site: Site = 'all',
): Promise<void> {
  const served = site === 'all' ? pages : adminPages;
  await answerPlain(gateway, received, () => pageOf(gateway, received, served));
}

/** Answers with a page, or with the error that making it throws. Leaves no audit record. */
export async function answerPlain(
  gateway: Gateway,
  received: Received,
  page: () => Promise<Answer> | Answer,
): Promise<void> {
  const plain = await plainAnswer(gateway, received, page);
  const answer = await encoded(plain, received.incoming);
  linger(received.incoming, gateway.linger);
  const closing = received.body.waiting || gateway.drain.stopping;
  await send(received.response, answer, {
    'x-request-id': received.requestId,
    ...(closing ? { connection: 'close' } : {}),
  });
}

async function plainAnswer(
  gateway: Gateway,
  received: Received,
  page: () => Promise<Answer> | Answer,
): Promise<Answer> {
  try {
    admit(received, false);
    return await page();
  } catch (error) {
    if (error instanceof CatalogError) return errorAnswer(statusOf(error), error, received);
    gateway.log.error({ err: error, requestId: received.requestId }, 'internal error of a request');
    return errorAnswer(500, new CatalogError('Internal', 'internal error'), received);
  }
}

/** A path at which there is nothing. */
export class NoSuchPage extends CatalogError {
  constructor(path: string) {
    super('Unsupported', `there is nothing at ${path}`);
  }
}

function statusOf(error: CatalogError): number {
  if (error instanceof NoSuchPage) return 404;
  return error instanceof MethodRefused ? 405 : error.row.status;
}

function pageOf(
  gateway: Gateway,
  received: Received,
  served: ReadonlyMap<string, Page>,
): Promise<Answer> | Answer {
  const { method = '', url = '' } = received.incoming;
  const page = served.get(targetPath(url));
  if (page === undefined) throw new NoSuchPage(targetPath(url));
  if (method === 'GET' || method === 'HEAD') return page(gateway, received);
  const refused = refusal(405, `${method} is not a method of ${targetPath(url)}`, received);
  return { ...refused, headers: { allow: 'GET, HEAD' } };
}

async function managersMetrics(gateway: Gateway, received: Received): Promise<Answer> {
  await requireManage(gateway, received);
  return metricsPage(gateway);
}

async function metricsPage({ metrics }: Gateway): Promise<Answer> {
  if (metrics === undefined) throw new CatalogError('Unsupported', 'metrics are disabled');
  return { status: 200, contentType: METRICS_TYPE, body: await metrics.text() };
}

function refusal(status: number, sentence: string, received: Received): Answer {
  return errorAnswer(status, new CatalogError('Unsupported', sentence), received);
}

function errorAnswer(status: number, error: CatalogError, received: Received): Answer {
  return {
    status,
    contentType: 'application/json',
    headers: headersFor(error),
    body: errorBody(error, received.requestId),
  };
}

function json(status: number, value: object): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

/** Role of a listener: everything, or health and metrics only. */
export type Site = 'all' | 'admin';
