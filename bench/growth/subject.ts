import type { Service } from '../../test/support/service.ts';

/** A request that must be answered with 200. */
export interface PlainRequest {
  readonly route: string;
  readonly body: Uint8Array | object;
  /** The administrator's unless given. */
  readonly key?: string;
}

/** A service whose catalog has a size, and the requests that are timed. */
export class Subject {
  readonly service: Service;
  readonly size: number;
  /** Requests by name, for the how-many-th time. */
  readonly requests: Readonly<Record<string, (time: number) => PlainRequest>>;
  readonly #adminKey: string;

  constructor(service: Service, size: number, adminKey: string, requests: Subject['requests']) {
    this.service = service;
    this.size = size;
    this.#adminKey = adminKey;
    this.requests = requests;
  }

  /** Sends a request by its name. @throws Error unless it is answered with 200. */
  async request(name: string, time: number): Promise<void> {
    const make = this.requests[name];
    if (make === undefined) throw new Error(`there is no request ${name}`);
    await sendPlain(this.service.url, { key: this.#adminKey, ...make(time) });
  }
}

/** Sends a request. @throws Error unless it is answered with 200. */
export async function sendPlain(
  url: string,
  { route, body, key = '' }: PlainRequest,
): Promise<void> {
  const binary = body instanceof Uint8Array;
  const response = await fetch(`${url}${route}`, {
    method: 'POST',
    headers: {
      'x-api-key': key,
      'content-type': binary ? 'application/vnd.apache.arrow.stream' : 'application/json',
    },
    body: binary ? new Uint8Array(body) : JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${route}: ${response.status} ${text}`);
}
