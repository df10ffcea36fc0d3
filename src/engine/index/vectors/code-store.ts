import type { MemoryBudget } from '../../format/memory/memory-budget.ts';
import type { OpenFiles } from '../../format/memory/open-files.ts';
import { codeDirectory, codePortion } from './code-file.ts';
import type { LoadedCodes, LoadedPartition } from './code-search.ts';
import { reserveCodes } from './loaded-codes.ts';
import { DamagedFile, type StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { candidatesOf, type Candidates, type RowFacts } from '../keys/candidates.ts';
import {
  storedIn,
  type Fragment,
  type FragmentIndex,
  type Snapshot,
} from '../../format/snapshot.ts';

/** Codes used within this time are not evicted, in ms. */
const FRESH_MILLIS = 60_000;
/** Codes unused for this time are dropped, in ms: their file may be removed. */
const IDLE_MILLIS = 600_000;
/** Share of the cache memory for codes. */
const SHARE = 3 / 4;

interface Entry {
  readonly codes: LoadedCodes;
  /** Bytes of memory that were filled, which the budget was charged with. */
  bytes: number;
  used: number;
}

/**
 * Caches code files in memory within the budget, after verification of their checksums. Files are
 * immutable. Of a file with partitions only those are read that were searched.
 */
export class CodeStore {
  readonly #files: OpenFiles;
  readonly #budget: MemoryBudget;
  readonly #entries = new Map<string, Entry>();
  readonly #loading = new Map<string, Promise<LoadedCodes>>();
  readonly #reported = new Set<string>();
  readonly #damaged: (error: Error) => void;
  #bytes = 0;

  /** @param damaged Called once for each unusable file. */
  constructor(files: OpenFiles, budget: MemoryBudget, damaged: (error: Error) => void) {
    this.#files = files;
    this.#budget = budget;
    this.#damaged = damaged;
  }

  /** The codes of a file, with its portions if it has no partitions; null if it is damaged or removed. */
  async codes(stored: StoredFile): Promise<LoadedCodes | null> {
    const { path } = stored;
    const cached = this.#entries.get(path);
    if (cached !== undefined) {
      cached.used = performance.now();
      return cached.codes;
    }
    const loading = this.#loading.get(path) ?? this.#open(stored);
    this.#loading.set(path, loading);
    try {
      return await loading;
    } catch (error) {
      this.#failed(path, error);
      return null;
    } finally {
      this.#loading.delete(path);
    }
  }

  /** Reads partitions into their memory. False if the file is damaged or removed. */
  async load(
    stored: StoredFile,
    codes: LoadedCodes,
    partitions: readonly LoadedPartition[],
  ): Promise<boolean> {
    try {
      await this.#read(stored, codes, partitions);
      return true;
    } catch (error) {
      this.#failed(stored.path, error);
      return false;
    }
  }

  /** Reads a whole file, as far as it fits. */
  async warm(stored: StoredFile): Promise<void> {
    const codes = await this.codes(stored);
    for (const partition of codes?.partitions ?? []) {
      if (codes === null || !this.#entries.has(stored.path)) return;
      if (!(await this.load(stored, codes, [partition]))) return;
    }
  }

  /** Drops codes that are no longer used. */
  idle(): void {
    const now = performance.now();
    for (const [path, entry] of this.#entries) {
      if (now - entry.used > IDLE_MILLIS) this.#remove(path);
    }
  }

  drop(): void {
    for (const path of this.#entries.keys()) this.#remove(path);
  }

  /** The caller that opened a file reports a damaged one. */
  #failed(path: string, error: unknown): void {
    this.#remove(path);
    if (error instanceof DamagedFile || this.#reported.has(path)) return;
    this.#reported.add(path);
    const why = error instanceof Error ? error.message : String(error);
    this.#damaged(new Error(`the file ${path} of a vector index is not used: ${why}`));
  }

  async #open(stored: StoredFile): Promise<LoadedCodes> {
    const { codes, bytes } = await this.#files.use(stored, async (opened) =>
      reserveCodes(opened, await codeDirectory(opened)),
    );
    this.#entries.set(stored.path, { codes, bytes: 0, used: performance.now() });
    this.#spend(stored.path, codes, bytes);
    if (codes.centres === null) await this.#read(stored, codes, codes.partitions);
    return codes;
  }

  async #read(
    stored: StoredFile,
    codes: LoadedCodes,
    partitions: readonly LoadedPartition[],
  ): Promise<void> {
    const { directory, memory, loaded } = codes;
    const portions = partitions.flatMap((each) => each.portions);
    await this.#files.use(stored, async (opened) => {
      for (const { number, place, layout } of portions) {
        if (loaded[number] === 1) continue;
        const bytes = await codePortion(opened, directory, number);
        if (bytes.length !== layout.bytes) throw new Error('its codes are cut short');
        new Uint8Array(memory.buffer).set(bytes, place);
        if (loaded[number] === 0) this.#spend(stored.path, codes, layout.bytes);
        loaded[number] = 1;
      }
    });
  }

  /** Charges the budget; codes that do not fit are not kept. */
  #spend(path: string, codes: LoadedCodes, bytes: number): void {
    const own = this.#entries.get(path);
    if (own?.codes !== codes) return;
    const most = this.#budget.bytes * SHARE;
    const now = performance.now();
    own.used = now;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes + bytes <= most) break;
      if (entry !== own && now - entry.used > FRESH_MILLIS) this.#remove(oldest);
    }
    if (this.#bytes + bytes > most) {
      this.#remove(path);
      return;
    }
    own.bytes += bytes;
    this.#bytes += bytes;
    this.#budget.spend(bytes);
  }

  #remove(path: string): void {
    const entry = this.#entries.get(path);
    if (entry === undefined) return;
    this.#entries.delete(path);
    this.#bytes -= entry.bytes;
    this.#budget.refund(entry.bytes);
  }
}

/** Access to the codes of vector indices and to rows chosen by them. */
export interface VectorSource {
  /** The codes of a file; null if it is damaged, which is reported. */
  codes(folder: string, file: FragmentIndex): Promise<LoadedCodes | null>;
  /** Reads partitions into their memory. False if the file is damaged, which is reported. */
  load(
    folder: string,
    file: FragmentIndex,
    codes: LoadedCodes,
    partitions: readonly LoadedPartition[],
  ): Promise<boolean>;
  /** The deleted rows of a fragment, ascending. */
  deletions(snapshot: Snapshot, fragment: Fragment): Promise<Uint32Array>;
  /** Groups rows of a fragment by batch, ascending. */
  candidates(snapshot: Snapshot, fragment: Fragment, rows: Uint32Array): Promise<Candidates>;
}

/** A vector source over cached codes. */
export function vectorSource(codes: CodeStore, rows: RowFacts): VectorSource {
  return {
    codes: (folder, file) => codes.codes(storedIn(folder, file)),
    load: (folder, file, ...more) => codes.load(storedIn(folder, file), ...more),
    deletions: (snapshot, fragment) => rows.deletions(snapshot, fragment),
    candidates: async (snapshot, fragment, chosen) => {
      const deleted = await rows.deletions(snapshot, fragment);
      return candidatesOf(chosen, true, deleted, await rows.starts(snapshot, fragment));
    },
  };
}
