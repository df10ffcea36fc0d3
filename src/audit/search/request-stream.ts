import { endOfStream } from '../../arrow/ipc/framing.ts';
import { StreamWriter } from '../../arrow/ipc/stream-writer.ts';
import { batchOfRequests, requestSchema, type FoundRequest } from './search.ts';

/** The bytes behind the last requests of a stream. */
export const endOfRequests: Uint8Array = endOfStream;

/** Writes requests as an Arrow IPC stream: `begin`, any number of `requests`, then `endOfRequests`. */
export class RequestStream {
  readonly #writer = new StreamWriter(requestSchema);

  begin(): Uint8Array {
    return this.#writer.begin();
  }

  requests(found: readonly FoundRequest[]): Uint8Array {
    return found.length === 0 ? NOTHING : Buffer.concat(this.#writer.batch(batchOfRequests(found)));
  }
}

const NOTHING = new Uint8Array(0);
