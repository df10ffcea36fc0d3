import type { Answer, Backend, ByteStream, CatalogRequest } from '../../../protocol/backend.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import type { Permit } from '../../../protocol/permit.ts';
import type { Lease, Running } from '../../versions/leases/running.ts';

/** A backend that answers at once where it has to wait for nothing. */
interface PromptBackend extends Backend {
  answer(request: CatalogRequest, permit: Permit): MaybePromise<Answer>;
}

/** A backend whose requests count as in progress until their answers are sent or dropped. */
export class LeasedBackend implements Backend {
  readonly #backend: PromptBackend;
  readonly #running: Running;

  constructor(backend: PromptBackend, running: Running) {
    this.#backend = backend;
    this.#running = running;
  }

  get name(): string {
    return this.#backend.name;
  }

  async handle(request: CatalogRequest, permit: Permit): Promise<Answer> {
    return this.answer(request, permit);
  }

  answer(request: CatalogRequest, permit: Permit): MaybePromise<Answer> {
    const lease = this.#running.begin();
    let made: MaybePromise<Answer>;
    try {
      made = this.#backend.answer(request, permit);
    } catch (error) {
      made = Promise.reject(error);
    }
    if (made instanceof Promise || streamOf(made) !== undefined)
      return leased(made, lease, request);
    const ended = lease.end();
    return ended === undefined ? made : ended.then(() => made);
  }

  async health(): Promise<string | undefined> {
    return this.#backend.health();
  }

  async weakness(): Promise<string | undefined> {
    return this.#backend.weakness();
  }
}

/** The body of an answer that is sent piece by piece. */
function streamOf({ body }: Answer): ByteStream | undefined {
  return body === null || typeof body === 'string' || body.whole !== undefined ? undefined : body;
}

async function leased(
  made: MaybePromise<Answer>,
  lease: Lease,
  request: CatalogRequest,
): Promise<Answer> {
  let lasts = false;
  try {
    const answer = await made;
    const body = streamOf(answer);
    if (body === undefined) return answer;
    lasts = true;
    return { ...answer, body: untilSent(body, lease, request.signal()) };
  } finally {
    const ended = lasts ? undefined : lease.end();
    if (ended !== undefined) await ended;
  }
}

/** The same bytes; the lease ends with them, or when the request is given up. */
function untilSent(body: ByteStream, lease: Lease, signal: AbortSignal): ByteStream {
  const end = (): void => {
    signal.removeEventListener('abort', end);
    void lease.end();
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return {
    [Symbol.asyncIterator]: () => ending(body[Symbol.asyncIterator](), end),
    sent: (piece) => body.sent?.(piece),
    stalled: () => body.stalled?.(),
    length: body.length,
  };
}

/** No generator: one that was never begun would not notice that it is closed. */
function ending(bytes: AsyncIterator<Uint8Array>, end: () => void): AsyncIterator<Uint8Array> {
  return {
    next: async () => {
      try {
        const next = await bytes.next();
        if (next.done === true) end();
        return next;
      } catch (error) {
        end();
        throw error;
      }
    },
    return: async () => {
      try {
        await bytes.return?.();
      } finally {
        end();
      }
      return { done: true, value: undefined };
    },
  };
}
