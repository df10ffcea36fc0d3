import { disk } from '../../../support/disk.ts';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { connect, type Connection, type Table } from '@lancedb/lancedb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  AdoptionAct,
  AdoptionDetails,
} from '../../../../src/engine/versions/managed/adoption.ts';
import { openEngine, type EngineOptions } from '../../../../src/engine/engine.ts';
import { refusalOf } from '../../../support/engine-table.ts';
import { freshEngine, openOther, type TestEngine } from '../../../support/engine.ts';
import { lanceVersions } from '../../../../src/engine/format/lance/versions.ts';
import { manifestOf, ManagedTable } from '../../../support/managed-table.ts';
import { ask } from '../../../support/request.ts';
import { Rulebook } from '../../../support/ruled-engine.ts';

/** Versions that LanceDB wrote to a table's folder without the catalog. */

interface Recorded extends AdoptionAct {
  readonly details: AdoptionDetails | undefined;
}

let rules: Rulebook;
let engine: TestEngine;
let table: ManagedTable;
let db: Connection;
let acts: Recorded[];

const recordAdoption: EngineOptions['recordAdoption'] = async (act, work) => {
  const details = await work();
  acts.push({ ...act, details });
};

beforeEach(async () => {
  rules = new Rulebook();
  acts = [];
  engine = await freshEngine({ rules, recordAdoption });
  table = await ManagedTable.open(engine);
  db = await connect(dirname(table.location));
});

afterEach(() => engine.close());

/** LanceDB names the folder of a table `NAME.lance`. */
const name = () =>
  table.location
    .split('/')
    .at(-1)!
    .replace(/\.lance$/, '');

/** A table of LanceDB in the declared folder, with a version for each number of rows. */
async function wrote(...rows: readonly number[]): Promise<Table> {
  const lance = await db.createTable({ name: name(), data: some(rows[0] ?? 1), mode: 'create' });
  for (const count of rows.slice(1)) await lance.add(some(count));
  return lance;
}

function some(count: number): { id: number }[] {
  return Array.from({ length: count }, (_, id) => ({ id }));
}

const version = (described: unknown) => (described as { version?: number }).version;
const refused = (number: number, why: string) =>
  `20 version ${number} of the table /t was written without the catalog and is not adopted: ${why}. An operator must run \`arrowgate catalog adopt /t --accept ${number}\` or \`arrowgate catalog adopt /t --set-aside ${number}\``;
const tooMany = (rows: number) =>
  `the commit rule demand refuses this of /t: it adds ${rows} rows, and at most 5 may be added`;

