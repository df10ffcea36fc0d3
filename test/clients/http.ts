import { ADMIN_KEY, type Service } from '../support/service.ts';

/** What an HTTP request is answered with. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON of the body; undefined when it is empty. */
  readonly body: unknown;
}

export interface Ask {
  readonly method?: string;
  /** The administrator's when absent; none when null. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A request as no client library of the protocol makes it. */
export async function send({ url }: Service, path: string, ask: Ask = {}): Promise<Reply> {
  const { method = 'POST', key = ADMIN_KEY, headers = {}, body } = ask;
  const response = await fetch(url + path, {
    method,
    headers: { ...(key === null ? {} : { 'x-api-key': key }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}
