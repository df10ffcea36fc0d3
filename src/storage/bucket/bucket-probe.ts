import { randomUUID } from 'node:crypto';
import type { BucketClient } from './bucket-client.ts';

/** Writers that race for one object. */
const WRITERS = 8;

/**
 * Tries what the gateway relies on with an object of its own: conditional requests decide races,
 * ranges are answered, objects can be listed and removed.
 * @param prefix Of the keys that may be used, with the slash at its end; empty for all.
 * @returns Why the store cannot be used; undefined if it can.
 * @throws StorageUnavailable, StorageRefused
 */
export async function probeBucket(
  client: BucketClient,
  prefix: string,
): Promise<string | undefined> {
  const key = `${prefix}.arrowgate-probe-${randomUUID()}`;
  try {
    const fault = (await raceFault(client, key)) ?? (await readingFault(client, key));
    await client.remove(key);
    return fault;
  } catch (error) {
    await client.remove(key).catch(() => undefined);
    throw error;
  }
}

/** Of concurrent writers one creates the object, and later ones do not either. */
async function raceFault(client: BucketClient, key: string): Promise<string | undefined> {
  const texts = Array.from({ length: WRITERS }, (_, at) => `written by ${at}`);
  const placed = await Promise.all(texts.map((text) => client.putNew(key, Buffer.from(text))));
  const late = await client.putNew(key, Buffer.from('written later'));
  const winners = texts.filter((_, at) => placed[at] === 'created');
  const found = await client.first(key, 100);
  const text = Buffer.from(found?.bytes ?? []).toString();
  if (late === 'exists' && winners.length === 1 && winners[0] === text) return undefined;
  return 'it does not honour conditional requests (If-None-Match: *), so concurrent commits could overwrite each other';
}

async function readingFault(client: BucketClient, key: string): Promise<string | undefined> {
  const into = Buffer.alloc(5);
  const range = await client.range(key, 3, into);
  if (range?.read !== into.byteLength || into.toString() !== 'tten ') {
    return 'it does not answer ranges of objects';
  }
  for await (const { objects } of client.pages(key)) {
    if (objects.some((one) => one.key === key)) return undefined;
  }
  return 'it does not list an object that was written before';
}
