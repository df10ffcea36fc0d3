import type { Readable } from 'node:stream';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { StorageRefused } from '../storage-error.ts';

type Handler = S3Client['config']['requestHandler'];
type WireRequest = Parameters<Handler['handle']>[0];
type Signer = Awaited<ReturnType<S3Client['config']['signer']>>;
type AuthScheme = NonNullable<Parameters<S3Client['config']['signer']>[0]>;

/** A request about one object. */
interface ObjectRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly key: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** A successful answer. Its body must be read to the end, so that the connection can be used again. */
interface ObjectAnswer {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** How requests for objects of a bucket are addressed and signed. */
interface Route {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  /** What the path of each object begins with, with the slash at its end. */
  readonly base: string;
  readonly signer: Signer;
}

/** Key of an object that is never requested. */
const EXAMPLE = 'key';
/** Most characters of an error that are read. */
const ERROR_LENGTH = 4096;

/**
 * Requests about single objects, sent without the commands of the SDK: these take five times as much
 * processor time (0.78 ms, and 0.15 ms so). The SDK says once where requests go, then signs and sends each.
 */
export class ObjectRequests {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #name: string;
  #route: Promise<Route> | undefined;
  /** How far the clock of the store is ahead, in ms, once it has refused a request for that. */
  #ahead = 0;

  /** @param name Of the store, for errors. */
  constructor(client: S3Client, bucket: string, name: string) {
    this.#client = client;
    this.#bucket = bucket;
    this.#name = name;
  }

  /** @throws the answer of the store as an error of the SDK, and errors of the connection */
  async send(request: ObjectRequest, abortSignal: AbortSignal): Promise<ObjectAnswer> {
    this.#route ??= this.#found().catch((error: unknown) => {
      this.#route = undefined;
      throw error;
    });
    const { base, signer, ...address } = await this.#route;
    const { method, key, headers = {}, body } = request;
    const path = base + encodedKey(key);
    const { hostname, port } = address;
    const host = port === undefined ? hostname : `${hostname}:${port}`;
    const length = body && { 'content-length': String(body.byteLength) };
    const wire = { ...address, method, path, query: {}, headers: { host, ...headers, ...length } };
    const signingDate = new Date(Date.now() + this.#ahead);
    const signed = await signer.sign({ ...wire, body } as WireRequest, { signingDate });
    const { response } = await this.#client.config.requestHandler.handle(signed as WireRequest, {
      abortSignal,
    });
    if (response.statusCode < 300) return { headers: response.headers, body: response.body };
    const error = await errorOf(response.statusCode, response.body as Readable);
    const date = Date.parse(response.headers['date'] ?? '');
    if (error.name === 'RequestTimeTooSkewed' && !Number.isNaN(date))
      this.#ahead = date - Date.now();
    throw error;
  }

  /** Lets the SDK prepare a request that is not sent. */
  async #found(): Promise<Route> {
    const found: (Omit<Route, 'signer'> & { readonly scheme: AuthScheme | undefined })[] = [];
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: EXAMPLE });
    command.middlewareStack.add(
      (_, context) => async (prepared) => {
        const { protocol, hostname, port, path } = prepared.request as WireRequest;
        const [scheme] = context.endpointV2?.properties?.authSchemes ?? [];
        found.push({ protocol, hostname, port, base: path.slice(0, -EXAMPLE.length), scheme });
        return { output: { $metadata: {} }, response: undefined };
      },
      { step: 'finalizeRequest', priority: 'low' },
    );
    await this.#client.send(command);
    const { scheme, ...address } = found[0]!;
    if (scheme !== undefined && scheme.name !== 'sigv4') throw this.#otherScheme(scheme.name);
    return { ...address, signer: await this.#client.config.signer(scheme) };
  }

  #otherScheme(scheme: string): StorageRefused {
    return new StorageRefused(
      `the object store ${this.#name} cannot be used: it takes signatures of the kind ${scheme}; use a general purpose bucket of one region`,
    );
  }
}

/** Encodes a key as the SDK does: the path of the signature. */
function encodedKey(key: string): string {
  return key.split('/').map(encodedName).join('/');
}

function encodedName(name: string): string {
  return encodeURIComponent(name).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** An answer as the SDK says it: the name is the code of the store. */
async function errorOf(status: number, body: Readable): Promise<Error> {
  let text = '';
  for await (const chunk of body) if (text.length < ERROR_LENGTH) text += String(chunk);
  const code = /<Code>([^<]+)<\/Code>/.exec(text)?.[1] ?? 'Error';
  const message = /<Message>([^<]*)<\/Message>/.exec(text)?.[1] ?? '';
  return Object.assign(new Error(message), {
    name: code,
    $metadata: { httpStatusCode: status },
  });
}
