import { mkdirSync, statSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder, syncFolder } from './folder.ts';
import { checkedKey } from './storage-key.ts';
import type { Folders } from './storage.ts';
import { removeIfEmpty } from './tree.ts';

/** How many folders are remembered as durable. */
const REMEMBERED = 10_000;

/** Folders of a local disk. */
export class LocalFolders implements Folders {
  /** Folders whose names are on stable storage, each with its mark at that time. */
  readonly #durable = new Map<string, string>();

  make(folder: string, mode?: number): Promise<void> {
    return makeFolder(checkedKey(folder), mode);
  }

  makeNow(folder: string): void {
    mkdirSync(checkedKey(folder), { recursive: true });
  }

  prepare(folder: string): Promise<void> | undefined {
    const mark = this.#durable.get(checkedKey(folder));
    if (mark !== undefined && mark === markOf(folder)) return undefined;
    mkdirSync(folder, { recursive: true });
    return this.#makeDurable(folder);
  }

  removeIfEmpty(folder: string): Promise<void> {
    return removeIfEmpty(checkedKey(folder));
  }

  async move(from: string, to: string): Promise<void> {
    await rename(checkedKey(from), checkedKey(to));
  }

  /** Flushes the name of a folder, which this or another process may have made a moment ago. */
  async #makeDurable(folder: string): Promise<void> {
    const mark = markOf(folder);
    await syncFolder(dirname(folder));
    if (mark === undefined) return;
    this.#durable.delete(folder);
    this.#durable.set(folder, mark);
    if (this.#durable.size > REMEMBERED) this.#durable.delete(oldestOf(this.#durable)!);
  }
}

/** A text that differs between a folder and another one that gets its name later. */
function markOf(folder: string): string | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino} ${stats.birthtimeMs}`;
}

function oldestOf(names: ReadonlyMap<string, string>): string | undefined {
  for (const name of names.keys()) return name;
  return undefined;
}
