import { randomUUID } from 'node:crypto';
import type { RemoteOptions } from './backend-options.ts';
import type { OnDisconnect } from './exchange.ts';
import { ExchangeFault } from './remote-error.ts';
import type { Forwarder } from './forwarder.ts';
import { credentialHeader, databaseHeader } from './remote-headers.ts';

/** Answer of a backend to a probe. */
export interface Probe {
  /** The status; or why the backend did not answer. */
  readonly status: number | string;
}

const ANSWER_BYTES = 64 * 1024;
/** A probe has no client. */
const always: OnDisconnect = () => () => undefined;

/**
 * Sends harmless requests that a backend should refuse, all about tables with random names.
 */
export class TrustProbe {
  readonly #options: RemoteOptions;
  readonly #forwarder: Forwarder;

  constructor(options: RemoteOptions, forwarder: Forwarder) {
    this.#options = options;
    this.#forwarder = forwarder;
  }

  /** With the body naming another table than the route: 400 where that is checked. */
  mismatch(): Promise<Probe> {
    const { route, body } = this.#names();
    return this.#send(route, { id: body }, this.#credential());
  }

  /** With the gateway's credential, and another in the body: 401 where the body's wins. */
  otherIdentity(): Promise<Probe> {
    const { route } = this.#names();
    return this.#send(route, { id: route, identity: identity() }, this.#credential());
  }

  /** With a made-up credential in the body alone: anything but a refusal means that the backend requires none. */
  bodyIdentity(): Promise<Probe> {
    const { route } = this.#names();
    return this.#send(route, { id: route, identity: identity() }, {});
  }

  #credential(): Readonly<Record<string, string>> {
    return credentialHeader(this.#options.credential);
  }

  #names(): { readonly route: readonly string[]; readonly body: readonly string[] } {
    const { namespaces, prefix } = this.#options;
    const segments = namespaces[0]?.segments ?? [];
    const open = segments.indexOf(null);
    const fixed = (open < 0 ? segments : segments.slice(0, open)).filter((each) => each !== null);
    const place = fixed.slice(prefix.length);
    const name = `arrowgate-probe-${randomUUID()}`;
    return { route: [...place, name], body: [...place, `${name}-other`] };
  }

  async #send(
    route: readonly string[],
    fields: object,
    credential: Readonly<Record<string, string>>,
  ): Promise<Probe> {
    const body = Buffer.from(JSON.stringify(fields));
    const headers = {
      ...credential,
      ...databaseHeader(this.#options),
      accept: 'application/json',
      'content-type': 'application/json',
      'content-length': String(body.byteLength),
      'user-agent': 'arrowgate-probe',
    };
    const path = `/v1/table/${encodeURIComponent(route.join('$'))}/describe`;
    try {
      const response = await this.#forwarder.send({ method: 'POST', path, headers, body }, always);
      await response.whole(ANSWER_BYTES);
      return { status: response.status };
    } catch (error) {
      return { status: error instanceof ExchangeFault ? error.message : 'broke off' };
    }
  }
}

function identity(): object {
  return { api_key: `probe-${randomUUID()}`, auth_token: `probe-${randomUUID()}` };
}
