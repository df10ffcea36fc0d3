import type { Answer, Backend, ByteStream, CatalogRequest } from '../../../protocol/backend.ts';
import type { Permit } from '../../../protocol/permit.ts';
import type { Lease, Running } from '../../versions/leases/running.ts';

/** A backend that answers at once where it has to wait for nothing. */
interface PromptBackend extends Backend {
  answer(request: CatalogRequest, permit: Permit): Answer | Promise<Answer>;
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
    const lease = this.#running.begin();
    let lasts = false;
    try {
      const made = this.#backend.answer(request, permit);
      const answer = made instanceof Promise ? await made : made;
      const { body } = answer;
      if (body === null || typeof body === 'string' || body.whole !== undefined) return answer;
      lasts = true;
      return { ...answer, body: untilSent(body, lease, request.signal()) };
    } finally {
      const ended = lasts ? undefined : lease.end();
      if (ended !== undefined) await ended;
    }
  }

  async health(): Promise<string | undefined> {
    return this.#backend.health();
  }

  async weakness(): Promise<string | undefined> {
    return this.#backend.weakness();
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
