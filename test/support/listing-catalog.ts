import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a catalog pages its listings. */
export type Paging =
  /** By the last name of a page, as the reference server does. */
  | 'names'
  /** By tokens that only the catalog understands, in no order. */
  | 'opaque'
  /** Full pages without a token. */
  | 'tokenless'
  /** Everything at once, whatever is asked for. */
  | 'whole';

/** What a catalog was asked to list. */
export interface AskedListing {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

const PAGE = 3;

/** A catalog that lists names and nothing else, at most three at a time. */
export class ListingCatalog {
  readonly asked: AskedListing[] = [];
  /** The names by the path of their listing. */
  readonly names = new Map<string, readonly string[]>();
  /** Answered in place of a page where it is set. */
  instead: { readonly status: number; readonly body: string } | undefined;
  readonly #server: Server;

  private constructor(paging: Paging) {
    this.#server = createServer((incoming, response) => {
      const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://catalog');
      let body = '';
      incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
      incoming.on('end', () => {
        const path = decodeURIComponent(pathname).replace(/\/$/, '');
        const isProbe = path.includes('arrowgate-probe');
        if (!isProbe) {
          this.asked.push({ method: incoming.method ?? '', path, query: searchParams, body });
        }
        const said = isProbe
          ? { status: 400, body: '{"error":"no","code":13}' }
          : (this.instead ?? this.#page(path, searchParams, paging));
        response.writeHead(said.status, {
          'content-type': 'application/json',
          'phalanx-version': '0.4.0',
          etag: '"of-hidden-names"',
        });
        response.end(said.body);
      });
    });
  }

  static async start(paging: Paging): Promise<ListingCatalog> {
    const catalog = new ListingCatalog(paging);
    catalog.#server.listen(0, '127.0.0.1');
    await once(catalog.#server, 'listening');
    return catalog;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #page(
    path: string,
    query: URLSearchParams,
    paging: Paging,
  ): { readonly status: number; readonly body: string } {
    const all = this.names.get(path);
    if (all === undefined) return { status: 404, body: '{"error":"nothing there","code":1}' };
    const { names, token } = pages[paging](all, query.get('page_token') ?? '');
    const member = path.endsWith('table/list') || path === '/v1/table' ? 'tables' : 'namespaces';
    const more = token === undefined ? {} : { page_token: token };
    const total = { total: all.length };
    return { status: 200, body: JSON.stringify({ [member]: names, ...more, ...total }) };
  }
}

interface Page {
  readonly names: readonly string[];
  readonly token?: string | undefined;
}

const pages: Readonly<Record<Paging, (all: readonly string[], token: string) => Page>> = {
  names: (all, token) => {
    const beyond = [...all].sort().filter((name) => name > token);
    const names = beyond.slice(0, PAGE);
    return { names, token: beyond.length > PAGE ? names.at(-1) : undefined };
  },
  opaque: (all, token) => {
    const start = token === '' ? 0 : Number(token.slice('at:'.length));
    const end = start + PAGE;
    return { names: all.slice(start, end), token: end < all.length ? `at:${end}` : undefined };
  },
  tokenless: (all, token) => ({
    names: [...all]
      .sort()
      .filter((name) => name > token)
      .slice(0, 100),
  }),
  whole: (all) => ({ names: all }),
};
