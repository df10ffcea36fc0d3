import { join } from 'node:path';
import type * as ObjectLogModule from '../../src/engine/catalog/journal/object-log.ts';
import type { ObjectLog } from '../../src/engine/catalog/journal/object-log.ts';
import type * as BucketModule from '../../src/storage/bucket/bucket-storage.ts';
import type { BucketStorage } from '../../src/storage/bucket/bucket-storage.ts';
import type * as OpenModule from '../../src/store/open/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { BucketServer } from '../../test/support/bucket-server.ts';
import type { Committers, Work } from '../commit/work.ts';
import { built } from '../harness/built.ts';

/** As large as the record of a version, and as a line of the journal about it. */
const RECORD_BYTES = 200;
const LINE_BYTES = 600;

interface FloorParts {
  readonly bucket: BucketStorage;
  readonly log: ObjectLog;
  readonly store: Store;
}

/**
 * The bare floor of a commit without a common folder, without a service: one conditional put, one commit of
 * Redis, one line of a journal whose lines share objects.
 */
export class BucketFloor implements Committers {
  readonly #parts: FloorParts;
  readonly #manifest: Uint8Array;
  readonly #heads: (Uint8Array | null)[] = [];
  readonly #versions: number[] = [];
  readonly #sequences: bigint[] = [];

  private constructor(parts: FloorParts, manifest: Uint8Array) {
    this.#parts = parts;
    this.#manifest = manifest;
  }

  /** @param folder For files of the moment. */
  static async open(
    server: BucketServer,
    redis: string,
    folder: string,
    manifest: Uint8Array,
  ): Promise<BucketFloor> {
    const { BucketStorage: Storage } = await built<typeof BucketModule>(
      'storage/bucket/bucket-storage.js',
    );
    const { ObjectLog: Log } = await built<typeof ObjectLogModule>(
      'engine/catalog/journal/object-log.js',
    );
    const { openStore } = await built<typeof OpenModule>('store/open/open-store.js');
    const bucket = new Storage(server.place({ prefix: 'floor' }), { spill: folder });
    await bucket.probe();
    const log = new Log(bucket, '/journal', 'f'.repeat(8));
    const store = await openStore({ redis, catalog: 'floor', folder: join(folder, 'store') });
    return new BucketFloor({ bucket, log, store }, manifest);
  }

  async prepare({ clients }: Work): Promise<void> {
    while (this.#heads.length < clients) {
      this.#heads.push(null);
      this.#versions.push(0);
    }
  }

  async commit(client: number): Promise<void> {
    const { bucket, log, store } = this.#parts;
    const version = this.#versions[client]! + 1;
    const table = `t${client}`;
    const placed = await bucket.putIfAbsent(`/${table}/${version}.manifest`, this.#manifest);
    if (placed !== 'created') throw new Error(`version ${version} of ${table} was there already`);
    const record = Buffer.alloc(RECORD_BYTES, `${table} ${version} `);
    const head = { key: `h/${table}`, value: this.#heads[client]! };
    const result = await store.commit(
      [{ kind: 'value', ...head }],
      [
        { key: head.key, value: record },
        { key: `v/${table}/${String(version).padStart(20, '0')}`, value: record },
      ],
    );
    if (result.kind !== 'committed') throw new Error(`a commit of the floor was ${result.kind}`);
    const bytes = Buffer.alloc(LINE_BYTES, 'x').fill('\n', LINE_BYTES - 1);
    await log.append({ bytes, sequence: result.sequence });
    this.#sequences.push(result.sequence);
    this.#heads[client] = record;
    this.#versions[client] = version;
  }

  async check({ clients }: Work): Promise<void> {
    const { bucket, store } = this.#parts;
    await store.forget(this.#sequences.splice(0));
    for (let client = 0; client < clients; client++) {
      const names = await bucket.names(`/t${client}`);
      if (names.length !== this.#versions[client]) throw new Error(`t${client} lost a manifest`);
    }
  }

  async close(): Promise<void> {
    const { bucket, log, store } = this.#parts;
    await log.close();
    bucket.close();
    await store.close();
  }
}
