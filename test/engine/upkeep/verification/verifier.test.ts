import { randomUUID } from 'node:crypto';
import { appendFile, copyFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  droppedKey,
  headKey,
  purgedKey,
  tableKey,
  tagKey,
  versionKey,
} from '../../../../src/engine/catalog/records/keys.ts';
import {
  decodeDropped,
  decodeTable,
  encodeTag,
} from '../../../../src/engine/catalog/records/records-codec.ts';
import { openForReading } from '../../../../src/engine/engine-reading.ts';
import { encodePurge } from '../../../../src/engine/upkeep/retention/entries.ts';
import type {
  Verified,
  VerifyOptions,
} from '../../../../src/engine/upkeep/verification/verifier.ts';
import type { KeyRange, Store } from '../../../../src/store/store.ts';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { openOther } from '../../../support/engine.ts';
import { ask } from '../../../support/request.ts';
import { casesOf } from '../../../support/cases.ts';

let table: EngineTable;
let id: string;
let folder: string;

/** A collection that waits for nothing. */
const AT_ONCE = { retentionMillis: 0, olderThanMillis: 0 };

const rows = (...values: bigint[]) => ({ n: vectorFromArray(values, new Int64()) });
const verify = (options: VerifyOptions = {}): Promise<Verified> =>
  table.engine.upkeep!.verifier.verify(options);

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(rows(1n, 2n), rows(3n));
  await table.post('delete', { predicate: 'n = 2' });
  await table.post('tags/create', { tag: 'v', version: 1 });
  id = decodeTable((await table.engine.store.get(tableKey(['t'])))!).id;
  folder = join(table.engine.data, 'tables', id);
});

afterEach(async () => table.close());

/** The path of the only, or the first, file in a folder of the table. */
async function fileIn(inner: string): Promise<string> {
  const [name] = (await readdir(join(folder, inner))).toSorted();
  return join(inner, name!);
}

/** What another process does with the dropped table before it is looked at. */
const purges: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['has removed', () => table.engine.upkeep!.collector.collect(AT_ONCE)],
  ['is removing', beginPurge],
];

/** Leaves what a process leaves that is killed in a removal. */
async function beginPurge(): Promise<void> {
  const { store } = table.engine;
  const dropped = decodeDropped((await store.get(droppedKey(id)))!);
  await store.commit(
    [],
    [
      { key: droppedKey(id), value: null },
      { key: purgedKey(id), value: encodePurge({ owner: 'another', dropped }) },
    ],
  );
  await rm(join(folder, 'data'), { recursive: true });
}

/** A store that lists the dropped tables, and then lets something be done before it answers. */
function afterListing(store: Store, act: () => Promise<unknown>): Store {
  const range = async (asked: KeyRange) => {
    const entries = await store.range(asked);
    if (asked.start === droppedKey('')) await act();
    return entries;
  };
  return new Proxy(store, {
    get: (_, name) => {
      if (name === 'range') return range;
      const member: unknown = Reflect.get(store, name, store);
      return typeof member === 'function' ? member.bind(store) : member;
    },
  });
}

async function journalFile(): Promise<string> {
  const names = await readdir(join(table.engine.data, 'catalog'));
  return names.find((name) => name.startsWith('journal-'))!;
}

async function changeJournal(change: (lines: readonly string[]) => readonly string[]) {
  const path = join(table.engine.data, 'catalog', await journalFile());
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1);
  await writeFile(
    path,
    change(lines)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

describe('a catalog in order', () => {
  it('is counted, and nothing is found', async () => {
    await table.send('create?mode=overwrite', { body: streamOf(rows(9n)) });
    const found = await verify();
    expect(found).toMatchObject({ tables: 1, versions: 4, findings: [], orphans: [] });
    expect(found.files).toBe(4);
    expect(found.bytes).toBeGreaterThan(0);
    expect(found.changes).toBeGreaterThan(4);
  });

  it('may hold dropped tables, removed versions and unfinished manifests', async () => {
    await table.post('version/delete', { ranges: [{ start_version: 2, end_version: 3 }] });
    await table.post('drop');
    expect(await verify()).toMatchObject({ tables: 1, versions: 2, findings: [] });
    await table.engine.upkeep!.dropped.undrop(['t']);
    await table.engine.upkeep!.collector.collect(AT_ONCE);
    expect(await verify()).toMatchObject({ tables: 1, versions: 2, findings: [], orphans: [] });
  });

  it('may be written to meanwhile, here and in other processes', async () => {
    const other = await openOther(table.engine);
    const stop = new AbortController();
    const write = async (): Promise<void> => {
      for (let at = 1n; !stop.signal.aborted; at++) {
        await table.send('create?mode=overwrite', { body: streamOf(rows(at, at)) });
        const end = Number(at) + 2;
        await table.post('version/delete', { ranges: [{ start_version: 0, end_version: end }] });
      }
    };
    await table.post('tags/delete', { tag: 'v' });
    const written = write();
    for (let round = 0; round < casesOf(2, 5); round++) {
      const [here, there] = await Promise.all([verify(), other.upkeep!.verifier.verify()]);
      expect([...here.findings, ...there.findings]).toEqual([]);
    }
    stop.abort();
    await written;
    await other.close();
  });

  it.each(purges)('may lose a dropped table that another process %s', async (_, purge) => {
    await table.post('drop');
    const store = afterListing(table.engine.store, purge);
    const managed = join(table.engine.data, 'lance');
    const { data, storage } = table.engine;
    const reading = await openForReading({ data, storage, store, managed, cacheBytes: 2 ** 20 });
    const found = await reading.verify({ deep: { bytesPerSecond: 0 } });
    expect(found).toMatchObject({ tables: 1, findings: [] });
    expect(await table.engine.upkeep!.dropped.list()).toEqual([]);
  });

  it('names what no version names, which is no fault', async () => {
    const file = `data/${randomUUID()}.arrow`;
    await writeFile(join(folder, file), 'left over');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await verify()).toMatchObject({
      findings: [],
      orphans: [{ table: '/t', file, bytes: 9 }],
    });
  });
});

