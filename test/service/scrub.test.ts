import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, expect, it } from 'vitest';
import { openNotesForReading } from '../../src/store/open/open-store.ts';
import { streamOf } from '../support/engine-table.ts';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { ARROW_STREAM, send } from './http.ts';

let service: Service;

afterEach(() => service?.stop());

async function start(scrub: string, tables: readonly string[]): Promise<void> {
  service = await Service.start({ config: `scrub: ${scrub}\n` });
  const values = Array.from({ length: 20_000 }, (_, at) => BigInt(at));
  const body = streamOf({ id: vectorFromArray(values, new Int64()) });
  for (const name of tables) {
    const request = `POST /v1/table/${name}/create`;
    expect((await send(service.url, request, { body, headers: ARROW_STREAM })).status).toBe(200);
  }
}

/** Flips a bit in a data file that no request reads. */
async function flip(): Promise<string> {
  const root = join(service.data, 'tables');
  const names = await readdir(root, { recursive: true });
  const path = join(root, names.find((name) => /\/data\/.*\.arrow$/.test(name)) ?? '');
  const bytes = await readFile(path);
  bytes[40_000]! ^= 16;
  await writeFile(path, bytes);
  return path;
}

/** How far the gateways of the catalog got. */
async function note() {
  const folder = join(service.data, 'private', 'store');
  const notes = await openNotesForReading({ redis: null, catalog: '', folder }, 'scrub');
  try {
    return JSON.parse((await notes.get('scrub')) ?? 'null');
  } finally {
    await notes.close();
  }
}

it('finds damage that no request has read', async () => {
  await start('{ rate: 1GiB, period: 1s }', ['a', 'b']);
  const path = await flip();
  await eventually(async () => {
    const { json } = await send(service.url, 'GET /readyz');
    expect(json).toMatchObject({ status: 'degraded' });
    expect(JSON.stringify(json['parts'])).toContain(`${path} is damaged: restore from a backup`);
  });
  await eventually(async () => {
    const { text } = await send(service.url, 'GET /metrics');
    expect(text).toContain('arrowgate_damaged_files_total{kind="data"} 1\n');
    expect(text).toMatch(/^arrowgate_scrub_finished_seconds [1-9]/m);
  });
  const lines = service.errors.split('\n').filter((line) => line.includes('is damaged'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('portion 2 (bytes 32768 to 49151)');
});

it('ends at once with the service, and the next start continues', async () => {
  // A pass takes minutes at this rate.
  await start('{ rate: 64KiB, period: 1s }', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
  const running = await eventually(async () => {
    const found = await note();
    expect(found).toMatchObject({
      owner: expect.any(String),
      cursor: expect.stringMatching(/^\/[b-h]$/),
    });
    return found;
  });
  expect(await service.end()).toBe(0);
  const ended = await note();
  expect(ended).toMatchObject({ owner: null, finishedMillis: running.finishedMillis });
  expect(ended.cursor).toMatch(/^\/[b-h]$/);
  await service.restart();
  await eventually(async () => {
    const { owner, cursor } = await note();
    expect(owner).toEqual(expect.any(String));
    expect(cursor >= ended.cursor).toBe(true);
  });
});

it('is done by one gateway at a time, and by another when that one ends', async () => {
  await start('{ rate: 64KiB, period: 1s }', ['a', 'b', 'c', 'd']);
  const other = await Service.beside(service);
  try {
    const owners = new Set<string>();
    await eventually(async () => {
      const { owner, count } = await note();
      if (owner !== null) owners.add(owner);
      expect(count).toBeGreaterThan(3);
    });
    expect(owners.size).toBe(1);
    const { count } = await note();
    expect(await service.end()).toBe(0);
    await eventually(async () => {
      const later = await note();
      expect(later.owner).toEqual(expect.any(String));
      expect(later.count).toBeGreaterThan(count + 1);
    });
  } finally {
    await other.end();
  }
});

it('is off with null', async () => {
  await start('{ rate: null }', ['a']);
  const { text } = await send(service.url, 'GET /metrics');
  expect(text).not.toMatch(/^arrowgate_scrub_finished_seconds \d/m);
});
