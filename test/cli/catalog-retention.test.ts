import { cp, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { beforeEach, describe, expect, it } from 'vitest';
import { tableKey } from '../../src/engine/catalog/records/keys.ts';
import { decodeTable, encodeTable } from '../../src/engine/catalog/records/records-codec.ts';
import { openEmbeddedStore } from '../../src/store/embedded/store.ts';
import { tableFiles } from '../support/dropped.ts';
import { streamOf } from '../support/engine-table.ts';
import { onData } from '../support/engine.ts';
import { testFolders } from '../support/folder.ts';
import { ask } from '../support/request.ts';
import { run } from './captured.ts';

const folder = testFolders();
let root: string;
let data: string;

/** Sends requests to the engine of the data folder, one after the other. */
const sent = (...lines: readonly string[]) =>
  onData(data, async ({ backend }) => {
    const body = streamOf({ n: vectorFromArray([1n, 2n], new Int64()) });
    for (const line of lines) await ask(backend, line, line.includes('/create') ? { body } : {});
  });

const catalog = (...words: readonly string[]) => run('catalog', ...words, '--data', data);

/** The flags under which nothing is kept. */
async function forgetful(): Promise<readonly string[]> {
  const path = join(root, 'forgetful.yaml');
  await writeFile(path, 'drop: { retention: 1ms }\n');
  return ['--config', path];
}

beforeEach(async () => {
  root = await folder();
  data = join(root, 'data');
  await sent('POST /v1/table/t/create', 'POST /v1/table/x/create', 'POST /v1/table/x/drop');
});

const refused = (sentence: string) => ({ code: 2, lines: [], notes: [`arrowgate: ${sentence}`] });

describe('catalog dropped', () => {
  it('lists what can be brought back, and until when', async () => {
    const [line] = (await catalog('dropped', '--json')).lines;
    const [entry] = JSON.parse(line!) as { dropped: string; until: string }[];
    expect(entry).toEqual({
      table: '/x',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: 'engine',
      dropped: expect.any(String),
      until: expect.any(String),
    });
    expect(Date.parse(entry!.until) - Date.parse(entry!.dropped)).toBe(24 * 3_600_000);
    const { code, lines } = await catalog('dropped');
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^TABLE +ID +DROPPED +UNTIL\n\/x +\S+ +\S+Z +\S+Z$/);
    const local = (await catalog('dropped', '--tz', 'Asia/Kolkata')).lines[0]!;
    expect(local).toMatch(/\n\/x +\S+ +\S+\+05:30 +\S+\+05:30$/);
    await catalog('undrop', '/x');
    expect(await catalog('dropped')).toMatchObject({ lines: ['no dropped table is kept'] });
    expect(await catalog('dropped', '--json')).toMatchObject({ lines: ['[]'] });
  });
});

describe('catalog undrop', () => {
  it('says which table is back', async () => {
    expect(await catalog('undrop', '/x')).toMatchObject({
      code: 0,
      lines: [expect.stringMatching(/^\/x is back \(id [0-9a-f-]{36}\)$/)],
    });
  });

  it('takes an id and another name', async () => {
    const { id } = JSON.parse((await catalog('dropped', '--json')).lines[0]!)[0];
    const done = await catalog('undrop', '/x', '--id', id, '--as', '/y', '--json');
    expect(done).toEqual({ code: 0, lines: [JSON.stringify({ table: '/y', id })], notes: [] });
  });

  const refusals: readonly (readonly [readonly string[], string])[] = [
    [
      ['/none'],
      'there is no dropped table /none that can be brought back: `arrowgate catalog dropped` lists those that can',
    ],
    [
      ['/x', '--id', 'y'],
      'there is no dropped table /x with the id "y" that can be brought back: `arrowgate catalog dropped` lists those that can',
    ],
    [['x'], '"x" is no canonical path: write /x'],
    [['/x', '--as', '/a//b'], '"/a//b" is no canonical path: write /a/b'],
    [['/x', '--as', '/t'], 'table /t already exists'],
    [['/x', '--as', '/gone/t'], 'namespace /gone does not exist'],
    [['/x', '--as', '/'], 'the root cannot be a table'],
  ];

  it.each(refusals)('refuses %j', async (words, sentence) => {
    expect(await catalog('undrop', ...words)).toEqual(refused(sentence));
    expect((await catalog('dropped')).lines[0]).toContain('/x');
  });

  it('needs a catalog', async () => {
    data = join(root, 'nowhere');
    const sentence = refused(
      `${data} is not a data folder: it does not exist; name the folder that \`arrowgate serve\` uses with --data, ARROWGATE_DATA or the key data`,
    );
    expect(await catalog('undrop', '/x')).toEqual(sentence);
    expect(await catalog('dropped')).toEqual(sentence);
    expect(await catalog('gc')).toEqual(sentence);
    expect(await catalog('verify')).toEqual(sentence);
  });
});

