import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, ownMark, type ProcessMark } from '../../../store/process-mark.ts';
import {
  DoubtfulSigns,
  PRESENCE_MILLIS,
  type PostedSign,
  type PresenceBoard,
  type ReadPresenceBoard,
} from './presence-board.ts';
import type { Running } from './running.ts';

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

/** Signs of life of all processes of a catalog. */
export interface Processes {
  /** The last signs of processes that may be alive. */
  others(): Promise<readonly View[]>;
  /** Waits until they have said how things are after now; those that do not are not waited for long. */
  refreshed(): Promise<void>;
}

interface Other {
  readonly name: string;
  readonly sign: Sign;
  readonly mayLive: boolean;
}

const SIGN_MILLIS = 2000;
/** How long others are waited for, so that they say how things are now, in ms. */
export const REFRESH_MILLIS = 2 * PRESENCE_MILLIS;
const POLL_MILLIS = 100;
/** A process of another machine without a sign of life for this long is gone, in ms. */
const SILENT_MILLIS = 3_600_000;
/** Maximum difference between the clocks of two machines, in ms. */
const SKEW_MILLIS = 10_000;

/**
 * Publishes the start of the oldest work in progress here to the other processes of a catalog, in a
 * sign that is posted at intervals, and reads theirs. The sign of a killed process is removed by the
 * first process that finds it gone.
 */
export class Presence implements Processes {
  readonly #board: PresenceBoard;
  /** The name of this process among those of the catalog. */
  readonly name = `${randomUUID()}.json`;
  readonly #running: Running;
  readonly #mark: ProcessMark;
  /** The names of processes that were seen to be dead, and whose signs are gone. */
  readonly #dead = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  readonly #reading: boolean;

  private constructor(board: PresenceBoard, running: Running, mark: ProcessMark, reading = false) {
    this.#reading = reading;
    this.#board = board;
    this.#running = running;
    this.#mark = mark;
  }

  /** @throws StoreError unavailable where signs are kept beside a store that does not answer. */
  static async open(board: PresenceBoard, running: Running): Promise<Presence> {
    const presence = new Presence(board, running, await ownMark());
    try {
      await presence.#write();
    } catch (error) {
      await board.close();
      throw error;
    }
    presence.#timer = setInterval(() => presence.#sign(), SIGN_MILLIS).unref();
    return presence;
  }

  /** The same for a data folder that cannot be written: other processes do not see this one. */
  static async openForReading(board: PresenceBoard, running: Running): Promise<Presence> {
    return new Presence(board, running, await ownMark(), true);
  }

  /** The last signs of other processes that may be alive. */
  async others(): Promise<readonly View[]> {
    return (await this.#others()).map(({ sign }) => viewOf(sign, this.#mark));
  }

  /** Whether the process of a name may still be alive. */
  async isAlive(name: string): Promise<boolean> {
    if (name === this.name) return true;
    return (await this.#others()).some((other) => other.name === name);
  }

  /**
   * Whether the process of a name was seen to be dead from here. Of one whose sign is not
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
    // Others find out that this process is gone if they cannot be told.
    if (!this.#reading) await this.#board.remove(this.name).catch(() => undefined);
    await this.#board.close();
  }

  /** A failed write is repeated next time; until then others see an old sign, which keeps files longer. */
  #sign(): void {
    this.#writing = this.#writing.then(() => this.#write()).catch(() => undefined);
  }

  async #write(): Promise<void> {
    const atMillis = Date.now();
    const sign: Sign = { ...this.#mark, atMillis, oldestMillis: this.#running.oldest() ?? null };
    await this.#board.post(this.name, JSON.stringify(sign));
  }

  /** The other processes that may be alive. */
  async #others(): Promise<readonly Other[]> {
    const found: Other[] = [];
    for (const other of await signsOn(this.#board, this.#mark, this.name)) {
      if (other.mayLive) {
        found.push(other);
        continue;
      }
      this.#dead.add(other.name);
      if (!this.#reading) await this.#board.remove(other.name);
    }
    return found;
  }
}

/** The processes of a catalog as one that is none of them sees them: no sign is posted or removed. */
export async function readProcesses(board: ReadPresenceBoard): Promise<Processes> {
  const mark = await ownMark();
  const living = async () => (await signsOn(board, mark)).filter(({ mayLive }) => mayLive);
  return {
    others: async () => (await living()).map(({ sign }) => viewOf(sign, mark)),
    refreshed: () => refreshed(living),
  };
}

async function refreshed(others: () => Promise<readonly Other[]>): Promise<void> {
  const now = Date.now();
  let most = PRESENCE_MILLIS;
  for (let waited = 0; waited < most; waited += POLL_MILLIS) {
    try {
      if ((await others()).every(({ sign }) => sign.atMillis > now)) return;
    } catch (error) {
      if (!(error instanceof DoubtfulSigns)) throw error;
      most = REFRESH_MILLIS;
    }
    await sleep(POLL_MILLIS);
  }
}

/** The signs on a board, but for that of a name. */
async function signsOn(
  board: ReadPresenceBoard,
  own: ProcessMark,
  except?: string,
): Promise<readonly Other[]> {
  const found: Other[] = [];
  for (const posted of await board.signs()) {
    if (posted.name === except) continue;
    const sign = signOf(posted.text) ?? (await unreadable(posted));
    if (sign === undefined) continue;
    found.push({ name: posted.name, sign, mayLive: await mayLive(sign, own) });
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
async function unreadable({ postedMillis }: PostedSign): Promise<Sign | undefined> {
  const atMillis = await postedMillis();
  return atMillis === undefined
    ? undefined
    : { pid: 0, born: '', host: '', atMillis, oldestMillis: 0 };
}
