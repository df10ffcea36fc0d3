import { renameSync } from 'node:fs';
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { FileDescriptor } from '../../store/file-descriptor.ts';

/** How many files are ready at most. */
const SIZE = 8;
/** A change of a quiet hour is made without: files are made ahead once so many took long to make. */
const FIRST = 3;
/** What takes longer to make is worth being made by another thread, in milliseconds. */
const LONG_MILLIS = 0.1;
/** Files are made a little later than they were asked for, so that the flushes of who asked go first. */
const PAUSE_MILLIS = 2;
/** When no file was asked for in so long, those that are ready are removed. */
const IDLE_MILLIS = 10_000;

/** This process among those of a data folder. */
export interface Processes {
  readonly name: string;
  isAlive(name: string): Promise<boolean>;
}

/** A file without bytes that is ready. */
interface Spare {
  readonly path: string;
  readonly file: FileDescriptor;
  readonly place: number;
}

/**
 * New files that are made beside other work, before they are needed, and get their names when
 * they are. To make a file can take twenty times as long as to rename one: ext4 passes over
 * every place in its tables that was given up within the last minutes. Each lies in a
 * folder of its own, since who makes a file in a folder keeps all others from changing it.
 */
export class FileStock {
  readonly #roof: string;
  readonly #folder: string;
  readonly #longMillis: number;
  readonly #ready: Spare[] = [];
  readonly #free = Array.from({ length: SIZE }, (_, place) => place);
  #made = 0;
  #long = 0;
  #askedMillis = 0;
  #closed = false;
  /** Whether the folders lie on another file system, to which nothing can be renamed. */
  #elsewhere = false;
  #filling: NodeJS.Timeout | undefined;
  #idling: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  /** @param folder Where files lie until they are needed, made when the first is; nobody else's. */
  private constructor(roof: string, folder: string, longMillis: number) {
    this.#roof = roof + sep;
    this.#folder = folder;
    this.#longMillis = longMillis;
  }

  /**
   * Makes files ahead for the folders below one, until it is closed. What processes that
   * were killed had ready is removed.
   * @param folder In which each process has a folder of its name.
   * @param longMillis Files are made ahead where it takes longer to make one.
   */
  static async open(
    roof: string,
    folder: string,
    process: Processes,
    longMillis = LONG_MILLIS,
  ): Promise<FileStock> {
    for (const name of await namesIn(folder)) {
      if (!(await process.isAlive(name))) await removeEmpty(join(folder, name));
    }
    const stock = new FileStock(roof, join(folder, process.name), longMillis);
    stocks.add(stock);
    return stock;
  }

  /** Whether a file of a path may come from here. */
  serves(path: string): boolean {
    return path.startsWith(this.#roof);
  }

  /** A new file of a name that nobody has; undefined when none is ready. */
  take(path: string): FileDescriptor | undefined {
    if (this.#elsewhere) return undefined;
    const now = Date.now();
    if (now - this.#askedMillis > IDLE_MILLIS) this.#long = 0;
    this.#askedMillis = now;
    if (this.#long >= FIRST) this.#fillSoon();
    const spare = this.#ready.shift();
    if (spare === undefined) return undefined;
    this.#free.push(spare.place);
    try {
      renameSync(spare.path, path);
      return spare.file;
    } catch (error) {
      // Whoever asks makes one for himself, and is told what is wrong.
      this.#elsewhere = error instanceof Error && 'code' in error && error.code === 'EXDEV';
      this.#working = this.#working.then(() => discard(spare));
      return undefined;
    }
  }

  /** Who asked in vain made a file himself, which took so long. */
  made(millis: number): void {
    if (millis <= this.#longMillis) return;
    this.#long += 1;
    if (this.#long >= FIRST && !this.#elsewhere) this.#fillSoon();
  }

  /** Removes the files that are ready. */
  async close(): Promise<void> {
    this.#closed = true;
    stocks.delete(this);
    clearTimeout(this.#filling);
    clearTimeout(this.#idling);
    await this.#working;
    await this.#empty();
  }

  #fillSoon(): void {
    this.#filling ??= setTimeout(() => {
      this.#working = this.#working
        .then(() => this.#fill())
        .finally(() => {
          this.#filling = undefined;
        });
    }, PAUSE_MILLIS).unref();
    this.#idleLater(IDLE_MILLIS);
  }

  /** One file at a time: other threads are for flushes. A fault, of a full disk perhaps, is told to who asks next. */
  async #fill(): Promise<void> {
    while (!this.#closed && this.#free.length > 0) {
      const spare = await this.#make(this.#free[0]!).catch(() => undefined);
      if (spare === undefined) return;
      this.#free.shift();
      this.#ready.push(spare);
    }
  }

  async #make(place: number): Promise<Spare> {
    const folder = join(this.#folder, String(place));
    const path = join(folder, String(this.#made++));
    const make = () => FileDescriptor.openBeside(path, 'wx');
    const file = await make().catch(async () => {
      await mkdir(folder, { recursive: true });
      return make();
    });
    return { path, place, file };
  }

  #idleLater(millis: number): void {
    this.#idling ??= setTimeout(() => {
      this.#idling = undefined;
      const left = this.#askedMillis + IDLE_MILLIS - Date.now();
      if (left > 0 && left <= IDLE_MILLIS) this.#idleLater(left);
      else this.#working = this.#working.then(() => this.#empty());
    }, millis).unref();
  }

  async #empty(): Promise<void> {
    const spares = this.#ready.splice(0);
    this.#free.push(...spares.map(({ place }) => place));
    await Promise.all(spares.map(discard));
    await removeEmpty(this.#folder);
  }
}

const stocks = new Set<FileStock>();

/**
 * Makes a new file, or takes one that was made before.
 * @param path Of a name that is never used twice.
 * @throws the system's error.
 */
export function createFile(path: string): FileDescriptor {
  for (const stock of stocks) if (stock.serves(path)) return stock.take(path) ?? timed(path, stock);
  return FileDescriptor.open(path, 'wx');
}

function timed(path: string, stock: FileStock): FileDescriptor {
  const start = performance.now();
  const file = FileDescriptor.open(path, 'wx');
  stock.made(performance.now() - start);
  return file;
}

/** What cannot be removed now is when the next process opens. Does not throw. */
async function discard({ path, file }: Spare): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
  try {
    file.close();
  } catch {
    // Nobody needs it any more.
  }
}

/**
 * Removes folders with files without bytes. A file that has some was given its name in a
 * table before the power failed, and its old name came back: whose it is cannot be said.
 */
async function removeEmpty(folder: string): Promise<void> {
  for (const place of await namesIn(folder)) {
    const inner = join(folder, place);
    for (const name of await namesIn(inner)) {
      const path = join(inner, name);
      // Another process may be removing it too.
      const found = await stat(path).catch(() => undefined);
      if (found?.size === 0) await rm(path, { force: true }).catch(() => undefined);
    }
    await rmdir(inner).catch(() => undefined);
  }
  await rmdir(folder).catch(() => undefined);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
