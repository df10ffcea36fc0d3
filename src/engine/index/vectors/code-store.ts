import type { MemoryBudget } from '../../format/memory/memory-budget.ts';
import type { OpenFiles } from '../../format/memory/open-files.ts';
import { codeDirectory, codePortions, codeLayout, SCRATCH } from './code-file.ts';
import { codeMemory } from './code-kernels.ts';
import type { LoadedCodes, LoadedPortion } from './code-search.ts';
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
  used: number;
}

/**
 * Caches code files in memory within the budget, after verification of their checksums. Files are
 * immutable.
 */
export class CodeStore {
  readonly #files: OpenFiles;
  readonly #budget: MemoryBudget;
  readonly #entries = new Map<string, Entry>();
  readonly #loading = new Map<string, Promise<LoadedCodes>>();
  readonly #reported = new Set<string>();
  readonly #damaged: (error: Error) => void;
  #bytes = 0;

  /**
   * @param damaged Called once for each unusable file.
   * @param damaged Called once for each unusable file.
   */
  constructor(files: OpenFiles, budget: MemoryBudget, damaged: (error: Error) => void) {
    this.#files = files;
    this.#budget = budget;
    this.#damaged = damaged;
  }

  /** The codes of a file; null if it is damaged or removed. */
  async codes(stored: StoredFile): Promise<LoadedCodes | null> {
    const { path } = stored;
    const cached = this.#entries.get(path);
    if (cached !== undefined) {
      cached.used = performance.now();
      return cached.codes;
    }
    const loading = this.#loading.get(path) ?? this.#load(stored);
    this.#loading.set(path, loading);
    try {
      return await loading;
    } catch (error) {
      // The caller that opened the file reports a damaged one.
      if (!(error instanceof DamagedFile)) this.#tell(path, error);
      return null;
    } finally {
      this.#loading.delete(path);
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

  #tell(path: string, error: unknown): void {
    if (this.#reported.has(path)) return;
    this.#reported.add(path);
    const why = error instanceof Error ? error.message : String(error);
    this.#damaged(new Error(`the file ${path} of a vector index is not used: ${why}`));
  }

  async #load(stored: StoredFile): Promise<LoadedCodes> {
    const codes = await this.#files.use(stored, async (opened) => {
      const directory = await codeDirectory(opened);
      const layouts = directory.portions.map(({ rows }) => codeLayout(directory.shape, rows));
      const bytes = layouts.reduce((sum, layout) => sum + aligned(layout.bytes), SCRATCH.bytes);
      const memory = codeMemory(bytes);
      const portions: LoadedPortion[] = [];
      let [place, first, at]: [number, number, number] = [SCRATCH.bytes, 0, 0];
      for await (const portion of codePortions(opened, directory)) {
        const layout = layouts[at++]!;
        if (portion.bytes.length !== layout.bytes) throw new Error('its codes are cut short');
        new Uint8Array(memory.buffer).set(portion.bytes, place);
        portions.push({ place, first, layout });
        place += aligned(layout.bytes);
        first += portion.rows;
      }
      return { directory, memory, portions, bytes };
    });
    this.#keep(stored.path, codes);
    return codes;
  }

  #keep(path: string, codes: LoadedCodes): void {
    const most = this.#budget.bytes * SHARE;
    if (codes.bytes > most) return;
    const now = performance.now();
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes + codes.bytes <= most) break;
      if (now - entry.used > FRESH_MILLIS) this.#remove(oldest);
    }
    if (this.#bytes + codes.bytes > most) return;
    this.#entries.set(path, { codes, used: now });
    this.#bytes += codes.bytes;
    this.#budget.spend(codes.bytes);
  }

  #remove(path: string): void {
    const entry = this.#entries.get(path);
    if (entry === undefined) return;
    this.#entries.delete(path);
    this.#bytes -= entry.codes.bytes;
    this.#budget.refund(entry.codes.bytes);
  }
}

/** Rounds up to a multiple of sixteen: portions are aligned. */
function aligned(bytes: number): number {
  return Math.ceil(bytes / 16) * 16;
}

/** Access to the codes of vector indices and to rows chosen by them. */
export interface VectorSource {
  /** The codes of a file; null if it is damaged, which is reported. */
  codes(folder: string, file: FragmentIndex): Promise<LoadedCodes | null>;
  /** The deleted rows of a fragment, ascending. */
  deletions(snapshot: Snapshot, fragment: Fragment): Promise<Uint32Array>;
  /** Groups rows of a fragment by batch, ascending. */
  candidates(snapshot: Snapshot, fragment: Fragment, rows: Uint32Array): Promise<Candidates>;
}

/** A vector source over cached codes. */
export function vectorSource(codes: CodeStore, rows: RowFacts): VectorSource {
  return {
    codes: (folder, file) => codes.codes(storedIn(folder, file)),
    deletions: (snapshot, fragment) => rows.deletions(snapshot, fragment),
    candidates: async (snapshot, fragment, chosen) => {
      const deleted = await rows.deletions(snapshot, fragment);
      return candidatesOf(chosen, true, deleted, await rows.starts(snapshot, fragment));
    },
  };
}
