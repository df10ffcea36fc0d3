import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { diskFiles, type ClientFiles } from '../../test/support/client-files.ts';
import type { LanceModel } from './manifests.ts';
import type { Committers, Work } from './work.ts';

/** A table that a Lance client writes. */
interface ClientTable {
  readonly name: string;
  readonly location: string;
  /** The newest version that was acknowledged. */
  version: number;
  /** The manifests that are staged for the versions after it. */
  staged: readonly string[];
}

interface Listed {
  readonly versions: readonly { readonly version: number }[];
  readonly page_token?: string;
}

/** CreateTableVersion through HTTP, of manifests that are staged before the clock runs. */
export class ServiceSide implements Committers {
  readonly #url: string;
  readonly #key: string;
  readonly #model: LanceModel;
  readonly #files: ClientFiles;
  readonly #prefix: string;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #tables: ClientTable[] = [];

  /**
   * @param files Where the tables lie.
   * @param prefix Of the names of its tables; two sides of one service have different ones.
   */
  constructor(
    url: string,
    key: string,
    model: LanceModel,
    files: ClientFiles = diskFiles,
    prefix = 't',
  ) {
    this.#url = url;
    this.#key = key;
    this.#model = model;
    this.#files = files;
    this.#prefix = prefix;
  }

  async prepare({ clients, commits }: Work): Promise<void> {
    while (this.#tables.length < clients) this.#tables.push(await this.#declare());
    for (const table of this.#tables.slice(0, clients)) {
      const { location, version } = table;
      const staged: string[] = [];
      for (let turn = 0; turn < commits; turn++) {
        staged.push(await this.#model.stage(location, version + turn + 1, this.#files));
      }
      table.staged = staged;
    }
  }

  async commit(client: number, turn: number): Promise<void> {
    const table = this.#tables[client]!;
    const version = table.version + 1;
    const manifest = table.staged[turn]!;
    const body = { version, manifest_path: manifest, naming_scheme: 'V2' };
    await this.#ask(`/v1/table/${table.name}/version/create`, body);
    table.version = version;
  }

  /** Every acknowledged version is listed once and has its manifest; nothing else is there. */
  async check({ clients }: Work): Promise<void> {
    for (const { name, location, version } of this.#tables.slice(0, clients)) {
      const listed = await this.#listed(name);
      const expected = Array.from({ length: version }, (_, at) => at + 1);
      if (listed.join() !== expected.join()) {
        throw new Error(`${name} has the versions ${listed.join(' ')}, not 1 to ${version}`);
      }
      const files = await this.#files.names(join(this.#files.keyOf(location), '_versions'));
      if (files.length !== version || files.some((file) => !file.endsWith('.manifest'))) {
        throw new Error(`${name} has ${files.length} manifests, not ${version}`);
      }
    }
  }

  /** How many commits were acknowledged in all. */
  get acknowledged(): number {
    return this.#tables.reduce((sum, { version }) => sum + version, 0);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #declare(): Promise<ClientTable> {
    const name = `${this.#prefix}${this.#tables.length}`;
    const { location } = (await this.#ask(`/v1/table/${name}/declare`, {})) as { location: string };
    await this.#model.copyTo(location, this.#files);
    return { name, location, version: 0, staged: [] };
  }

  async #listed(name: string): Promise<readonly number[]> {
    const versions: number[] = [];
    for (let token = ''; ;) {
      const path = `/v1/table/${name}/version/list?limit=1000&page_token=${token}`;
      const page = (await this.#ask(path, {})) as Listed;
      versions.push(...page.versions.map(({ version }) => version));
      if (page.page_token === undefined) return versions;
      token = page.page_token;
    }
  }

  /** @throws Error for every answer but one of success: a refusal is quick, and no measurement. */
  async #ask(path: string, body: object): Promise<unknown> {
    const outgoing = request(`${this.#url}${path}`, {
      method: 'POST',
      agent: this.#agent,
      headers: { 'x-api-key': this.#key, 'content-type': 'application/json' },
    });
    outgoing.end(JSON.stringify(body));
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    if (incoming.statusCode === 200 || incoming.statusCode === 201) return JSON.parse(text);
    throw new Error(`POST ${path}: ${incoming.statusCode} ${text.slice(0, 500)}`);
  }
}
