import { parseRedisAddress } from './address.ts';
import { connectRedis, isAnswered, type RedisClient, type RedisLink } from './client.ts';
import type { Note, Notes } from '../notes.ts';

/** Timeout of the first connection, in ms. */
const FIRST_MILLIS = 5000;

/**
 * Opens the notes of a catalog in Redis: a hash in the same slot as the catalog's other keys.
 * Opens without Redis as well, and works as soon as Redis answers.
 * @throws StoreError address.
 */
export async function openNotesRedis(
  url: string,
  catalog: string,
  purpose: string,
): Promise<Notes> {
  const link = await connectRedis(parseRedisAddress(url));
  await link.untilReady(FIRST_MILLIS);
  return new NotesRedis(link, `{arrowgate:${catalog}}:${purpose}`);
}

class NotesRedis implements Notes {
  readonly #link: RedisLink;
  readonly #key: string;

  constructor(link: RedisLink, key: string) {
    this.#link = link;
    this.#key = key;
  }

  async keep(name: string, text: string): Promise<void> {
    await this.#run((client) => client.hset(this.#key, name, text));
  }

  keepOwn(name: string, text: string): Promise<void> {
    return this.keep(name, text);
  }

  async claim(name: string, text: string): Promise<boolean> {
    return (await this.#run((client) => client.hsetnx(this.#key, name, text))) === 1;
  }

  async get(name: string): Promise<string | undefined> {
    return (await this.#run((client) => client.hget(this.#key, name))) ?? undefined;
  }

  async remove(name: string): Promise<void> {
    await this.#run((client) => client.hdel(this.#key, name));
  }

  async all(): Promise<readonly Note[]> {
    const found = await this.#run((client) => client.hgetall(this.#key));
    return Object.entries(found)
      .map(([name, text]) => ({ name, text }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async close(): Promise<void> {
    this.#link.client.disconnect();
  }

  /** Replaces a connection without an answer: its server may be gone. */
  async #run<Result>(command: (client: RedisClient) => Promise<Result>): Promise<Result> {
    try {
      return await command(this.#link.client);
    } catch (error) {
      if (!isAnswered(error)) this.#link.leave();
      throw error;
    }
  }
}
