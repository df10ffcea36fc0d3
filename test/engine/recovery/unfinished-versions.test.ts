import { disk } from '../../support/disk.ts';
import { link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { versionFile } from '../../../src/engine/format/lance/version-file.ts';
import { rebuild } from '../../../src/engine/upkeep/recovery/rebuild.ts';
import { streamOf } from '../../support/engine-table.ts';
import { openOther, type TestEngine } from '../../support/engine.ts';
import { ManagedTable, manifestOf } from '../../support/managed-table.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { anything } from '../../support/permit.ts';
import { ask, requestOf, type Sent } from '../../support/request.ts';
import { stoppingStore, type StoppingStore } from '../../support/stopping-store.ts';

/**
 * A process stops between the conditional commit of a version and all that follows it.
 * Another one builds on that version, or says that it is there; then the store is lost.
 */

let managed: ManagedTable;
let twin: ManagedTable;
let engine: TestEngine;
/** The process that stops. */
let stopped: Engine;
let stopping: StoppingStore;

const rows = (value: bigint) => streamOf({ n: vectorFromArray([value], new Int64()) });

beforeEach(async () => {
  managed = await ManagedTable.open();
  twin = await managed.further('u');
  engine = managed.engine;
  await ask(engine.backend, 'POST /v1/table/own/create', { body: rows(1n) });
  await managed.commit(1n);
  await twin.commit(1n);
  stopping = stoppingStore(engine.store);
  stopped = await openOther({ data: engine.data, store: stopping.store });
});

afterEach(async () => {
  await stopped.close();
  await managed.close();
});

/** Sends a request to a process that stops once its commit has taken effect. */
async function cutOff(line: string, sent: Sent): Promise<void> {
  const reached = stopping.arm();
  const asked = ask(stopped.backend, line, sent).catch(() => undefined);
  await reached;
  // What a dead process held open is not what this is about.
  stopping.release();
  await asked;
}

/** What a catalog says of the versions of the three tables once it has been rebuilt from its folder alone. */
async function rebuilt(query = '', names = ['own', 't', 'u']): Promise<readonly unknown[]> {
  const store = new MemoryStore();
  const options = { data: engine.data, store, dryRun: false, force: false };
  await rebuild({ storage: disk, ...options, progress: () => undefined });
  const other = await openOther({ data: engine.data, store });
  const found = [];
  for (const name of names) {
    const answer = await ask(other.backend, `POST /v1/table/${name}/version/list${query}`);
    const { versions } = answer.json as unknown as { versions: { version: number }[] };
    found.push(versions.map(({ version }) => version));
  }
  await other.close();
  return found;
}

const body = (version: number, manifest_path: string) => ({ version, manifest_path });

describe('a version whose process stopped after its commit', () => {
  it('of an engine table is not lost with the store once another was built on it', async () => {
    await cutOff('POST /v1/table/own/insert', { body: rows(2n) });
    const next = await ask(engine.backend, 'POST /v1/table/own/insert', { body: rows(3n) });
    expect(next.json).toMatchObject({ version: 3 });
    expect(await rebuilt()).toEqual([[1, 2, 3], [1], [1]]);
  });

  it('of a managed table is not lost with the store once another was built on it', async () => {
    const staged = await managed.stage(2n);
    await cutOff('POST /v1/table/t/version/create', { body: body(2, staged) });
    await managed.commit(3n);
    expect(await rebuilt()).toEqual([[1], [1, 2, 3], [1]]);
    expect(await managed.versions()).toEqual([1, 2, 3]);
  });

  it('is not lost either where its manifest got the final name before the journal its line', async () => {
    const staged = await managed.stage(2n);
    await cutOff('POST /v1/table/t/version/create', { body: body(2, staged) });
    const final = join('_versions', versionFile(2n, 'V2'));
    const isHeld = (name: string) => name.startsWith(`${final}.`);
    const [held = ''] = (await managed.files()).filter(isHeld);
    await link(join(managed.location, held), join(managed.location, final));
    await managed.commit(3n);
    expect(await rebuilt()).toEqual([[1], [1, 2, 3], [1]]);
    expect((await managed.files()).filter(isHeld)).toEqual([]);
  });

  it('is not lost either where the next commit waits for the record of its attempt', async () => {
    const staged = await managed.stage(2n);
    await cutOff('POST /v1/table/t/version/create', { body: body(2, staged) });
    const next = { body: body(3, await managed.stage(3n)) };
    const request = requestOf('POST /v1/table/t/version/create', next);
    const ahead = { bytes: request.body, recorded: async (): Promise<void> => undefined };
    const made = await engine.backend.handle({ ...request, ahead }, anything());
    expect(made.status).toBe(200);
    expect(await rebuilt()).toEqual([[1], [1, 2, 3], [1]]);
  });

  it('is not lost with the store once another process says that it was made', async () => {
    const staged = await managed.stage(2n);
    await cutOff('POST /v1/table/t/version/create', { body: body(2, staged) });
    await managed.create(2n, staged);
    expect(await rebuilt()).toEqual([[1], [1, 2], [1]]);
  });

  it('is not lost with the store once anybody has read it', async () => {
    await cutOff('POST /v1/table/own/insert', { body: rows(2n) });
    await ask(engine.backend, 'POST /v1/table/own/describe');
    const staged = await managed.stage(2n);
    await cutOff('POST /v1/table/t/version/create', { body: body(2, staged) });
    await managed.versions();
    expect(await rebuilt()).toEqual([[1, 2], [1, 2], [1]]);
  });

  it('in a batch is whole, and so is the batch', async () => {
    const entries = [
      { id: ['t'], ...body(2, await managed.stage(2n)) },
      { id: ['u'], ...body(2, await twin.stage(2n)) },
    ];
    await cutOff('POST /v1/table/version/batch-create', { body: { entries } });
    await twin.commit(3n);
    expect(await rebuilt()).toEqual([[1], [1, 2], [1, 2, 3]]);
  });

  it('of a managed table is found on disk where the journal lacks it, on each branch', async () => {
    await managed.commit(1n, { branch: 'dev' });
    const folder = join(managed.location, '_refs', 'branches');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'dev.json'), JSON.stringify({ parentVersion: 1 }));
    for (const [branch, version] of [
      ['', 2n],
      ['', 3n],
      ['', 5n],
      ['tree/dev', 2n],
    ] as const) {
      const path = join(managed.location, branch, '_versions', versionFile(version, 'V2'));
      await writeFile(path, manifestOf(version));
    }
    await writeFile(
      join(twin.location, '_versions', versionFile(2n, 'V2')),
      'no manifest of anything',
    );
    expect(await rebuilt()).toEqual([[1], [1, 2, 3], [1]]);
    expect(await rebuilt('?branch=dev', ['t'])).toEqual([[1, 2]]);
  });

  it('of a declared table is its first, where its manifest has the final name', async () => {
    const first = await managed.further('first');
    const folder = join(first.location, '_versions');
    await mkdir(folder, { recursive: true });
    for (const version of [1n, 2n, 4n]) {
      await writeFile(join(folder, versionFile(version, 'V2')), manifestOf(version));
    }
    const none = await managed.further('none');
    await mkdir(join(none.location, '_versions'), { recursive: true });
    await writeFile(join(none.location, '_versions', versionFile(2n, 'V2')), manifestOf(2n));
    const store = new MemoryStore();
    const options = { data: engine.data, store, dryRun: false, force: false };
    expect(await rebuild({ storage: disk, ...options, progress: () => undefined })).toMatchObject({
      versionsAhead: 2,
    });
    const other = await openOther({ data: engine.data, store });
    const about = async (name: string, action: string) =>
      (await ask(other.backend, `POST /v1/table/${name}/${action}`)).json;
    expect(await about('first', 'version/list')).toMatchObject({
      versions: [{ version: 1 }, { version: 2 }],
    });
    expect(await about('first', 'describe')).toMatchObject({ version: 2 });
    const staged = await first.stage(3n);
    const made = { body: body(3, staged) };
    expect((await ask(other.backend, 'POST /v1/table/first/version/create', made)).status).toBe(
      200,
    );
    // The next request adopts a version that does not follow the first.
    expect(await about('none', 'version/list')).toMatchObject({ versions: [{ version: 2 }] });
    await other.close();
  });

  it('is lost with the store where nobody has seen it, and its number is free again', async () => {
    const staged = await managed.stage(2n);
    await cutOff('POST /v1/table/t/version/create', { body: body(2, staged) });
    expect(await rebuilt()).toEqual([[1], [1], [1]]);
    expect((await managed.files()).filter((name) => name.endsWith('.manifest'))).toHaveLength(1);
  });
});