describe('a declared table that LanceDB wrote to', () => {
  it.each([
    ['describe', 'describe', {}],
    ['a listing of versions', 'version/list', {}],
    ['a description of a version', 'version/describe', { version: 2 }],
    ['a listing of branches', 'branches/list', {}],
  ])('gets its versions by %s, and the audit log names the request', async (_, action, body) => {
    await wrote(1, 2);
    const files = await table.files();
    await table.post(action, body);
    expect(acts).toEqual([
      {
        path: ['t'],
        branch: 'main',
        cause: {
          operation: expect.any(String),
          requestId: 'request-1',
          decisionId: expect.any(String),
        },
        details: { versions: '1, 2' },
      },
    ]);
    expect(await table.versions()).toEqual([1, 2]);
    expect(await table.post('describe')).toMatchObject({ version: 2, is_only_declared: false });
    expect(await table.files()).toEqual(files);
    expect(acts).toHaveLength(1);
  });

  it('takes the next managed commit', async () => {
    await wrote(1);
    const early = await table.stage(1n);
    expect(await refusalOf(table.create(1n, early))).toBe(
      '14 table /t was committed to by someone else: its version 1 is another one',
    );
    expect(await table.commit(2n)).toMatchObject({ version: { version: 2 } });
    expect(await table.versions()).toEqual([1, 2]);
  });

  it('stays declared while its folder has no version', async () => {
    expect(version(await table.post('describe'))).toBeUndefined();
    await table.stage(1n);
    await table.stage(-5n, { suffix: '' });
    expect(version(await table.post('describe'))).toBeUndefined();
    expect(acts).toEqual([]);
  });

  it.each(['V1', 'V2'] as const)('adopts names of the scheme %s', async (scheme) => {
    await table.stage(1n, { scheme, suffix: '' });
    await table.stage(2n, { scheme, suffix: '' });
    expect(await table.versions()).toEqual([1, 2]);
  });

  it('adopts versions after older ones were cleaned up', async () => {
    await table.stage(7n, { suffix: '' });
    expect(await table.versions()).toEqual([7]);
    expect(await table.commit(8n)).toMatchObject({ version: { version: 8 } });
  });

  it('is adopted once by several gateways and requests', async () => {
    await wrote(1, 2, 3);
    const { data, store } = engine;
    const other = await openOther({ data, store }, { rules });
    const lists = [engine.backend, other.backend, engine.backend, other.backend].map((backend) =>
      ask(backend, 'POST /v1/table/t/version/list'),
    );
    for (const { json } of await Promise.all(lists)) {
      expect(json).toMatchObject({ versions: [{ version: 1 }, { version: 2 }, { version: 3 }] });
    }
    await other.close();
    expect(acts.length).toBeLessThanOrEqual(1);
  });

  it('changes nothing when its audit record cannot be written', async () => {
    await wrote(1);
    const failing = await openEngine({
      data: engine.data,
      store: engine.store,
      locations: { managed: join(engine.data, 'lance'), allowed: [] },
      cacheBytes: 2 ** 20,
      jsonBody: 2 ** 20,
      arrowBody: null,
      page: 100,
      recordAdoption: () => Promise.reject(new Error('no audit log')),
    });
    await expect(ask(failing.backend, 'POST /v1/table/t/describe')).rejects.toThrow('no audit log');
    await failing.close();
    expect(await table.versions()).toEqual([1]);
    expect(acts).toHaveLength(1);
  });
});

describe('a version that a rule refuses', () => {
  beforeEach(() => rules.demand('max_rows: 5'));

  it('ends its line, is never served, and stops later commits', async () => {
    await wrote(3, 9, 1);
    expect(await table.versions()).toEqual([1]);
    expect(acts[0]!.details).toEqual({ versions: '1', refused: '2', reason: tooMany(9) });
    expect(version(await table.post('describe'))).toBe(1);
    expect(await refusalOf(table.post('version/describe', { version: 2 }))).toMatch(/^11 /);
    rules.clear();
    const staged = await table.stage(2n);
    expect(await refusalOf(table.create(2n, staged))).toBe(refused(2, tooMany(9)));
    expect(acts).toHaveLength(1);
    const { findings } = await engine.upkeep!.verifier.verify({ table: ['t'] });
    expect(findings.map(({ fault }) => fault)).toEqual([
      `is version 2, which was written without the catalog and is not adopted (${tooMany(9)})`,
      'is version 3, which was written without the catalog and is not adopted',
    ]);
  });

  it('is refused as the first version too', async () => {
    await wrote(9);
    expect(version(await table.post('describe'))).toBeUndefined();
    const staged = await table.stage(1n);
    expect(await refusalOf(table.create(1n, staged))).toBe(refused(1, tooMany(9)));
    const batch = { entries: [{ id: ['t'], version: 1, manifest_path: staged }] };
    const sent = ask(engine.backend, 'POST /v1/table/version/batch-create', { body: batch });
    expect(await refusalOf(sent)).toBe(refused(1, tooMany(9)));
  });

  it('is served once an operator accepts it; the versions behind it wait too', async () => {
    await wrote(3, 9, 1);
    await table.versions();
    const decision = { path: ['t'], branch: 'main', version: 2n };
    expect(await engine.upkeep!.acceptExternal(decision)).toEqual({ versions: [2n], next: 3n });
    expect(await table.versions()).toEqual([1, 2]);
    const staged = await table.stage(3n);
    const waits = 'no operator has accepted it or set it aside';
    expect(await refusalOf(table.create(3n, staged))).toBe(refused(3, waits));
    const last = await engine.upkeep!.acceptExternal({ ...decision, version: 3n });
    expect(last).toEqual({ versions: [3n], next: null });
    expect(await table.commit(4n)).toMatchObject({ version: { version: 4 } });
  });

  it('makes way once an operator sets it aside, with those behind it', async () => {
    await wrote(3, 9, 1);
    await table.versions();
    const decision = { path: ['t'], branch: 'main', version: 2n };
    const done = await engine.upkeep!.setExternalAside(decision);
    expect(done).toEqual({ versions: [2n, 3n], next: null });
    expect((await table.files()).filter((file) => file.startsWith('_set_aside/'))).toHaveLength(2);
    expect(await table.commit(2n)).toMatchObject({ version: { version: 2 } });
    const { findings } = await engine.upkeep!.verifier.verify({ table: ['t'] });
    expect(findings.filter(({ kind }) => kind === 'manifest')).toEqual([]);
    const again = engine.upkeep!.setExternalAside(decision);
    expect(await refusalOf(again)).toBe(
      '13 the table /t has no version 2 that was written without the catalog; it has none',
    );
  });

  it('counts no more when its client removed it', async () => {
    await wrote(9);
    await table.versions();
    await rm(join(table.location, '_versions'), { recursive: true });
    expect(await table.commit(1n)).toMatchObject({ version: { version: 1 } });
  });

  it('is refused when its manifest cannot be read', async () => {
    await table.stage(1n, { holds: 7n, suffix: '' });
    const staged = await table.stage(1n);
    expect(await refusalOf(table.create(1n, staged))).toMatch(
      /^20 .* is not adopted: _versions\/\d+\.manifest holds the manifest of version 7\. /,
    );
    const decision = { path: ['t'], branch: 'main', version: 1n };
    expect(await refusalOf(engine.upkeep!.acceptExternal(decision))).toMatch(
      /^13 version 1 cannot/,
    );
  });
});