describe('what is wrong is found', () => {
  const commit = (key: string, value: Uint8Array | null) =>
    table.engine.store.commit([], [{ key, value }]);

  const cases: readonly (readonly [string, () => Promise<unknown>, readonly string[]])[] = [
    [
      'a missing data file',
      async () => rm(join(folder, await fileIn('data'))),
      ['file /t data is missing'],
    ],
    [
      'a data file that was cut short',
      async () => truncate(join(folder, await fileIn('data')), 100),
      ['file /t data cannot be read: the footer does not match the seal of the file'],
    ],
    [
      'a data file that is another',
      async () => {
        const [one, two] = (await readdir(join(folder, 'data'))).map((name) =>
          join(folder, 'data', name),
        );
        await copyFile(one!, two!);
      },
      ['file /t data cannot be read: the identity does not match the seal of the file'],
    ],
    [
      'a missing deletion file',
      async () => rm(join(folder, await fileIn('deletions'))),
      ['file /t deletions is missing'],
    ],
    [
      'a damaged deletion file',
      async () => writeFile(join(folder, await fileIn('deletions')), 'nothing of the kind'),
      ['file /t deletions cannot be read: the footer does not match the seal of the file'],
    ],
    [
      'a missing manifest',
      async () => rm(join(folder, 'versions/00000000000000000002.arrow')),
      ['manifest /t versions is missing, but version 2 needs it'],
    ],
    [
      'a manifest that is not the one that was committed',
      async () => {
        const [one, two] = [1, 2].map((at) =>
          join(folder, `versions/0000000000000000000${at}.arrow`),
        );
        await rm(two!);
        await copyFile(one!, two!);
      },
      [
        'manifest /t versions has ',
        'manifest /t versions cannot be read: the identity does not match the seal of the file',
      ],
    ],
    [
      'a manifest that has grown',
      async () => appendFile(join(folder, 'versions/00000000000000000001.arrow'), 'more'),
      [
        'manifest /t versions has ',
        'manifest /t versions cannot be read: the footer does not match the seal of the file',
      ],
    ],
    [
      'a head that names no version',
      async () => commit(versionKey(id, 'main', 3n), null),
      ['head /t the newest version 3 is not among the versions'],
    ],
    [
      'a head that is not the newest',
      async () =>
        commit(headKey(id, 'main'), (await table.engine.store.get(versionKey(id, 'main', 2n)))!),
      ['head /t there is a version 3 beyond the newest, 2'],
    ],
    [
      'a head that is missing',
      async () => commit(headKey(id, 'main'), null),
      ['head /t the table has no newest version'],
    ],
    [
      'a tag that names no version',
      async () =>
        commit(
          tagKey(id, 'w'),
          encodeTag({
            branch: 'main',
            version: 7n,
            manifestBytes: 1,
            createdMillis: 1,
            updatedMillis: 1,
          }),
        ),
      ['tag /t the tag "w" names version 7, which is not there'],
    ],
    [
      'a line of the journal that is missing',
      async () => changeJournal((lines) => lines.toSpliced(1, 1)),
      ['journal change 2 is not in the journal'],
    ],
    [
      'a line of the journal that is damaged',
      async () => changeJournal((lines) => lines.with(1, lines[1]!.replace('writes', 'wrItes'))),
      ['journal change 2 is not in the journal', 'journal journal line 2 is damaged'],
    ],
  ];

  it.each(cases)('%s', async (_, spoil, faults) => {
    // What the journal has still to write down would count against it.
    await expect.poll(async () => (await table.engine.store.changes(9)).length).toBe(0);
    await spoil();
    const { findings } = await verify();
    const found = findings
      .filter(({ kind, fault }) => kind !== 'journal' || !fault.includes('differ'))
      .map(({ kind, table: name, file, fault }) => {
        const where = file?.split(/[/-]/)[0];
        return [kind, name, where, fault].filter((part) => typeof part === 'string').join(' ');
      });
    expect(found.toSorted()).toEqual(
      faults.toSorted().map((fault) => expect.stringContaining(fault)),
    );
  });

  it('a value that the journal does not tell', async () => {
    await expect.poll(async () => (await table.engine.store.changes(9)).length).toBe(0);
    await changeJournal((lines) => lines.slice(0, -1));
    const { findings } = await verify();
    expect(findings).toEqual([
      {
        kind: 'journal',
        table: null,
        file: null,
        fault: `the journal and the store differ in "G${id}/v"`,
      },
    ]);
  });

  it('in the table that is asked for alone', async () => {
    await ask(table.engine.backend, 'POST /v1/table/u/create', { body: streamOf(rows(1n)) });
    await rm(join(folder, await fileIn('data')));
    expect(await verify({ table: ['u'] })).toMatchObject({
      tables: 1,
      changes: null,
      findings: [],
    });
    expect((await verify({ table: ['t'] })).findings).toHaveLength(1);
    expect(await refusalOf(verify({ table: ['x'] }))).toBe('4 table /x does not exist');
  });
});
