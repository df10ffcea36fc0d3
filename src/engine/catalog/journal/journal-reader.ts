import { join } from 'node:path';
import { linesOf } from '../../../storage/line-reader.ts';
import type { Storage } from '../../../storage/storage.ts';
import { isMissing } from '../../../storage/storage-error.ts';
import type { StoreChange } from '../../../store/store.ts';
import { journalFiles, type JournalFile } from './journal-files.ts';
import { decodeChange } from './journal-line.ts';
import { listSnapshots } from './snapshot-file.ts';

/** A line of a journal file that cannot be read. */
export interface JournalDamage {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The last line of its file: a crash tore it before its change was acknowledged, or it is being written now. */
  readonly last: boolean;
}

type OnDamage = (damage: JournalDamage) => void;

/**
 * Every change of a journal, in the order of their sequence numbers, each once,
 * from the files of all processes. A file whose changes all come later is not
 * opened yet.
 * @param onDamage Called with each line that cannot be read; it is passed over.
 * @param after The number of the last change that the caller has: files without later ones may be left out.
 */
export async function* readJournal(
  storage: Storage,
  folder: string,
  onDamage: OnDamage,
  after?: bigint,
): AsyncGenerator<StoreChange> {
  let sequence = -1n;
  const seen = new Set<string>();
  for await (const { change, text } of inOrder(new Sources(storage, folder, onDamage, after))) {
    if (change.sequence !== sequence) seen.clear();
    sequence = change.sequence;
    if (!seen.has(text)) yield change;
    seen.add(text);
  }
}

/** A line, and the file that it is in. */
interface Found {
  readonly change: StoreChange;
  readonly text: string;
}

/** A file that is being read, and its next change. */
interface Source {
  readonly file: JournalFile;
  readonly lines: AsyncGenerator<Found>;
  readonly head: Found;
}

/** The lines of all files, merged by sequence; one may come several times. */
async function* inOrder(sources: Sources): AsyncGenerator<Found> {
  try {
    await sources.list();
    for (;;) {
      const found = await sources.next();
      if (found === undefined) return;
      yield found;
    }
  } finally {
    await sources.close();
  }
}

/** How often in one reading objects may be merged, and so be gone, before it fails. */
const MERGES = 1000;

/** The files of a journal while they are read. */
class Sources {
  readonly #storage: Storage;
  readonly #folder: string;
  readonly #onDamage: OnDamage;
  readonly #open: Source[] = [];
  #files: JournalFile[] = [];
  /** Names of all files that were opened. */
  readonly #opened = new Set<string>();
  /** The number of the last line that was given out. */
  #last = -1n;
  #merges = 0;
  readonly #after: bigint | undefined;

  constructor(storage: Storage, folder: string, onDamage: OnDamage, after: bigint | undefined) {
    this.#storage = storage;
    this.#folder = folder;
    this.#onDamage = onDamage;
    this.#after = after;
  }

  /** Lists the files that are still to be opened. @returns All of them. */
  async list(): Promise<readonly JournalFile[]> {
    const files = await journalFiles(this.#storage, this.#folder);
    const after = this.#after ?? -1n;
    this.#files = files.filter(
      ({ name, last }) => !this.#opened.has(name) && (last === undefined || last > after),
    );
    return files;
  }

  /** The next line; undefined after the last one. */
  async next(): Promise<Found | undefined> {
    for (;;) {
      const next = this.#least();
      const [file] = this.#files;
      const isDue = next === undefined || (file?.first ?? 0n) <= next.head.change.sequence;
      if (file !== undefined && isDue) {
        this.#files.shift();
        this.#opened.add(file.name);
        const { name } = file;
        const path = join(this.#folder, name);
        await this.#advance(file, changesOf(this.#storage, path, name, this.#onDamage));
        continue;
      }
      if (next === undefined) return undefined;
      this.#last = next.head.change.sequence;
      this.#open.splice(this.#open.indexOf(next), 1);
      await this.#advance(next.file, next.lines);
      return next.head;
    }
  }

  async close(): Promise<void> {
    for (const { lines } of this.#open) await lines.return(undefined);
  }

  #least(): Source | undefined {
    return this.#open.reduce<Source | undefined>(
      (best, source) =>
        best === undefined || source.head.change.sequence < best.head.change.sequence
          ? source
          : best,
      undefined,
    );
  }

  async #advance(file: JournalFile, lines: AsyncGenerator<Found>): Promise<void> {
    try {
      for (;;) {
        const next = await lines.next();
        if (next.done === true) return;
        // Lines up to the last one were in files that were opened before.
        if (this.#merges > 0 && next.value.change.sequence < this.#last) continue;
        this.#open.push({ file, lines, head: next.value });
        return;
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.#replace(file, error);
    }
  }

  /**
   * Continues with the file that a missing one was merged into.
   * @throws the error where there is none, or a snapshot may hold the lines: then everything is read again.
   */
  async #replace({ first, last }: JournalFile, error: unknown): Promise<void> {
    this.#merges += 1;
    if (last === undefined || this.#merges > MERGES) throw error;
    const [snapshot] = await listSnapshots(this.#storage, this.#folder);
    if ((snapshot?.sequence ?? -1n) > (this.#after ?? first - 1n)) throw error;
    const files = await this.list();
    const holds = (other: JournalFile) =>
      other.first <= first && other.last !== undefined && other.last >= last;
    if (!files.some(holds)) throw error;
  }
}

async function* changesOf(
  storage: Storage,
  path: string,
  file: string,
  onDamage: OnDamage,
): AsyncGenerator<Found> {
  let damaged: number | undefined;
  for await (const line of linesOf(await storage.open(path, 'all'))) {
    if (damaged !== undefined) onDamage({ file, line: damaged, last: false });
    const change = line.ended ? decodeChange(line.bytes) : undefined;
    damaged = change === undefined ? line.number : undefined;
    if (change !== undefined) yield { change, text: line.bytes.toString() };
  }
  if (damaged !== undefined) onDamage({ file, line: damaged, last: true });
}