async function commitTwo(): Promise<void> {
  await table.commit(1n);
  await table.commit(2n);
}

/** Declares the table anew, so that each request looks for versions written without the catalog. */
async function adoptsAll(): Promise<void> {
  await ask(engine.backend, 'POST /v1/table/t/deregister');
  const body = { location: table.location, properties: { external_writes: 'adopt' } };
  await ask(engine.backend, 'POST /v1/table/t/declare', { body });
}

describe('a table whose versions the catalog commits', () => {
  it('shows no version that was written without it, and names it to the verifier', async () => {
    await table.commit(1n);
    await table.stage(2n, { suffix: '' });
    expect(await table.versions()).toEqual([1]);
    const staged = await table.stage(2n, { rows: 4 });
    expect(await refusalOf(table.create(2n, staged))).toBe(
      '14 the folder of the table /t holds a manifest of version 2 that was written without the catalog. `arrowgate catalog adopt /t` accepts it or sets it aside',
    );
    const { findings } = await engine.upkeep!.verifier.verify({ table: ['t'] });
    expect(findings.map(({ fault }) => fault)).toContain(
      'is version 2, which was written without the catalog and is not adopted',
    );
    const decision = { path: ['t'], branch: 'main', version: 2n };
    await engine.upkeep!.acceptExternal(decision);
    expect(await table.versions()).toEqual([1, 2]);
  });

  it('tells a client that counts the versions in the folder which of them was refused', async () => {
    rules.demand('max_rows: 5');
    await wrote(1, 9, 1);
    expect(await table.versions()).toEqual([1]);
    const commit = table.create(4n, await table.stage(4n));
    expect(await refusalOf(commit)).toBe(refused(2, tooMany(9)));
  });

  it('adopts them where its property external_writes is adopt', async () => {
    const properties = { external_writes: 'adopt' };
    const { json } = await ask(engine.backend, 'POST /v1/table/ray/declare', {
      body: { properties },
    });
    const { location } = json as { location: string };
    const ray = location
      .split('/')
      .at(-1)!
      .replace(/\.lance$/, '');
    const lance = await db.createTable(ray, some(2));
    const list = async () => {
      const answer = await ask(engine.backend, 'POST /v1/table/ray/version/list');
      return (answer.json as unknown as { versions: object[] }).versions.length;
    };
    expect(await list()).toBe(1);
    await lance.add(some(3));
    await lance.delete('id = 1');
    expect(await list()).toBe(3);
    const body = {};
    const described = await ask(engine.backend, 'POST /v1/table/ray/describe', { body });
    expect(described.json).toMatchObject({ version: 3 });
    expect(acts.map(({ details }) => details)).toEqual([{ versions: '1' }, { versions: '2, 3' }]);
  });

  it.each([
    ['adopted', () => wrote(1, 2)],
    ['committed', () => commitTwo()],
  ])('serves none whose manifest became another: one that was %s', async (_, make) => {
    await adoptsAll();
    await make();
    expect(await table.versions()).toEqual([1, 2]);
    const [path] = (await lanceVersions(disk, table.location))
      .slice(-1)
      .map(({ manifest }) => manifest);
    const own = await readFile(path!);
    await rename(`/${await table.stage(2n)}`, path!);
    const other = /^18 _versions\/.* is not the manifest that the catalog recorded for version 2: /;
    for (const ask of ['describe', 'version/list']) {
      expect(await refusalOf(table.send(ask, { body: {} })), ask).toMatch(other);
    }
    expect(await refusalOf(table.create(3n, await table.stage(3n)))).toMatch(other);
    // Nor is a version adopted that stands on it.
    const next = await table.stage(3n, { suffix: '' });
    expect(await refusalOf(table.send('describe', { body: {} }))).toMatch(other);
    await rm(`/${next}`);
    const verify = async () => {
      const { findings } = await engine.upkeep!.verifier.verify({ table: ['t'] });
      return findings.map(({ fault }) => fault).filter((fault) => fault.includes('recorded'));
    };
    expect(await verify()).toEqual(['is not the manifest that was recorded']);
    expect(await table.post('version/describe', { version: 1 })).toMatchObject({
      version: { version: 1 },
    });
    await writeFile(path!, own);
    expect(await verify()).toEqual([]);
    expect(await table.versions()).toEqual([1, 2]);
    expect(await table.commit(3n)).toMatchObject({ version: { version: 3 } });
  });

  it('puts its own manifest in place once that of another writer is moved away', async () => {
    await adoptsAll();
    await table.commit(1n);
    const staged = await table.stage(2n);
    const name = `/${staged}`.replace(/-[0-9a-f-]{36}$/, '');
    // Another writer has the number at the very moment at which the catalog records it.
    const store = engine.store.commit.bind(engine.store);
    engine.store.commit = async (...args) => {
      const outcome = await store(...args);
      await writeFile(name, manifestOf(2n, 3));
      return outcome;
    };
    const taken = 'of the table is not the manifest that was committed: move it away';
    await expect(table.create(2n, staged)).rejects.toThrow(
      'is not the manifest that was committed',
    );
    engine.store.commit = store;
    expect(await refusalOf(table.send('describe', { body: {} }))).toContain(taken);
    const { findings } = await engine.upkeep!.verifier.verify({ table: ['t'] });
    expect(findings.map(({ fault }) => fault)).toContain('is not the manifest that was recorded');
    await rm(name);
    expect(await table.versions()).toEqual([1, 2]);
  });

  it('adopts a branch that LanceDB made, judged against what it came from', async () => {
    const lance = await wrote(3);
    await table.versions();
    rules.demand('max_rows: 5');
    await (await lance.branches()).create('dev');
    const dev = await db.openTable(name(), undefined, { branch: 'dev' });
    await dev.add(some(4));
    await dev.add(some(9));
    expect(await table.post('branches/list')).toMatchObject({ branches: { dev: {} } });
    expect(await table.versions({ branch: 'dev' })).toEqual([1, 2]);
    const staged = await table.stage(3n, { branch: 'dev' });
    const commit = table.create(3n, staged, { branch: 'dev' });
    expect(await refusalOf(commit)).toContain('--branch dev --accept 3');
    const decision = { path: ['t'], branch: 'dev', version: 3n };
    await engine.upkeep!.setExternalAside(decision);
    const again = await table.stage(3n, { branch: 'dev' });
    expect((await table.create(3n, again, { branch: 'dev' })).json).toMatchObject({
      version: { version: 3 },
    });
  });
});
