import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Table } from 'apache-arrow';
import { Receiver } from './receiver.ts';
import { arrow } from './rows.ts';
import type { Search, TableSide } from './table-side.ts';

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

/** The protocol as it is, over `node:http`: uncompressed Arrow streams in, Arrow files out. */
export class RawSide implements TableSide {
  readonly name: string;
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #receiver = new Receiver();

  constructor(url: string, key: string, name = 'arrowgate') {
    this.name = name;
    this.#url = url;
    this.#key = key;
  }

  async create(table: string, rows: Table): Promise<void> {
    await this.#send(`/v1/table/${table}/create`, ARROW_STREAM, streamOf(rows));
  }

  async append(table: string, rows: Table): Promise<void> {
    await this.#send(`/v1/table/${table}/insert`, ARROW_STREAM, streamOf(rows));
  }

  async drop(table: string): Promise<void> {
    await this.ask(table, 'drop', {});
  }

  async delete(table: string, where: string): Promise<void> {
    await this.ask(table, 'delete', { predicate: where });
  }

  async update(table: string, where: string, column: string, value: string): Promise<void> {
    await this.ask(table, 'update', { predicate: where, updates: [[column, value]] });
  }

  async merge(table: string, rows: Table): Promise<void> {
    const how = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
    await this.#send(`/v1/table/${table}/merge_insert?${how}`, ARROW_STREAM, streamOf(rows));
  }

  async scan(table: string): Promise<Table> {
    const url = `${this.#url}/v1/table/${table}/query`;
    return arrow.tableFromIPC(await this.#receiver.ask(url, this.#key, {}));
  }

  async filter(table: string, where: string, columns: readonly string[]): Promise<Table> {
    const body = { filter: where, columns: { column_names: columns } };
    return arrow.tableFromIPC(await this.ask(table, 'query', body));
  }

  async count(table: string, where: string): Promise<number> {
    return Number((await this.ask(table, 'count_rows', { predicate: where })).toString());
  }

  async nearest(table: string, { vector, where, bypass = false }: Search): Promise<Table> {
    const filter = where === undefined ? {} : { filter: where, prefilter: true };
    const body = {
      vector: { single_vector: [...vector] },
      k: 10,
      ...filter,
      bypass_vector_index: bypass,
    };
    return arrow.tableFromIPC(await this.ask(table, 'query', body));
  }

  close(): void {
    this.#agent.destroy();
    this.#receiver.close();
  }

  /** Any operation on a table. @throws Error for every answer but one of success. */
  async ask(table: string, operation: string, body: object): Promise<Buffer> {
    const bytes = Buffer.from(JSON.stringify(body));
    return this.#send(`/v1/table/${table}/${operation}`, 'application/json', bytes);
  }

  /** @throws Error for every answer but one of success: a refusal is quick, and no measurement. */
  async #send(path: string, type: string, body: Pieces | Buffer): Promise<Buffer> {
    const whole = Buffer.isBuffer(body) ? body : undefined;
    const outgoing = request(`${this.#url}${path}`, {
      method: 'POST',
      agent: this.#agent,
      headers: {
        'x-api-key': this.#key,
        'content-type': type,
        ...(whole && { 'content-length': whole.byteLength }),
      },
    });
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    // Clients send a body that is at hand with its length, in the packet of its head.
    if (whole === undefined) await pipeline(Readable.from(body), outgoing);
    else outgoing.end(whole);
    const [incoming] = await answered;
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(incoming, 'end');
    const bytes = Buffer.concat(chunks);
    if (incoming.statusCode === 200 || incoming.statusCode === 201) return bytes;
    throw new Error(`POST ${path}: ${incoming.statusCode} ${bytes.toString('utf8', 0, 500)}`);
  }
}

/** Not a copy: the pieces are the table's own buffers, with what stands between them. */
function streamOf(rows: Table): Pieces {
  return arrow.RecordBatchStreamWriter.writeAll(rows);
}
