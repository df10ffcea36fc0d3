import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Storage } from '../../../storage/storage.ts';
import { isAlive, ownMark, type ProcessMark } from '../../../store/process-mark.ts';
import type { Running } from './running.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';

/** Sign of life of a process: its time, and the start of its oldest work in progress. */
interface Sign extends ProcessMark {
  readonly atMillis: number;
  readonly oldestMillis: number | null;
}

/** Last reading of a process: its time, and the start of the oldest work in progress then. */
export interface View {
  readonly seenMillis: number;
  /** Infinity when nothing was. */
  readonly oldestMillis: number;
}

/** Signs of life of all processes of a data folder. */
export interface Processes {
  /** The last signs of processes that may be alive. */
  others(): Promise<readonly View[]>;
  /** Waits until they have said how things are after now; those that do not are not waited for long. */
  refreshed(): Promise<void>;
}

interface Other {
  readonly name: string;
  readonly path: string;
  readonly sign: Sign;
  readonly mayLive: boolean;
}

const SIGN_MILLIS = 2000;
/** How long others are waited for, so that they say how things are now. */
export const PRESENCE_MILLIS = 3 * SIGN_MILLIS;
const POLL_MILLIS = 100;
/** A process of another machine without a sign of life for this long is gone, in ms. */
const SILENT_MILLIS = 3_600_000;
/** Maximum difference between the clocks of two machines, in ms. */
const SKEW_MILLIS = 10_000;

/**
 * Publishes the start of the oldest work in progress here to the other processes of a data folder, in a
 * small file that is rewritten at intervals, and reads theirs. The file of a killed process is removed by
 * the first process that finds it gone.
 */
export class Presence implements Processes {
  readonly #storage: Storage;
  readonly #folder: string;
  /** The name of this process among those of the data folder. */
  readonly name = `${randomUUID()}.json`;
  readonly #running: Running;
  readonly #mark: ProcessMark;
  /** The names of processes that were seen to be dead, and whose files are gone. */
  readonly #dead = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  readonly #reading: boolean;

  private constructor(
    storage: Storage,
    folder: string,
    running: Running,
    mark: ProcessMark,
    reading = false,
  ) {
    this.#reading = reading;
    this.#storage = storage;
    this.#folder = folder;
    this.#running = running;
    this.#mark = mark;
  }

  /** @param folder Where the processes of a data folder write. */
  static async open(storage: Storage, folder: string, running: Running): Promise<Presence> {
    await storage.folders?.make(folder);
    const presence = new Presence(storage, folder, running, await ownMark());
    await presence.#write();
    presence.#timer = setInterval(() => presence.#sign(), SIGN_MILLIS).unref();
    return presence;
  }

  /** The same for a folder that cannot be written: other processes do not see this one. */
  static async openForReading(
    storage: Storage,
    folder: string,
    running: Running,
  ): Promise<Presence> {
    return new Presence(storage, folder, running, await ownMark(), true);
  }

  /** The last signs of other processes that may be alive. */
  async others(): Promise<readonly View[]> {
    return (await this.#others()).map(({ sign }) => viewOf(sign, this.#mark));
  }

  /** Whether the process of a name may still be alive. */
  async isAlive(name: string): Promise<boolean> {
    if (name === this.name) return true;
    const path = join(this.#folder, name);
    return (await this.#others()).some((other) => other.path === path);
  }

  /**
   * Whether the process of a name was seen to be dead from here. Of one whose file is not
   * there nothing is known: it may have come to be a moment ago, on another machine.
   */
  async isGone(name: string): Promise<boolean> {
    await this.#others();
    return this.#dead.has(name);
  }

  async refreshed(): Promise<void> {
    await refreshed(() => this.#others());
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    if (this.#reading) return;
    await this.#storage.discard(join(this.#folder, this.name));
  }

  /** A failed write is repeated next time; until then others see an old sign, which keeps files longer. */
  #sign(): void {
    this.#writing = this.#writing.then(() => this.#write()).catch(() => undefined);
  }

  async #write(): Promise<void> {
    const atMillis = Date.now();
    const sign: Sign = { ...this.#mark, atMillis, oldestMillis: this.#running.oldest() ?? null };
    const path = join(this.#folder, this.name);
    await this.#storage.note(path, Buffer.from(JSON.stringify(sign)));
  }

  /** The other processes that may be alive. */
  async #others(): Promise<readonly Other[]> {
    const found: Other[] = [];
    for (const other of await signsIn(this.#storage, this.#folder, this.#mark, this.name)) {
      if (other.mayLive) {
        found.push(other);
        continue;
      }
      this.#dead.add(other.name);
      if (this.#reading) continue;
      const { path } = other;
      for (const left of [path, `${path}.new`]) await this.#storage.discard(left);
    }
    return found;
  }
}

/** The processes of a data folder as one that is none of them sees them: no file is written or removed. */
export async function readProcesses(storage: Storage, folder: string): Promise<Processes> {
  const mark = await ownMark();
  const living = async () =>
    (await signsIn(storage, folder, mark)).filter(({ mayLive }) => mayLive);
  return {
    others: async () => (await living()).map(({ sign }) => viewOf(sign, mark)),
    refreshed: () => refreshed(living),
  };
}

async function refreshed(others: () => Promise<readonly Other[]>): Promise<void> {
  const now = Date.now();
  for (let waited = 0; waited < PRESENCE_MILLIS; waited += POLL_MILLIS) {
    if ((await others()).every(({ sign }) => sign.atMillis > now)) return;
    await sleep(POLL_MILLIS);
  }
}

/** The signs in a folder, but for that of a name. */
async function signsIn(
  storage: Storage,
  folder: string,
  own: ProcessMark,
  except?: string,
): Promise<readonly Other[]> {
  const found: Other[] = [];
  const names = (await storage.names(folder)) ?? [];
  for (const name of names) {
    if (!name.endsWith('.json') || name === except) continue;
    const path = join(folder, name);
    const sign = await readSign(storage, path);
    if (sign === undefined) continue;
    found.push({ name, path, sign, mayLive: await mayLive(sign, own) });
  }
  return found;
}

async function mayLive(sign: Sign, own: ProcessMark): Promise<boolean> {
  return (await isAlive(sign, own)) ?? Date.now() - sign.atMillis < SILENT_MILLIS;
}

function viewOf({ atMillis, oldestMillis, host }: Sign, own: ProcessMark): View {
  const skew = host === own.host ? 0 : SKEW_MILLIS;
  const oldest = oldestMillis ?? Number.POSITIVE_INFINITY;
  return { seenMillis: atMillis - skew, oldestMillis: oldest - skew };
}

/** Undefined for a file that went away meanwhile. */
async function readSign(storage: Storage, path: string): Promise<Sign | undefined> {
  const text = (await unlessMissing(storage.read(path, 'all')))?.toString();
  return text === undefined ? undefined : (signOf(text) ?? unreadable(storage, path));
}

function signOf(text: string): Sign | undefined {
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === 'object' && said !== null ? (said as Sign) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A file whose bytes a machine lost when its power went: signs are too frequent to be brought to
 * stable storage. A process that lives writes its own again; until it has been silent for
 * long this one may be of another machine, and nothing is known of what is in progress there.
 */
async function unreadable(storage: Storage, path: string): Promise<Sign | undefined> {
  const stat = await storage.stat(path);
  return stat && { pid: 0, born: '', host: '', atMillis: stat.writtenMillis, oldestMillis: 0 };
}
