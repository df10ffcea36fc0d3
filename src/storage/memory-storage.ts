import { randomUUID } from 'node:crypto';
import { KeptFolder } from './tree.ts';
import { StorageError } from './storage-error.ts';
import { checkedFolder, checkedKey } from './storage-key.ts';
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
} from './storage.ts';

/** An object: its bytes never change, another object takes its key. */
interface Content {
  readonly bytes: Uint8Array;
  readonly id: string;
  readonly writtenMillis: number;
}

/**
 * Objects in memory, for tests. It has what an object store has and no more: neither folders nor
 * links nor paths, and every change is durable by itself.
 */
export class MemoryStorage implements Storage {
  readonly folders = undefined;
  readonly files = undefined;
  readonly #objects = new Map<string, Content>();

  open(key: string): OpenObject {
    const content = this.#found(key);
    return new MemoryObject(content.bytes, () => ![...this.#objects.values()].includes(content));
  }

  async read(key: string): Promise<Buffer> {
    return Buffer.from(this.#found(key).bytes);
  }

  stat(key: string): ObjectStat | undefined {
    const content = this.#objects.get(checkedKey(key));
    if (content === undefined) return undefined;
    const { bytes, writtenMillis } = content;
    const kind = { isFile: true, isFolder: false, isLink: false };
    return { ...kind, bytes: bytes.byteLength, writtenMillis, changedMillis: writtenMillis };
  }

  stamp(key: string): string | undefined {
    return this.#objects.get(checkedKey(key))?.id;
  }

  async ownership(folder: string, name: string): Promise<Ownership> {
    const key = `${folder}/${name}`;
    return this.#objects.has(key) || this.#below(key).length > 0 ? 'own' : 'absent';
  }

  async resolve(key: string): Promise<string> {
    return checkedFolder(key);
  }

  async names(folder: string): Promise<readonly string[]> {
    const names = this.#below(folder).map(
      (key) => key.slice(folder === '/' ? 1 : folder.length + 1).split('/')[0]!,
    );
    return [...new Set(names)];
  }

  async *entries(folder: string): AsyncGenerator<StorageEntry> {
    for (const name of await this.names(folder))
      yield this.#entry(`${folder === '/' ? '' : folder}/${name}`);
  }

  async *tree(folder: string): AsyncGenerator<StorageEntry> {
    for await (const entry of this.entries(folder)) {
      if (entry.isFolder) yield* this.tree(entry.path);
      yield entry;
    }
  }

  create(key: string): NewObject {
    if (this.#objects.has(checkedKey(key))) throw taken(key);
    const pieces: Uint8Array[] = [];
    const done = (): void => this.#put(key, Buffer.concat(pieces));
    return {
      write: async (more) => void pieces.push(...more.map((piece) => Buffer.from(piece))),
      end: async () => done(),
      sync: async () => undefined,
      abandon: async () => undefined,
    };
  }

  temporary(key: string): TemporaryObject {
    if (this.#objects.has(checkedKey(key))) throw taken(key);
    const pieces: Uint8Array[] = [];
    return {
      write: async (more) => void pieces.push(...more.map((piece) => Buffer.from(piece))),
      written: async () => new MemoryObject(Buffer.concat(pieces), () => true),
      close: async () => void pieces.splice(0),
    };
  }

  async freeBytes(): Promise<number> {
    return Infinity;
  }

  async write(key: string, bytes: Uint8Array): Promise<void> {
    this.#put(checkedKey(key), bytes);
  }

  async putIfAbsent(key: string, bytes: Uint8Array): Promise<Placed> {
    if (this.#objects.has(checkedKey(key))) return 'exists';
    this.#put(key, bytes);
    return 'created';
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    this.#put(checkedKey(key), bytes);
  }

  note(key: string, bytes: Uint8Array): Promise<void> {
    return this.replace(key, bytes);
  }

  async linkIfAbsent(from: string, to: string): Promise<Placed> {
    const content = this.#found(from);
    if (this.#objects.has(checkedKey(to))) return 'exists';
    this.#objects.set(to, content);
    return 'created';
  }

  async renameIfAbsent(from: string, to: string): Promise<Placed> {
    checkedKey(from);
    if (this.#objects.has(checkedKey(to))) return 'exists';
    this.#objects.set(to, this.#found(from));
    this.#objects.delete(from);
    return 'created';
  }

  async rename(from: string, to: string): Promise<void> {
    const object = this.#found(checkedKey(from));
    this.#objects.delete(from);
    this.#objects.set(checkedKey(to), object);
  }

  async copy(from: string, to: string): Promise<Copied> {
    const { bytes } = this.#found(from);
    if (this.#objects.has(checkedKey(to))) throw taken(to);
    this.#put(to, bytes);
    return { linked: false, bytes: bytes.byteLength };
  }

  async remove(key: string, dryRun = false): Promise<Freed> {
    const content = this.#objects.get(checkedKey(key));
    if (content === undefined) return NOTHING;
    if (!dryRun) this.#objects.delete(key);
    return { files: 1, bytes: content.bytes.byteLength };
  }

  discard(key: string): void {
    this.#objects.delete(checkedKey(key));
  }

  async removeTree(folder: string, { dryRun, retained }: RemoveOptions): Promise<Freed> {
    const met = retained.find((one) => one === folder || one.startsWith(`${folder}/`));
    if (met !== undefined) throw new KeptFolder(met);
    let freed = await this.remove(folder, dryRun);
    for (const key of this.#below(folder)) freed = plus(freed, await this.remove(key, dryRun));
    return freed;
  }

  async flush(folder: string): Promise<void> {
    checkedFolder(folder);
  }

  #found(key: string): Content {
    const content = this.#objects.get(checkedKey(key));
    if (content === undefined) throw new StorageError('ENOENT', `there is no object ${key}`);
    return content;
  }

  #put(key: string, bytes: Uint8Array): void {
    this.#objects.set(key, {
      bytes: new Uint8Array(bytes),
      id: randomUUID(),
      writtenMillis: Date.now(),
    });
  }

  #below(folder: string): readonly string[] {
    const prefix = folder === '/' ? folder : `${checkedKey(folder)}/`;
    return [...this.#objects.keys()].filter((key) => key.startsWith(prefix));
  }

  #entry(path: string): StorageEntry {
    const { bytes = 0, writtenMillis = 0 } = this.stat(path) ?? {};
    return { path, isFolder: !this.#objects.has(path), isLink: false, bytes, writtenMillis };
  }
}

/** An object that is read as it was when it was opened. */
class MemoryObject implements OpenObject {
  readonly isRemoved: () => boolean;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, isRemoved: () => boolean) {
    this.#bytes = bytes;
    this.isRemoved = isRemoved;
  }

  size(): number {
    return this.#bytes.byteLength;
  }

  plainSize(): number {
    return this.size();
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    return this.readNow(into, position);
  }

  readNow(into: Uint8Array, position: number): number {
    const range = this.#bytes.subarray(position, position + into.byteLength);
    into.set(range);
    return range.byteLength;
  }

  async sync(): Promise<void> {
    // Every object is as durable as it can be.
  }

  close(): void {
    // Nothing is held.
  }
}

function taken(key: string): StorageError {
  return new StorageError('EEXIST', `there is an object ${key} already`);
}
