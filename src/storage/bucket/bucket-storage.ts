import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Group, type Settled } from '../group.ts';
import { LocalStorage } from '../local-storage.ts';
import { readWhole } from '../open-object.ts';
import { StorageError, StorageRefused } from '../storage-error.ts';
import { checkedFolder, checkedKey } from '../storage-key.ts';
import {
  NOTHING,
  plus,
  type Copied,
  type Freed,
  type NewObject,
  type ObjectStat,
  type OpenObject,
  type Ownership,
  type Placed,
  type RemoveOptions,
  type Storage,
  type StorageEntry,
  type TemporaryObject,
  type Uploads,
} from '../storage.ts';
import { KeptFolder } from '../tree.ts';
import { BucketClient } from './bucket-client.ts';
import { BucketObject } from './bucket-object.ts';
import type { BucketCredentials, BucketPlace, Listed } from './bucket-place.ts';
import { probeBucket } from './bucket-probe.ts';
import { BucketUpload, takenObject, type PartSizes } from './bucket-upload.ts';

/** Further options of a storage of objects. */
export interface BucketOptions {
  /** Folder of the disk for temporary objects; absolute. */
  readonly spill: string;
  /** What all keys begin with, and the keys in the bucket do not; nothing unless given. */
  readonly root?: string;
  readonly parts?: PartSizes;
}

/** Most objects that one request removes: as many as a page of a listing has. */
const DISCARDED = 1000;

/** Least pause between requests that only look at a store, in ms. */
const LOOK_MILLIS = 5_000;

/**
 * Objects of an S3-compatible store, below a prefix. Every change is durable when its method
 * resolves. Nothing is done before the store has passed the probe.
 * Every method also throws StorageUnavailable and StorageRefused.
 */
