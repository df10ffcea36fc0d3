import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type {
  CommittedVersion,
  StoreAccess,
  TableAtVersion,
  TablePlace,
  VersionQuestion,
  VersionReply,
} from '../wire/messages.ts';

/** Greatest body of a request: the library sends a name, a version and a branch. */
const MAX_BODY_BYTES = 65_536;

/** Answers questions about the versions of a table. */
export type AnswerVersions = (question: VersionQuestion) => Promise<VersionReply>;

interface KnownTable extends Pick<TablePlace, 'location'> {
  store?: StoreAccess;
  answer: AnswerVersions;
}

/**
 * The catalog as the library sees it: a Lance namespace on the loopback interface, in the process of
 * the library. It knows the tables of running tasks by opaque names, each at the version that the
 * gateway gave, so that the library cannot read what lies newest in a folder. It holds the credentials
 * with which it reaches a table in an object store, and no other.
 */
export class CatalogEndpoint {
  readonly #server: Server;
  readonly #token = randomBytes(32).toString('base64url');
  readonly #tables = new Map<string, KnownTable>();
  #next = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#answer(request, response).catch(() => response.destroy());
    });
    // The library keeps its connections; one that were closed here as it is used would fail a request.
    this.#server.keepAliveTimeout = 0;
  }

  static async open(): Promise<CatalogEndpoint> {
    const endpoint = new CatalogEndpoint();
    await new Promise<void>((resolve, reject) => {
      endpoint.#server.once('error', reject);
      endpoint.#server.listen(0, '127.0.0.1', resolve);
    });
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Headers without which nothing is answered. */
  get headers(): Readonly<Record<string, string>> {
    return { 'x-api-key': this.#token };
  }

  /** Makes a table known at one version. Returns its name. */
  add(table: TableAtVersion): string {
    return this.addOpen(table, pinned(table));
  }

  /** Makes a table known whose versions are answered elsewhere. Returns its name. */
  addOpen(place: TablePlace, answer: AnswerVersions): string {
    const name = `t${this.#next++}`;
    this.#tables.set(name, { ...place, answer });
    return name;
  }

  /** Has other questions about a table answered from now on; none unless given. */
  answer(name: string, answer: AnswerVersions = unanswered): void {
    const known = this.#tables.get(name);
    if (known !== undefined) known.answer = answer;
  }

  /** Sets the credentials that the library gets with its next request for the table. */
  renew(location: string, store: StoreAccess): void {
    for (const known of this.#tables.values()) if (known.location === location) known.store = store;
  }

  remove(name: string): void {
    this.#tables.delete(name);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    if (!this.#isOwn(request.headers['x-api-key'])) return refuse(response, 401, 16);
    const [, name = '', action = ''] = /^\/v1\/table\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
    const table = this.#tables.get(name);
    if (table === undefined) return refuse(response, 404, 4);
    const body = await bodyOf(request);
    if (action === 'describe' || action === 'declare') {
      return send(response, 200, describedTable(table));
    }
    const branch = textOf(body['branch']) ?? searchParams.get('branch') ?? 'main';
    const { status, value } = await table.answer({ action, branch, body });
    send(response, status, value);
  }

  #isOwn(key: string | string[] | undefined): boolean {
    const [sent, own] = [Buffer.from(String(key)), Buffer.from(this.#token)];
    return sent.length === own.length && timingSafeEqual(sent, own);
  }
}

const UNKNOWN: VersionReply = {
  status: 406,
  value: { error: 'the version is not known here', code: 0 },
};

const unanswered: AnswerVersions = async () => UNKNOWN;

/** Answers for one version. */
export function pinned(table: TableAtVersion): AnswerVersions {
  return async ({ action, branch, body }) => {
    const version = versionOn(table, branch);
    if (version === undefined) return UNKNOWN;
    const entry = entryOf(table, version);
    if (action === 'version/list') return { status: 200, value: { versions: [entry] } };
    const isAsked = action === 'version/describe' && body['version'] === version.version;
    return isAsked ? { status: 200, value: { version: entry } } : UNKNOWN;
  };
}

function versionOn(
  { branch, at, main }: TableAtVersion,
  name: string,
): CommittedVersion | undefined {
  if (name === branch) return at;
  return name === 'main' ? main : undefined;
}

function describedTable({ location, store }: KnownTable): object {
  const place = store && { location: store.uri, storage_options: store.options };
  return { location, ...place, managed_versioning: true };
}

function entryOf(
  { location, store }: TableAtVersion,
  { version, manifest }: CommittedVersion,
): object {
  // Paths of an object store have no slash at the front.
  const path = join(store?.folder ?? location.slice(1), manifest);
  return { version, manifest_path: path, timestamp_millis: 0 };
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new Error('the request of the library is too long');
    chunks.push(chunk);
  }
  const value: unknown = length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString());
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function refuse(response: ServerResponse, status: number, code: number): void {
  send(response, status, { error: 'the table is not known here', code });
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
