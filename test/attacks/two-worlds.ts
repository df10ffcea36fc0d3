import { Agent } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int32, Int64, Table, Utf8, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import { rowsOf } from '../support/query-answer.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send, sendGranted, type Sent } from '../service/http.ts';

/**
 * A service of two processes with worker threads, and two tables of each format that differ in what a bound
 * caller must not see: `arrow0` and `arrow1` of
 * the engine, `lance0` and `lance1` of Lance.
 */
const RESTRICTIONS = `restrictions:
  - name: own
    tables: ['/arrow0', '/arrow1', '/lance0', '/lance1']
    subjects: ['role:clerk']
    rows: region = 'eu'
    columns: { email: { mask: first, n: 1 }, price: hidden }
    except: ['role:admin']
    canary: id = 31
`;

const CONFIG = `processes: 2
workers: 2
tables: { formats: [{ tables: ["/lance0", "/lance1"], format: lance }] }
`;

export type World = 0 | 1;

export const formats = ['arrow', 'lance'] as const;

export type Format = (typeof formats)[number];

/** Sorts of more rows than 50,000 are work of a thread. */
const VISIBLE = 50_400;

/** Keys of visible rows, of hidden ones, and of none lie between each other. */
export const visibleKey = (at: number) => 3 * at;
export const hiddenKey = (at: number) => 3 * at + 1;
export const absentKey = (at: number) => 3 * at + 2;

/** How many keys there are of each kind. */
export const KEYS = VISIBLE;

function rows(world: World): Uint8Array {
  const hidden = (at: number) => world === 0 || at % 7 === 0;
  const ids = Array.from({ length: VISIBLE }, (_, at) => [
    visibleKey(at),
    ...(hidden(at) ? [hiddenKey(at)] : []),
  ]).flat();
  const isSeen = (id: number) => id % 3 === 0;
  const texts = (text: (id: number) => string) => vectorFromArray(ids.map(text), new Utf8());
  const table = new Table({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    region: texts((id) => (isSeen(id) ? 'eu' : 'us')),
    amount: vectorFromArray(
      ids.map((id) => (isSeen(id) ? (id % 1000) + 1 : world)),
      new Int32(),
    ),
    email: texts((id) => `${isSeen(id) ? 'a' : 'z'}${world === 0 ? id % 10 : 9 - (id % 10)}@x.org`),
    price: vectorFromArray(
      ids.map((id) => (world === 0 ? id : -id)),
      new Int32(),
    ),
  });
  return tableToIPC(table, 'stream');
}

export class TwoWorlds {
  readonly service: Service;
  readonly key: string;

  private constructor(service: Service, key: string) {
    this.service = service;
    this.key = key;
  }

  static async start(): Promise<TwoWorlds> {
    const policy = 'p, role:admin, /**, *, allow\np, role:clerk, /**, *, allow\n';
    const service = await Service.prepare({ policy, config: CONFIG });
    await writeFile(join(service.policies, 'restrictions.yaml'), RESTRICTIONS);
    await service.restart();
    for (const format of formats) {
      for (const world of [0, 1] as const) {
        const line = `POST /v1/table/${format}${world}/create`;
        await sendGranted(service.url, line, { body: rows(world), headers: ARROW_STREAM });
      }
    }
    for (const world of [0, 1]) {
      const body = { column: 'id', index_type: 'BTREE' };
      await sendGranted(service.url, `POST /v1/table/arrow${world}/create_scalar_index`, { body });
    }
    return new TwoWorlds(service, await service.key('user:cle', 'role:clerk'));
  }

  stop(): Promise<void> {
    return this.service.stop();
  }

  /** An answer to the bound caller as a text, without the number of the world. Each is asked for on a connection of its own. */
  async told(format: Format, world: World, action: string, sent: Sent = {}): Promise<string> {
    const agent = new Agent();
    const line = `POST /v1/table/${format}${world}/${action}`;
    const reply = await send(this.service.url, line, { key: this.key, agent, ...sent });
    const plain =
      reply.status === 200 && action === 'query'
        ? rowsOf(tableFromIPC(reply.bytes))
        : `${reply.status} ${reply.text}`;
    return JSON.stringify(plain, (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    )
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'uuid')
      .replaceAll(`${format}${world}`, 'T')
      .replaceAll(/[\d.]+ ms/g, 'ms')
      .replaceAll(/version(\\?":| )\d+/g, 'version');
  }

  /** The same as an administrator. */
  async admin(format: Format, world: World, action: string, sent: Sent = {}): Promise<string> {
    return this.told(format, world, action, { key: ADMIN_KEY, ...sent });
  }
}
