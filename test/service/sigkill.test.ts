import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { readJournal } from '../../src/engine/catalog/journal/journal-reader.ts';
import { namespaceKey, tableKey, versionKey } from '../../src/engine/catalog/records/keys.ts';
import { decodeTable } from '../../src/engine/catalog/records/records-codec.ts';
import { VersionReader } from '../../src/engine/catalog/records/version-reader.ts';
import { disk } from '../support/disk.ts';
import { readManifestFile } from '../support/manifest-file.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';
import { InsertLedger, OverwriteLedger, range, versionsOf } from './insert-ledger.ts';
import { NameLedger } from './name-ledger.ts';
import { randomOf, type Random } from './random.ts';
import { wideStream } from './wide-rows.ts';
import { casesOf } from '../support/cases.ts';
import { waitUntil } from '../support/eventually.ts';

const KILLS = casesOf(8, 18);
const seed = Date.now() % 2 ** 31;

let service: Service;
afterEach(() => service.stop());

/** The writers of one round, each at work until its connection is lost. */
class Writers {
  readonly inserts = range(3).map((at) => new InsertLedger(`t${at}`));
  readonly overwrites = new OverwriteLedger('o');
  readonly names = range(2).map((at) => new NameLedger(`n${at}-`));
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  async create(url: string): Promise<void> {
    for (const ledger of [...this.inserts, this.overwrites]) await ledger.create(url);
  }

  async run(url: string): Promise<void> {
    const appends = [...this.inserts, ...this.inserts].map((ledger) => async () => {
      await ledger.insert(url, 1 + this.#random(300));
    });
    const others = [
      () => this.overwrites.overwrite(url),
      ...this.names.map((names) => () => names.live(url)),
    ];
    await Promise.all([...appends, ...others].map(untilCut));
  }

  async check(url: string): Promise<void> {
    for (const ledger of [...this.inserts, this.overwrites, ...this.names]) await ledger.check(url);
  }
}

/** Works again and again until the connection is lost. */
async function untilCut(work: () => Promise<void>): Promise<void> {
  try {
    for (;;) await work();
  } catch (error) {
    if (!isCut(error)) throw error;
  }
}

function isCut(error: unknown): boolean {
  const cut = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'];
  return error instanceof Error && 'code' in error && cut.includes(String(error.code));
}

/** What the journal says of each key, change by change: the value, or null where it was removed. */
async function journalOf(
  data: string,
): Promise<ReadonlyMap<string, readonly (Uint8Array | null)[]>> {
  const history = new Map<string, (Uint8Array | null)[]>();
  const damaged: unknown[] = [];
  for await (const change of readJournal(disk, join(data, 'catalog'), (damage) =>
    damaged.push(damage),
  )) {
    for (const { key, value } of change.writes) {
      const values = history.get(key) ?? [];
      values.push(value);
      history.set(key, values);
    }
  }
  // A crash can tear the line that was being written, no other.
  expect(damaged.filter((damage) => !(damage as { last: boolean }).last)).toEqual([]);
  return history;
}

/** Reads every manifest of a table and looks for every file that it names. */
async function checkManifests(folder: string, versions: readonly number[]): Promise<void> {
  const sizes = new Map<string, number>();
  const reader = new VersionReader(disk);
  for (const version of versions) {
    const path = join('versions', `${String(version).padStart(20, '0')}.arrow`);
    const manifest = await readManifestFile(folder, path, reader);
    expect(manifest.version).toBe(BigInt(version));
    for (const { path: file, bytes } of manifest.fragments.flatMap(({ files }) => files)) {
      const size = sizes.get(file) ?? (await stat(join(folder, file))).size;
      sizes.set(file, size);
      expect(size).toBe(bytes);
    }
  }
}

/** Everything that was acknowledged must be in the journal and on disk, without the store. */
async function checkDisk(service: Service, writers: Writers): Promise<void> {
  const history = await journalOf(service.data);
  for (const table of [...writers.inserts.map(({ table }) => table), 'o']) {
    const versions = await versionsOf(service.url, table);
    const { id } = decodeTable(history.get(tableKey([table]))!.at(-1)!);
    const written = versions.filter((version) =>
      history.has(versionKey(id, 'main', BigInt(version))),
    );
    expect(written).toEqual(versions);
    await checkManifests(join(service.data, 'tables', id), versions);
  }
  for (const names of writers.names) {
    for (const [name, family] of names.found) {
      const isThere = (key: string): boolean => (history.get(key)?.at(-1) ?? null) !== null;
      expect(isThere(namespaceKey([name])), name).toBe(family.namespace);
      expect(isThere(tableKey([name, 't'])), name).toBe(family.table);
    }
    for (const { name, to } of names.acknowledged) {
      const values = history.get(namespaceKey([name])) ?? [];
      expect(
        values.some((value) => (value !== null) === to.namespace),
        name,
      ).toBe(true);
    }
  }
}

describe('SIGKILL', () => {
  it(`loses nothing that was acknowledged and shows nothing by halves (seed ${seed})`, async () => {
    const random = randomOf(seed);
    const writers = new Writers(random);
    service = await Service.start();
    await writers.create(service.url);
    for (let kill = 0; kill < KILLS; kill++) {
      const running = writers.run(service.url);
      await sleep(30 + random(400));
      // How much is done until then depends on the machine; that nobody got anything done would prove nothing.
      if (kill === KILLS - 1)
        await waitUntil(() => writers.inserts.every(({ acknowledged }) => acknowledged > 0));
      await service.end('SIGKILL');
      await running;
      await service.restart();
      await writers.check(service.url);
    }
    await checkDisk(service, writers);
  });
});

describe('SIGTERM', () => {
  /** A stream that waits before its last piece until it is let go. */
  async function* heldBack(letGo: Promise<void>): AsyncGenerator<Uint8Array> {
    let piece = 0;
    for await (const bytes of wideStream({ batches: 2, rowsPerBatch: 1000 })) {
      if (piece++ === 2) await letGo;
      yield bytes;
    }
  }

  it('finishes what runs, takes nothing new, and exits with everything recorded', async () => {
    service = await Service.start();
    await send(service.url, 'POST /v1/table/t/create', {
      body: wideStream({ batches: 0, rowsPerBatch: 1 }),
    });
    let letGo: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    const inserts = range(5).map(() =>
      send(service.url, 'POST /v1/table/t/insert', {
        body: heldBack(gate),
        headers: { connection: 'keep-alive' },
      }),
    );
    // An attempt is recorded when its request has begun.
    const attempts = async (): Promise<number> =>
      (await service.audit()).filter((record) => record['operation'] === 'InsertIntoTable').length;
    await waitUntil(async () => (await attempts()) >= 5);

    const exit = service.end('SIGTERM');
    await waitUntil(() => isRefused(service.url));
    letGo();
    const replies = await Promise.all(inserts);
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200, 200, 200]);
    expect(await exit).toBe(0);

    const records = (await service.audit()).filter(
      (record) => record['operation'] === 'InsertIntoTable',
    );
    for (const reply of replies) {
      const id = reply.headers['x-arrowgate-decision-id'];
      const phases = records
        .filter((record) => record['decision_id'] === id)
        .map((record) => record['phase']);
      expect(phases).toEqual(['attempt', 'outcome']);
    }
    await service.restart();
    expect((await send(service.url, 'GET /v1/table/t/count_rows')).text).toBe('10000');
  });

  async function isRefused(url: string): Promise<boolean> {
    try {
      return (await send(url, 'GET /healthz')).status !== 200;
    } catch (error) {
      if (isCut(error)) return true;
      throw error;
    }
  }
});
