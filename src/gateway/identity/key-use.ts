import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const WRITE_MILLIS = 2_000;
/** A file without a later use is taken over. */
const ABANDONED_MILLIS = 24 * 60 * 60_000;
const NAME = /^[0-9a-f-]{36}\.json$/;

/** When keys were used last, by their ids: RFC 3339. */
export type LastUses = ReadonlyMap<string, string>;

/**
 * Remembers when keys are used. Each process writes a small file of its own, a
 * little after a use and never on a request's way, so that any number of
 * gateways may note uses beside each other. What a crash loses is the last
 * seconds.
 */
export class KeyUse {
  readonly #folder: string;
  readonly #path: string;
  readonly #onFault: (error: unknown) => void;
  readonly #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;

  private constructor(folder: string, onFault: (error: unknown) => void) {
    this.#folder = folder;
    this.#path = join(folder, `${randomUUID()}.json`);
    this.#onFault = onFault;
  }

  /**
   * Begins to note uses in a folder, and takes over the files of processes that
   * have written nothing for a day. `onFault` is called once when nothing can be written.
   */
  static async open(folder: string, onFault: (error: unknown) => void): Promise<KeyUse> {
    const use = new KeyUse(folder, onFault);
    await use.#takeOver().catch(onFault);
    return use;
  }

  note(id: string, now: Date): void {
    this.#uses.set(id, now.getTime());
    this.#timer ??= setTimeout(() => void this.#write(), WRITE_MILLIS).unref();
  }

  /** Writes what is noted. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) void this.#write();
    await this.#writing;
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing
      .then(() => this.#replace())
      .catch((error: unknown) => {
        if (!this.#failed) this.#onFault(error);
        this.#failed = true;
      });
    return this.#writing;
  }

  async #replace(): Promise<void> {
    const entries = [...this.#uses].map(([id, time]) => [id, new Date(time).toISOString()]);
    const draft = `${this.#path}.tmp`;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(draft, `${JSON.stringify(Object.fromEntries(entries))}\n`, { mode: 0o600 });
    await rename(draft, this.#path);
    this.#failed = false;
  }

  /** A process that is still alive writes all its uses again with its next use. */
  async #takeOver(): Promise<void> {
    const since = Date.now() - ABANDONED_MILLIS;
    const files = await filesOf(this.#folder);
    const old = files.filter(([, uses]) => [...uses.values()].every((time) => time < since));
    if (old.length === 0) return;
    for (const [, uses] of old) keepLatest(this.#uses, uses);
    await this.#replace();
    for (const [name] of old) await rm(join(this.#folder, name), { force: true });
  }
}

/** When each key was used last, by what the processes of a catalog have noted. */
export async function readKeyUses(folder: string): Promise<LastUses> {
  const latest = new Map<string, number>();
  for (const [, uses] of await filesOf(folder)) keepLatest(latest, uses);
  return new Map([...latest].map(([id, time]) => [id, new Date(time).toISOString()]));
}

function keepLatest(all: Map<string, number>, more: Uses): void {
  for (const [id, time] of more) all.set(id, Math.max(time, all.get(id) ?? 0));
}

async function filesOf(folder: string): Promise<readonly (readonly [string, Uses])[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const valid = names.filter((name) => NAME.test(name));
  return Promise.all(valid.map(async (name) => [name, await usesOf(join(folder, name))] as const));
}

type Uses = ReadonlyMap<string, number>;

/** The content of one file; empty if it is gone or truncated: times of use decide nothing. */
async function usesOf(path: string): Promise<Uses> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    const entries = Object.entries(value ?? {}).map(([id, time]): [string, number] => [
      id,
      Date.parse(String(time)),
    ]);
    return new Map(entries.filter(([, time]) => !Number.isNaN(time)));
  } catch {
    return new Map();
  }
}
