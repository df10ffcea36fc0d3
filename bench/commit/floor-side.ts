import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type * as DiskModule from '../../src/storage/durable-file.ts';
import type * as LogModule from '../../src/storage/line-log.ts';
import type * as OpenModule from '../../src/store/open/open-store.ts';
import type { LineLog } from '../../src/storage/line-log.ts';
import type { Store } from '../../src/store/store.ts';
import { built } from '../harness/built.ts';
import type { Committers, Work } from './work.ts';

/** As large as the record of a version, and as a line of the journal about it. */
const RECORD_BYTES = 200;
const LINE_BYTES = 600;
const ROTATE_BYTES = 64 * 2 ** 20;

/**
 * The bare floor of a commit, without a service: one durable file, one conditional
 * commit of the same store, one durable line of a log. It shares flushes between
 * clients where the service does: of the store, and of the log.
 */
export class FloorSide implements Committers {
  readonly #folder: string;
  readonly #store: Store;
  readonly #log: LineLog;
  readonly #writeDurable: typeof DiskModule.writeDurable;
  readonly #manifest: Uint8Array;
  readonly #heads: (Uint8Array | null)[] = [];
  readonly #versions: number[] = [];
  readonly #sequences: bigint[] = [];

  private constructor(
    folder: string,
    parts: { readonly store: Store; readonly log: LineLog },
    writeDurable: typeof DiskModule.writeDurable,
    manifest: Uint8Array,
  ) {
    this.#folder = folder;
    this.#store = parts.store;
    this.#log = parts.log;
    this.#writeDurable = writeDurable;
    this.#manifest = manifest;
  }

  /** @param redis The address of Redis; null for the embedded store. */
  static async open(
    folder: string,
    redis: string | null,
    manifest: Uint8Array,
  ): Promise<FloorSide> {
    const { openStore } = await built<typeof OpenModule>('store/open/open-store.js');
    const { LineLog: Log } = await built<typeof LogModule>('storage/line-log.js');
    const { writeDurable } = await built<typeof DiskModule>('storage/durable-file.js');
    await mkdir(join(folder, 'log'));
    const log = new Log({
      folder: join(folder, 'log'),
      name: (number) => `${number}.log`,
      mode: 0o600,
      rotateBytes: ROTATE_BYTES,
    });
    const store = await openStore({ redis, catalog: 'floor', folder: join(folder, 'store') });
    return new FloorSide(folder, { store, log }, writeDurable, manifest);
  }

  async prepare({ clients }: Work): Promise<void> {
    while (this.#heads.length < clients) {
      await mkdir(join(this.#folder, `t${this.#heads.length}`));
      this.#heads.push(null);
      this.#versions.push(0);
    }
  }

  async commit(client: number): Promise<void> {
    const version = this.#versions[client]! + 1;
    const table = `t${client}`;
    await this.#writeDurable(join(this.#folder, table, `${version}.manifest`), this.#manifest);
    const record = Buffer.alloc(RECORD_BYTES, `${table} ${version} `);
    const head = { key: `h/${table}`, value: this.#heads[client]! };
    const result = await this.#store.commit(
      [{ kind: 'value', ...head }],
      [
        { key: head.key, value: record },
        { key: `v/${table}/${String(version).padStart(20, '0')}`, value: record },
      ],
    );
    if (result.kind !== 'committed') throw new Error(`a commit of the floor was ${result.kind}`);
    const line = Buffer.alloc(LINE_BYTES, 'x').fill('\n', LINE_BYTES - 1);
    await this.#log.append({ bytes: line }, true);
    this.#sequences.push(result.sequence);
    this.#heads[client] = record;
    this.#versions[client] = version;
  }

  async check({ clients }: Work): Promise<void> {
    await this.#store.forget(this.#sequences.splice(0));
    for (let client = 0; client < clients; client++) {
      const found = await this.#store.get(`h/t${client}`);
      if (found === undefined || !Buffer.from(found).equals(this.#heads[client]!)) {
        throw new Error(`the floor lost the head of t${client}`);
      }
    }
  }

  async close(): Promise<void> {
    await this.#log.close();
    await this.#store.close();
  }
}
