import { randomUUID } from 'node:crypto';
import type { UseBoard } from './use-board.ts';

const WRITE_MILLIS = 2_000;
/** A text without a later use is taken over. */
const ABANDONED_MILLIS = 24 * 60 * 60_000;

/** When keys were used last, by their ids: RFC 3339. */
export type LastUses = ReadonlyMap<string, string>;

/**
 * Remembers when keys are used. Each process writes a small text of its own, a
 * little after a use and never on a request's way, so that any number of
 * gateways may note uses beside each other. What a crash loses is the last
 * seconds.
 */
export class KeyUse {
  readonly #board: UseBoard;
  readonly #name = randomUUID();
  readonly #onFault: (error: unknown) => void;
  readonly #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;

  private constructor(board: UseBoard, onFault: (error: unknown) => void) {
    this.#board = board;
    this.#onFault = onFault;
  }

  /**
   * Begins to note uses, and takes over the texts of processes that
   * have written nothing for a day. `onFault` is called once when nothing can be written.
   */
  static async open(board: UseBoard, onFault: (error: unknown) => void): Promise<KeyUse> {
    const use = new KeyUse(board, onFault);
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
    await this.#board.write(this.#name, JSON.stringify(Object.fromEntries(entries)));
    this.#failed = false;
  }

  /** A process that is still alive writes all its uses again with its next use. */
  async #takeOver(): Promise<void> {
    const since = Date.now() - ABANDONED_MILLIS;
    const all = await usesOn(this.#board);
    const old = all.filter(([, uses]) => [...uses.values()].every((time) => time < since));
    if (old.length === 0) return;
    for (const [, uses] of old) keepLatest(this.#uses, uses);
    await this.#replace();
    for (const [name] of old) await this.#board.remove(name);
  }
}

/** When each key was used last, by what the processes of a catalog have noted. */
export async function readKeyUses(board: Pick<UseBoard, 'all'>): Promise<LastUses> {
  const latest = new Map<string, number>();
  for (const [, uses] of await usesOn(board)) keepLatest(latest, uses);
  return new Map([...latest].map(([id, time]) => [id, new Date(time).toISOString()]));
}

function keepLatest(all: Map<string, number>, more: Uses): void {
  for (const [id, time] of more) all.set(id, Math.max(time, all.get(id) ?? 0));
}

async function usesOn(board: Pick<UseBoard, 'all'>): Promise<readonly (readonly [string, Uses])[]> {
  return (await board.all()).map(({ name, text }) => [name, usesOf(text)]);
}

type Uses = ReadonlyMap<string, number>;

/** The content of one text; empty if it is truncated: times of use decide nothing. */
function usesOf(text: string): Uses {
  try {
    const value: unknown = JSON.parse(text);
    const entries = Object.entries(value ?? {}).map(([id, time]): [string, number] => [
      id,
      Date.parse(String(time)),
    ]);
    return new Map(entries.filter(([, time]) => !Number.isNaN(time)));
  } catch {
    return new Map();
  }
}
