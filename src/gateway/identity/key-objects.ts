import { join } from 'node:path';
import type { Storage } from '../../storage/storage.ts';
import { unlessMissing } from '../../storage/storage-error.ts';
import { KeyFileError } from './key-document.ts';
import type { KeySeal } from './key-seal.ts';
import { KEY_HEAD, openSealedKeys, sealKeys, type SharedKeySet } from './sealed-keys.ts';

const NAME = /^keys-(\d{16})\.json$/;
const FORMAT = 1;
/** Number of states that are kept: the newest may be the one that a reader misses. */
const KEPT = 2;
const READ_ATTEMPTS = 10;

interface Document {
  readonly format: number;
  /** Fingerprint of the secret. */
  readonly secret: string;
  /** Sealed head and records, by their keys in the store. */
  readonly entries: Readonly<Record<string, string>>;
}

/**
 * All keys after each change, beside the journal: `keys/keys-CHANGE.json`. A change is
 * acknowledged when its object is there, so a store with older keys is known by it.
 */
export class KeyObjects {
  readonly #storage: Storage;
  readonly #folder: string;
  /** What was read last: an object is read again to compare it, and seldom another one. */
  #last: { readonly path: string; readonly bytes: Buffer; readonly set: SharedKeySet } | undefined;

  /** @param journal Folder of the journal, or its key in an object store. */
  constructor(storage: Storage, journal: string) {
    this.#storage = storage;
    this.#folder = join(journal, 'keys');
  }

  /** Number of the last change; 0 if the gateways of the catalog do not share their keys. */
  async last(): Promise<number> {
    return (await this.#changes()).at(-1) ?? 0;
  }

  /**
   * The keys after the last change; undefined if there was none.
   * @throws KeyFileError if they were sealed with another secret, or are damaged.
   */
  async newest(seal: KeySeal): Promise<SharedKeySet | undefined> {
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt += 1) {
      const change = (await this.#changes()).at(-1);
      if (change === undefined) return undefined;
      const path = this.#path(change);
      const bytes = await unlessMissing(this.#storage.read(path, 'all'));
      // Two newer ones came meanwhile.
      if (bytes === undefined) continue;
      const last = this.#last;
      if (last?.path === path && last.bytes.equals(bytes)) return last.set;
      const set = keysIn(seal, bytes.toString(), path);
      this.#last = { path, bytes, set };
      return set;
    }
    throw new KeyFileError(`the newest keys in ${this.#folder} are listed and cannot be read`);
  }

  /**
   * Writes the keys after a change.
   * @returns False if the change with this number left other keys.
   */
  async put(seal: KeySeal, set: SharedKeySet): Promise<boolean> {
    await this.#storage.folders?.make(this.#folder, 0o700);
    const path = this.#path(set.change);
    const entries = sealKeys(seal, set).map(({ key, value }) => [
      key,
      Buffer.from(value).toString(),
    ]);
    const document: Document = {
      format: FORMAT,
      secret: seal.fingerprint,
      entries: Object.fromEntries(entries),
    };
    const bytes = Buffer.from(`${JSON.stringify(document)}\n`);
    const placed = await this.#storage.putIfAbsent(path, bytes, 0o600);
    if (placed === 'created') await this.sweep(KEPT);
    else if (!bytes.equals(await this.#storage.read(path, 'all'))) return false;
    return true;
  }

  /** Removes all but some newest states. */
  async sweep(kept: number): Promise<void> {
    const changes = await this.#changes();
    for (const change of changes.slice(0, changes.length - kept)) {
      await this.#storage.discard(this.#path(change));
    }
  }

  async #changes(): Promise<readonly number[]> {
    const names = (await this.#storage.names(this.#folder)) ?? [];
    const found = names.flatMap((name) => NAME.exec(name)?.[1] ?? []);
    return found.map(Number).toSorted((one, other) => one - other);
  }

  #path(change: number): string {
    return join(this.#folder, `keys-${String(change).padStart(16, '0')}.json`);
  }
}

function keysIn(seal: KeySeal, text: string, path: string): SharedKeySet {
  const { format, secret, entries } = documentOf(text, path);
  if (format !== FORMAT) {
    throw new KeyFileError(`${path} has format ${format}; this version reads ${FORMAT}`);
  }
  if (secret !== seal.fingerprint) {
    throw new KeyFileError(
      `the secret of this gateway did not authenticate ${path}: copy private/key-secret of a gateway whose keys work`,
    );
  }
  const all = Object.entries(entries).map(([key, value]) => ({ key, value: Buffer.from(value) }));
  const head = all.find(({ key }) => key === KEY_HEAD)?.value;
  const records = all.filter(({ key }) => key !== KEY_HEAD);
  const { set } = openSealedKeys(seal, head, records);
  if (set === undefined) throw new KeyFileError(`${path} is damaged: it is not authentic`);
  return set;
}

function documentOf(text: string, path: string): Document {
  try {
    return JSON.parse(text) as Document;
  } catch {
    throw new KeyFileError(`${path} is damaged: it is not valid JSON`);
  }
}
