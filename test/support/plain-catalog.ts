import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a catalog was asked. */
export interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Said {
  readonly status: number;
  readonly body?: object | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

type Answerer = (name: string, body: Record<string, unknown>, bytes: Buffer) => Said;

export interface PlainOptions {
  /** Whether it refuses a body that names another table than the route. */
  readonly checks: boolean;
  /** The key that it demands; none when absent. */
  readonly key?: string;
}

/**
 * A small catalog of its own making, that speaks a few operations of the
 * protocol over plain Node and knows nothing of this project.
 */
export class PlainCatalog {
  readonly asked: Asked[] = [];
  readonly tables = new Map<string, Buffer>();
  readonly #options: PlainOptions;
  readonly #server: Server;

  private constructor(options: PlainOptions) {
    this.#options = options;
    this.#server = createServer((incoming, response) => {
      void this.#answer(incoming).then(
        ({ status, body = {}, headers = {} }) => {
          const bytes = body instanceof Buffer ? body : Buffer.from(JSON.stringify(body));
          const type =
            body instanceof Buffer ? 'application/vnd.apache.arrow.stream' : 'application/json';
          response.writeHead(status, { 'content-type': type, ...headers });
          response.end(bytes);
          // Who asked went away before its body was whole.
        },
        () => response.destroy(),
      );
    });
  }

  static async start(options: PlainOptions): Promise<PlainCatalog> {
    const catalog = new PlainCatalog(options);
    catalog.#server.listen(0, '127.0.0.1');
    await once(catalog.#server, 'listening');
    return catalog;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** What it was asked of a table, or of another object, latest last; the probes of a gateway are not in it. */
  of(name: string): readonly Asked[] {
    return this.asked.filter(
      ({ target, headers }) =>
        headers['user-agent'] !== 'arrowgate-probe' && decodeURIComponent(target).includes(name),
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(incoming: IncomingMessage): Promise<Said> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const { method = '', url: target = '', headers } = incoming;
    this.asked.push({ method, target, headers, body: bytes });
    const { key, checks } = this.#options;
    if (key !== undefined && headers['x-api-key'] !== key) return failed(401, 16, 'who are you?');
    const [, kind = '', id = '', action = ''] =
      /^\/v1\/(table|namespace)\/([^/?]+)\/([\w/]+?)\/?(?:\?.*)?$/.exec(target) ?? [];
    const name = decodeURIComponent(id);
    const fields = fieldsOf(bytes, headers);
    const named = Array.isArray(fields['id']) ? fields['id'].join('$') : name;
    if (checks && named !== name) return failed(400, 13, 'the body names another object');
    const answer = this.#actions[`${kind} ${action}`];
    return answer === undefined
      ? failed(406, 0, 'not here')
      : answer(checks ? name : named, fields, bytes);
  }

  readonly #actions: Readonly<Record<string, Answerer>> = {
    'table create': (name, _, bytes) => {
      this.tables.set(name, bytes);
      return { status: 200, body: { version: 1 } };
    },
    'table describe': (name) =>
      this.#known(name, { status: 200, body: { table: name, version: 7 } }),
    'table exists': (name) => this.#known(name, { status: 200 }),
    'table query': (name) => {
      const headers = { 'x-lancedb-version': '7', 'set-cookie': 'a=b', 'x-powered-by': 'plain' };
      return this.#known(name, { status: 200, body: this.tables.get(name) ?? {}, headers });
    },
    'table drop': (name) => {
      const known = this.#known(name, { status: 200, body: { id: name.split('$') } });
      this.tables.delete(name);
      return known;
    },
    'table rename': () => ({ status: 200 }),
    'namespace table/list': (name) => {
      const inside = [...this.tables.keys()].filter((each) => each.startsWith(`${name}$`));
      return { status: 200, body: { tables: inside.map((each) => each.slice(name.length + 1)) } };
    },
    'namespace list': () => ({ status: 200, body: { namespaces: [] } }),
  };

  #known(name: string, said: Said): Said {
    return this.tables.has(name) ? said : failed(404, 4, `there is no table ${name}`);
  }
}

function fieldsOf(bytes: Buffer, headers: IncomingHttpHeaders): Record<string, unknown> {
  if (headers['content-type'] !== 'application/json' || bytes.byteLength === 0) return {};
  return JSON.parse(bytes.toString()) as Record<string, unknown>;
}

function failed(status: number, code: number, error: string): Said {
  return { status, body: { error, code } };
}