describe('catalog gc', () => {
  it('removes dropped tables past their time, and not before', async () => {
    const nothing = ['removed 0 dropped tables, 0 files, 0 bytes'];
    expect(await catalog('gc')).toEqual({ code: 0, lines: nothing, notes: [] });
    const config = await forgetful();
    const dry = JSON.parse((await catalog('gc', ...config, '--dry-run', '--json')).lines[0]!);
    expect(dry).toEqual({
      dryRun: true,
      tables: 1,
      versions: 0,
      forbidden: 0,
      folders: 0,
      files: 2,
      bytes: expect.any(Number),
      waiting: 0,
      failures: [],
    });
    expect((await catalog('gc', ...config, '--dry-run')).lines).toEqual([
      `would remove 1 dropped table, 2 files, ${dry.bytes} bytes`,
    ]);
    expect(await tableFiles(data)).toHaveLength(4);
    expect((await catalog('gc', ...config)).lines).toEqual([
      `removed 1 dropped table, 2 files, ${dry.bytes} bytes`,
    ]);
    expect(await tableFiles(data)).toHaveLength(2);
    expect((await catalog('undrop', '/x')).code).toBe(2);
  });

  it('removes versions that the policy does not keep', async () => {
    await sent('POST /v1/table/t/create?mode=overwrite', 'POST /v1/table/t/create?mode=overwrite');
    const config = join(root, 'brief.yaml');
    await writeFile(config, 'versions: { keep_for: 0s, keep_last: 1 }\n');
    const flags = ['--config', config];
    expect((await catalog('gc')).lines).toEqual(['removed 0 dropped tables, 0 files, 0 bytes']);
    const dry = await catalog('gc', ...flags, '--dry-run');
    expect(dry.lines).toEqual(['would remove 2 versions, 0 dropped tables, 0 files, 0 bytes']);
    expect((await catalog('gc', ...flags)).lines).toEqual([
      expect.stringMatching(/^removed 2 versions, 0 dropped tables, 4 files, \d+ bytes$/),
    ]);
  });

  it('removes versions of older tables once they are told to follow the policy', async () => {
    await sent('POST /v1/table/t/create?mode=overwrite');
    const store = await openEmbeddedStore(join(data, 'private', 'store'));
    const key = tableKey(['t']);
    const { expires: _, ...older } = decodeTable((await store.get(key))!);
    await store.commit([], [{ key, value: encodeTable(older) }]);
    await store.close();
    const config = join(root, 'brief.yaml');
    await writeFile(config, 'versions: { keep_for: 0s, keep_last: 1 }\n');
    const flags = ['--config', config];
    const nothing = ['removed 0 dropped tables, 0 files, 0 bytes'];
    expect((await catalog('gc', ...flags)).lines).toEqual(nothing);
    const told = [...flags, '--older-tables'];
    expect((await catalog('gc', ...told, '--dry-run')).lines).toEqual([
      'would remove 1 version, 0 dropped tables, 0 files, 0 bytes',
    ]);
    expect((await catalog('gc', ...flags)).lines).toEqual(nothing);
    expect((await catalog('gc', ...told)).lines).toEqual([
      expect.stringMatching(/^removed 1 version, 0 dropped tables, 2 files, \d+ bytes$/),
    ]);
    await sent('POST /v1/table/t/create?mode=overwrite');
    expect((await catalog('gc', ...flags)).lines[0]).toMatch(/^removed 1 version,/);
  });

  it('obeys the commit rules, and removes no version without those of a service', async () => {
    await sent('POST /v1/table/t/create?mode=overwrite');
    const config = join(root, 'brief.yaml');
    await writeFile(config, 'versions: { keep_for: 0s, keep_last: 1 }\n');
    const policies = join(root, 'policies');
    await cp('policies', policies, { recursive: true });
    const rules = join(policies, 'commits.yaml');
    const rule = '{ name: r, tables: [/t], require: { keep_versions: true } }';
    await writeFile(rules, `rules:\n  - ${rule}\n`);
    const gc = () => catalog('gc', '--config', config, '--policies', policies);
    expect(await gc()).toMatchObject({
      code: 0,
      lines: [
        'removed 0 dropped tables, 0 files, 0 bytes; commit rules keep the versions of 1 line',
      ],
    });
    const archived = join(data, 'private', 'audit', 'policies', 'digest');
    await cp(policies, archived, { recursive: true });
    await rm(policies, { recursive: true });
    expect(await gc()).toEqual({
      code: 0,
      lines: ['removed 0 dropped tables, 0 files, 0 bytes'],
      notes: [
        `arrowgate: all versions stay, because a service had commit rules and the folder ${policies} does not exist; name it with --policies`,
      ],
    });
    await rm(archived, { recursive: true });
    expect((await gc()).lines[0]).toContain('removed 1 version,');
  });

  it('removes old files that nothing names, and leaves young ones to their writers', async () => {
    await catalog('undrop', '/x');
    const id = (await tableFiles(data))[0]!.slice(0, 36);
    const path = join(data, 'tables', id, 'data', `${id}.arrow`);
    await writeFile(path, 'left over');
    expect((await catalog('gc')).lines[0]).toContain(' 0 files');
    await utimes(path, new Date(1), new Date(1));
    expect((await catalog('gc', '--older-than', '90d')).lines).toEqual([
      'removed 0 dropped tables, 1 file, 9 bytes',
    ]);
  });

  it('says what it could not remove', async () => {
    const [manifest] = (await tableFiles(data)).filter((path) => path.includes('/versions/'));
    const id = manifest!.slice(0, 36);
    await catalog('undrop', '/x');
    await writeFile(join(data, 'tables', manifest!), 'no manifest');
    const path = join(data, 'tables', id, 'data', `${id}.arrow`);
    await writeFile(path, 'left over');
    await utimes(path, new Date(1), new Date(1));
    const { code, notes } = await catalog('gc');
    expect({ code, notes }).toEqual({ code: 1, notes: [expect.stringMatching(/^arrowgate: /)] });
  });

  it.each(['soon', '7', '-1h'])('refuses the age %s', async (age) => {
    const sentence = `--older-than is "${age}", but must be a duration such as 24h or 90d`;
    expect(await catalog('gc', `--older-than=${age}`)).toEqual(refused(sentence));
  });
});