export class BucketStorage implements Storage {
  readonly folders = undefined;
  readonly files = undefined;
  readonly uploads: Uploads = { abandon: (isOld, dryRun) => this.#abandon(isOld, dryRun) };
  readonly #client: BucketClient;
  readonly #prefix: string;
  readonly #name: string;
  readonly #root: string;
  readonly #options: BucketOptions;
  readonly #disk = new LocalStorage();
  /** Objects to be removed, whatever their size: a commit has two, and many commits share a request. */
  readonly #discards = new Group<string, void>((keys) => this.#removeAll(keys), DISCARDED);
  #probed: Promise<void> | undefined;
  #isLooking = false;
  /** When `fault` looks at the store again, on the monotonic clock. */
  #looksAfter = 0;

  constructor(place: BucketPlace, options: BucketOptions) {
    this.#client = new BucketClient(place);
    this.#prefix = place.prefix === '' ? '' : `${place.prefix}/`;
    this.#name = place.name;
    this.#root = options.root ?? '';
    this.#options = options;
  }

  /**
   * Tries whether the store does what the gateway relies on; once, unless it is unavailable.
   * @throws StorageRefused if it does not
   */
  probe(): Promise<void> {
    this.#probed ??= this.#probe().catch((error: unknown) => {
      this.#probed = undefined;
      throw error;
    });
    return this.#probed;
  }

  /** Requests the first page of a listing, and writes nothing. */
  async look(): Promise<void> {
    await this.#client.pages(this.#prefix, '/', 1).next();
  }

  /**
   * Why the store cannot be used, and since when, by the last request; undefined if that succeeded.
   * If no request was looking lately, one is sent, and the next call learns of its result.
   */
  fault(): string | undefined {
    this.#lookAgain();
    const { outage } = this.#client;
    return outage && `${outage.why} (since ${new Date(outage.sinceMillis).toISOString()})`;
  }

  #lookAgain(): void {
    if (this.#isLooking || performance.now() < this.#looksAfter) return;
    this.#isLooking = true;
    void this.look()
      .catch(() => undefined)
      .finally(() => {
        this.#isLooking = false;
        this.#looksAfter = performance.now() + LOOK_MILLIS;
      });
  }

  async #probe(): Promise<void> {
    const fault = await probeBucket(this.#client, this.#prefix);
    if (fault === undefined) return;
    throw new StorageRefused(`the object store ${this.#name} cannot be used: ${fault}`);
  }

  async open(key: string): Promise<OpenObject> {
    return BucketObject.open(...(await this.#at(key)));
  }

  async read(key: string): Promise<Buffer> {
    return readWhole(await this.open(key));
  }

  async stat(key: string): Promise<ObjectStat | undefined> {
    const found = await this.#head(key);
    if (found === undefined) return undefined;
    const { bytes } = found;
    const writtenMillis = latest(found.writtenMillis);
    const kind = { isFile: true, isFolder: false, isLink: false };
    return { ...kind, bytes, writtenMillis, changedMillis: writtenMillis };
  }

  async stamp(key: string): Promise<string | undefined> {
    return (await this.#head(key))?.tag;
  }

  async ownership(folder: string, name: string): Promise<Ownership> {
    const [client, key] = await this.#at(`${folder === '/' ? '' : folder}/${name}`);
    if ((await client.head(key)) !== undefined) return 'own';
    for await (const { objects } of client.pages(`${key}/`, undefined, 1)) {
      if (objects.length > 0) return 'own';
    }
    return 'absent';
  }

  async resolve(key: string): Promise<string> {
    return checkedFolder(key);
  }

  async names(folder: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { path } of this.entries(folder)) {
      names.push(path.slice(path.lastIndexOf('/') + 1));
    }
    return names;
  }

  async *entries(folder: string): AsyncGenerator<StorageEntry> {
    const prefix = this.#folderKey(folder);
    await this.probe();
    for await (const { objects, prefixes } of this.#client.pages(prefix, '/')) {
      // An object whose name ends in a slash marks a folder of some tools.
      for (const object of objects) if (!object.key.endsWith('/')) yield this.#entry(object);
      for (const inner of prefixes) {
        if (inner !== `${prefix}/`) yield this.#folderEntry(inner.slice(0, -1));
      }
    }
  }

  async *tree(folder: string): AsyncGenerator<StorageEntry> {
    const prefix = this.#folderKey(folder);
    await this.probe();
    const open: string[] = [];
    for await (const { objects } of this.#client.pages(prefix)) {
      for (const object of objects) {
        while (open.length > 0 && !object.key.startsWith(open.at(-1)!)) {
          yield this.#folderEntry(open.pop()!.slice(0, -1));
        }
        const from = (open.at(-1) ?? prefix).length;
        for (let at = object.key.indexOf('/', from); at >= 0;) {
          open.push(object.key.slice(0, at + 1));
          at = object.key.indexOf('/', at + 1);
        }
        if (!object.key.endsWith('/')) yield this.#entry(object);
      }
    }
    while (open.length > 0) yield this.#folderEntry(open.pop()!.slice(0, -1));
  }

  create(key: string): NewObject {
    const upload = new BucketUpload(this.#client, this.#keyOf(key), this.#options.parts);
    return {
      write: async (pieces) => {
        await this.probe();
        await upload.write(pieces);
      },
      end: async () => {
        await this.probe();
        await upload.end();
      },
      sync: () => upload.sync(),
      abandon: () => upload.abandon(),
    };
  }

  /** On the disk, so the key stays free. */
  temporary(key: string): TemporaryObject {
    checkedKey(key);
    return this.#disk.temporary(join(this.#options.spill, `${randomUUID()}.spill`));
  }

  /** Those for temporary objects; a bucket does not fill up. */
  freeBytes(): Promise<number> {
    return this.#disk.freeBytes(this.#options.spill);
  }

  async write(key: string, bytes: Uint8Array): Promise<void> {
    await this.replace(key, bytes);
  }

  async putIfAbsent(key: string, bytes: Uint8Array): Promise<Placed> {
    const [client, at] = await this.#at(key);
    return client.putNew(at, bytes);
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    const [client, at] = await this.#at(key);
    await client.put(at, bytes);
  }

  note(key: string, bytes: Uint8Array): Promise<void> {
    return this.replace(key, bytes);
  }

  async linkIfAbsent(from: string, to: string): Promise<Placed> {
    checkedKey(to);
    return this.putIfAbsent(to, await this.read(from));
  }

  async renameIfAbsent(from: string, to: string): Promise<Placed> {
    const placed = await this.linkIfAbsent(from, to);
    if (placed === 'created') await this.discard(from);
    return placed;
  }

  async rename(from: string, to: string): Promise<void> {
    checkedKey(to);
    await this.replace(to, await this.read(from));
    await this.discard(from);
  }

  async copy(from: string, to: string): Promise<Copied> {
    const bytes = await this.#copied(await this.open(from), to);
    return { linked: false, bytes };
  }

  async #copied(object: OpenObject, to: string): Promise<number> {
    if ((await this.#head(to)) !== undefined) throw takenObject(to);
    const copy = this.create(to);
    try {
      const size = object.size();
      const piece = Buffer.allocUnsafeSlow(Math.min(size, COPIED_BYTES));
      for (let at = 0; at < size;) {
        const read = await object.read(piece, at);
        await copy.write([piece.subarray(0, read)]);
        at += read;
      }
      await copy.end();
      return size;
    } catch (error) {
      await copy.abandon();
      throw error;
    }
  }

  async remove(key: string, dryRun = false): Promise<Freed> {
    const [client, at] = await this.#at(key);
    const found = await client.head(at);
    if (found === undefined) return NOTHING;
    if (!dryRun) await client.remove(at);
    return { files: 1, bytes: found.bytes };
  }

  async discard(key: string): Promise<void> {
    const [, at] = await this.#at(key);
    await this.#discards.submit(at);
  }

  /** Removes several objects with one request; a single one with the request that every store knows. */
  async #removeAll(keys: readonly string[]): Promise<readonly Settled<void>[]> {
    const [first, second] = keys;
    try {
      if (first === undefined) return [];
      await (second === undefined ? this.#client.remove(first) : this.#client.removeAll(keys));
      return keys.map(() => ({ kind: 'done', outcome: undefined }));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      return keys.map(() => ({ kind: 'failed', error }));
    }
  }

  async removeTree(folder: string, { dryRun, retained }: RemoveOptions): Promise<Freed> {
    const met = retained.find((one) => one === folder || one.startsWith(`${folder}/`));
    if (met !== undefined) throw new KeptFolder(met);
    let freed = await this.remove(folder, dryRun);
    for await (const { objects } of this.#client.pages(this.#folderKey(folder))) {
      if (dryRun !== true && objects.length > 0) {
        await this.#client.removeAll(objects.map(({ key }) => key));
      }
      for (const { key, bytes } of objects) {
        if (!key.endsWith('/')) freed = plus(freed, { files: 1, bytes });
      }
    }
    return freed;
  }

  async flush(folder: string): Promise<void> {
    checkedFolder(folder);
  }

  /** Without the right to list them, uploads are left to a lifecycle rule of the bucket. */
  async #abandon(isOld: (begunMillis: number) => boolean, dryRun: boolean): Promise<number> {
    await this.probe();
    let count = 0;
    try {
      for await (const { key, upload, begunMillis } of this.#client.uploads(this.#prefix)) {
        if (!isOld(begunMillis)) continue;
        if (!dryRun) await this.#client.abandon(key, upload);
        count += 1;
      }
    } catch (error) {
      if (!(error instanceof StorageRefused)) throw error;
    }
    return count;
  }

  /** The credentials of the gateway for the store, as they are now. */
  credentials(): Promise<BucketCredentials> {
    return this.#client.credentials();
  }

  /** Closes the connections to the store. */
  close(): void {
    this.#client.close();
  }

  /** The client and the key in the bucket, once the store has passed the probe. */
  async #at(key: string): Promise<readonly [BucketClient, string]> {
    const found = this.#keyOf(key);
    await this.probe();
    return [this.#client, found];
  }

  async #head(key: string): ReturnType<BucketClient['head']> {
    const [client, at] = await this.#at(key);
    return client.head(at);
  }

  #keyOf(key: string): string {
    // Some stores take a backslash for a slash: two keys would name one object.
    if (!checkedKey(key).includes('\\')) return `${this.#prefix}${this.#nameOf(key)}`;
    throw new StorageError('EINVAL', `the key ${key} of an object has a backslash`);
  }

  /** The names of a key below the root. */
  #nameOf(key: string): string {
    if (key.startsWith(`${this.#root}/`)) return key.slice(this.#root.length + 1);
    throw new StorageError('EINVAL', `the key ${key} does not lie in ${this.#root}`);
  }

  /** What the keys of all objects in a folder begin with. */
  #folderKey(folder: string): string {
    const isRoot = checkedFolder(folder) === (this.#root === '' ? '/' : this.#root);
    return isRoot ? this.#prefix : `${this.#keyOf(folder)}/`;
  }

  #entry({ key, bytes, ...listed }: Listed): StorageEntry {
    const writtenMillis = latest(listed.writtenMillis);
    return { path: this.#pathOf(key), isFolder: false, isLink: false, bytes, writtenMillis };
  }

  #folderEntry(key: string): StorageEntry {
    return { path: this.#pathOf(key), isFolder: true, isLink: false, bytes: 0, writtenMillis: 0 };
  }

  #pathOf(key: string): string {
    return `${this.#root}/${key.slice(this.#prefix.length)}`;
  }
}

/** The end of the second in which an object was written: stores round times down. */
function latest(writtenMillis: number): number {
  return writtenMillis + 999;
}

/** Bytes of an object that a copy reads at once. */
const COPIED_BYTES = 8 * 2 ** 20;
