import { cp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts';
import type { Store } from '../../../src/store/store.ts';

/**
 * Flips one bit of a copy of a store for each number from FIRST to LAST, opens the copy, and prints what it answers:
 * `right`, `refused` or, where an answer is not what was committed, `wrong KEY`.
 */
const [folder = '', first = '0', last = '0'] = process.argv.slice(2);

/** Pages before this offset name the newest transaction; the journal shows one that went back. */
const TREES = 2 * 4096;

for (let number = Number(first); number <= Number(last); number++) {
  const copy = join(folder, `copy${number}`);
  await cp(join(folder, 'whole'), copy, { recursive: true });
  await flip(join(copy, 'data.mdb'), number);
  console.log(`${number} ${await answers(copy)}`);
  await rm(copy, { recursive: true, force: true });
}
process.exit(0);

async function flip(path: string, number: number): Promise<void> {
  const file = await open(path, 'r+');
  const { size } = await file.stat();
  // Steps of the golden section spread over the file evenly.
  const at = TREES + Math.floor(((number * 0.6180339887) % 1) * (size - TREES));
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte[0]! ^= 1 << (number % 8);
  await file.write(byte, 0, 1, at);
  await file.close();
}

async function answers(copy: string): Promise<string> {
  let store: Store;
  try {
    store = await openEmbeddedStore(copy);
  } catch {
    return 'refused';
  }
  let refused = await isRefused(store.checkKeys!());
  for (let at = 0; at < 600; at++) {
    for (const group of 'NTV') {
      const key = `${group}${at}`;
      const value = await store.get(key).catch(() => null);
      if (value === null) refused = true;
      else if (Buffer.from(value ?? []).toString() !== `${key} `.repeat(20)) return `wrong ${key}`;
    }
  }
  for (const group of 'NTV') {
    const range = { start: group, end: `${group}~`, limit: 1000 };
    const entries = await store.range(range).catch(() => null);
    if (entries === null) refused = true;
    else if (entries.length !== 600) return `wrong range of ${group}`;
  }
  return refused ? 'refused' : 'right';
}

async function isRefused(check: Promise<{ readonly damaged: readonly unknown[] }>) {
  return check.then(
    ({ damaged }) => damaged.length > 0,
    () => true,
  );
}