describe('catalog verify', () => {
  it('counts what it looked at when nothing is wrong', async () => {
    const { code, lines } = await catalog('verify');
    expect(code).toBe(0);
    expect(lines[0]).toMatch(
      /^looked at 2 tables, 2 versions, 2 files of \d+ bytes, \d+ changes in the journal: nothing is wrong$/,
    );
    const one = JSON.parse((await catalog('verify', '/t', '--json')).lines[0]!);
    expect(one).toMatchObject({ tables: 1, changes: null, findings: [], orphans: [] });
  });

  it('names what is wrong, and says so by its exit code', async () => {
    await catalog('undrop', '/x');
    const [file] = (await tableFiles(data)).filter((path) => path.includes('/data/'));
    const path = join(data, 'tables', file!);
    const whole = await readFile(path);
    await truncate(path, 99);
    const found = await catalog('verify', '--json');
    expect(found.code).toBe(1);
    const fault = 'cannot be read: the footer does not match the seal of the file';
    expect(JSON.parse(found.lines[0]!).findings).toEqual([
      { kind: 'file', table: expect.any(String), file: file!.slice(37), fault },
    ]);
    expect((await catalog('verify')).lines[0]).toContain(`${file!.slice(37)}: ${fault}\n`);
    await writeFile(path, whole);
    expect((await catalog('verify')).code).toBe(0);
  });

  it('lists what no version names, which is no fault', async () => {
    const id = (await tableFiles(data))[0]!.slice(0, 36);
    const path = join(data, 'tables', id, 'data', `${id}.arrow`);
    await writeFile(path, 'left over');
    await utimes(path, new Date(1), new Date(1));
    const { code, lines } = await catalog('verify');
    expect(code).toBe(0);
    expect(lines[0]).toContain(
      `data/${id}.arrow: no version names it (9 bytes; gc removes it once it is old)\n`,
    );
  });

  it.each([
    ['/none', 'table /none does not exist'],
    ['none', '"none" is no canonical path: write /none'],
  ])('refuses %s', async (table, sentence) => {
    expect(await catalog('verify', table)).toEqual(refused(sentence));
  });
});
