import type { Answer, AnswerBody, Backend, CatalogRequest } from '../protocol/backend.ts';
import { isUnmeasured } from './message.ts';
import type { Answered, Recorded } from './steps.ts';

/**
 * Hands a request to the backend. What it answers counts once the attempt is
 * recorded, also where the backend did not read the body to its end. The first bytes of a streamed answer are
 * awaited, so that a failure before them is still answered as one.
 */
export async function forward(recorded: Recorded, backend: Backend): Promise<Answered> {
  const answer = await handled(recorded, backend);
  return { ...recorded, answer: { ...answer, body: await primed(answer.body) } };
}

/** An attempt that could not be recorded is what is told, whatever came of it. */
async function handled(recorded: Recorded, backend: Backend): Promise<Answer> {
  try {
    return await backend.handle(requestOf(recorded), recorded.permit);
  } finally {
    await recorded.body.released();
  }
}

function requestOf(recorded: Recorded): CatalogRequest {
  const { route, clientRequestId, trace } = recorded;
  return {
    operation: route.operation,
    dialect: route.dialect,
    object: route.object,
    ...(route.indexName === undefined ? {} : { indexName: route.indexName }),
    ...(route.target === undefined ? {} : { target: route.target }),
    delimiter: route.delimiter,
    method: recorded.incoming.method ?? '',
    parameters: route.parameters,
    query: route.query,
    headers: recorded.incoming.headers,
    context: recorded.context,
    requestId: recorded.requestId,
    ...(clientRequestId === undefined ? {} : { clientRequestId }),
    ...(trace === undefined ? {} : { traceparent: trace.traceparent }),
    signal: recorded.signal,
    ...(isUnmeasured(recorded.incoming) && { unmeasured: true }),
    body: recorded.body,
    ...(route.operation.staged === true && { ahead: recorded.body.ahead() }),
  };
}

async function primed(body: AnswerBody): Promise<AnswerBody> {
  if (body === null || typeof body === 'string') return body;
  const rest = body[Symbol.asyncIterator]();
  const first = await rest.next();
  return {
    [Symbol.asyncIterator]: () => startingWith(first, rest),
    sent: (piece) => body.sent?.(piece),
  };
}

function startingWith(
  first: IteratorResult<Uint8Array, unknown>,
  rest: AsyncIterator<Uint8Array, unknown>,
): AsyncIterator<Uint8Array, unknown> {
  let pending: IteratorResult<Uint8Array, unknown> | undefined = first;
  return {
    async next() {
      const taken = pending;
      pending = undefined;
      return taken ?? rest.next();
    },
    async return() {
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
}
