import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { answersOf } from '../fixtures/data-folders/questions.ts';
import { waitUntil } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { sendGranted } from './http.ts';

const FOLDERS = new URL('../fixtures/data-folders', import.meta.url).pathname;
const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const run = promisify(execFile);

let service: Service;

afterEach(() => service?.stop());

/** A service that has not started, on a data folder that an earlier build made. */
async function unpack(name: string): Promise<void> {
  service = await Service.prepare();
  await run('tar', ['-C', service.folder, '-xzf', join(FOLDERS, `${name}.tar.gz`)]);
}

async function answersBefore(name: string): Promise<unknown> {
  return JSON.parse(await readFile(join(FOLDERS, `${name}.answers.json`), 'utf8')) as unknown;
}

/** Files of engine tables below the data folder, by their absolute paths. */
async function tableFiles(): Promise<readonly string[]> {
  const root = join(service.data, 'tables');
  const names = await readdir(root, { recursive: true });
  return names.filter((name) => /\.arrow(-|$)/.test(name)).map((name) => join(root, name));
}

const format = () => readFile(join(service.data, 'FORMAT'), 'utf8');

/** Findings of `catalog verify --deep` in a data folder: the faults, by the files that they name. */
async function findings(data = service.data): Promise<ReadonlyMap<string, string>> {
  const words = [MAIN, 'catalog', 'verify', '--deep', '--rate', '0', '--json', '--data', data];
  // It exits with 1 if it finds something.
  const verified = run(process.execPath, words, { cwd: service.folder });
  const { stdout } = await verified.catch((failed: { stdout: string }) => failed);
  const found = JSON.parse(stdout) as { findings: { file: string | null; fault: string }[] };
  return new Map(found.findings.map(({ file, fault }) => [String(file), fault]));
}

async function expectSound(name: string): Promise<void> {
  expect(await format()).toBe('2\n');
  const verified = await service.command('catalog', 'verify', '--deep', '--rate', '0');
  expect(verified).toMatchObject({ code: 0, err: '' });
  expect(await service.command('audit', 'verify')).toMatchObject({ code: 0 });
  await service.restart();
  expect(await answersOf(service.url)).toEqual(await answersBefore(name));
  await service.end();
}

describe.each(['aa8abb6', 'cf8c221'])('a data folder of the build %s', (name) => {
  it('is refused until it is upgraded, and answers as before after that', async () => {
    await unpack(name);
    await expect(service.restart()).rejects.toThrow(
      `${service.data}/FORMAT says format 1: back up the folder and run \`arrowgate catalog upgrade\``,
    );
    const dry = await service.command('catalog', 'upgrade', '--dry-run');
    expect(dry).toMatchObject({ code: 0, out: expect.stringContaining('would upgrade from') });
    expect(await format()).toBe('1\n');
    const { code, out, err } = await service.command('catalog', 'upgrade', '--json');
    expect([code, err]).toEqual([0, '']);
    const { steps, ...plan } = JSON.parse(out);
    expect(plan).toEqual({ from: 1, to: 2, resumed: false });
    expect(steps).toHaveLength(1);
    expect(steps[0].changes).toBeGreaterThan((await tableFiles()).length);
    expect(await service.command('catalog', 'upgrade')).toMatchObject({
      code: 0,
      out: 'nothing to upgrade: the data folder has format 2\n',
    });
    await expectSound(name);
    await expectDamageFound();
    await expectSegmentsChecked();
  });

  it('is upgraded whole when the upgrade is killed at any moment', async () => {
    await unpack(name);
    for (const lists of [0, 1, 2]) await killUpgrade(lists);
    expect(await format()).toBe('1>2\n');
    await expect(service.restart()).rejects.toThrow('an upgrade from format 1 to 2 has begun');
    const { code, out } = await service.command('catalog', 'upgrade', '--json');
    expect([code, JSON.parse(out).resumed]).toEqual([0, true]);
    await expectSound(name);
  });
});

describe('a data folder whose store is lost', () => {
  it('is upgraded by what is on disk, and rebuilt after that', async () => {
    await unpack('cf8c221');
    // The folder also has the checkpoints of the audit log.
    await rm(join(service.data, 'private', 'store', 'data.mdb'));
    for (const words of ['upgrade', 'rebuild'])
      expect(await service.command('catalog', words)).toMatchObject({ code: 0, err: '' });
    await expectSound('cf8c221');
  });
});

describe('a data folder that several builds wrote', () => {
  it('is upgraded, and keeps its answers when garbage is collected', async () => {
    await unpack('dbc12e9');
    const { code, out, err } = await service.command('catalog', 'upgrade', '--json');
    expect([code, err]).toEqual([0, '']);
    const { steps } = JSON.parse(out) as { steps: { changes: number }[] };
    // Only files of the first build lack seals.
    expect(steps[0]!.changes).toBeLessThan((await tableFiles()).length);
    await expectSound('dbc12e9');
    const collected = await service.command('catalog', 'gc', '--older-than', '0s');
    expect(collected).toMatchObject({ code: 0, err: '' });
    await expectSound('dbc12e9');
  });
});

describe('files from before seals', () => {
  it('keep their seals in clones, branches, backups, compactions and a rebuilt store, and the list goes with them', async () => {
    await unpack('cf8c221');
    expect(await service.command('catalog', 'upgrade')).toMatchObject({ code: 0 });
    await service.restart();
    const ask = (line: string, body: object) => sendGranted(service.url, line, { body });
    const events = 'POST /v1/table/prod$events';
    for (const [name, is_shallow] of [
      ['shallow', true],
      ['deep', false],
    ] as const) {
      const source = { source_location: 'events', source_tag: 'audited', is_shallow };
      await ask(`POST /v1/table/prod$${name}/clone`, source);
      const { text } = await ask(`POST /v1/table/prod$${name}/count_rows`, {});
      expect(text).toBe('900');
    }
    await ask(`${events}/delete`, { predicate: 'id = 5' });
    await ask(`${events}/delete`, { predicate: 'id = 6', branch: 'fixes' });
    await ask(`${events}/branches/create`, { name: 'later' });
    await ask('POST /v1/table/prod$other/drop', {});
    for (const words of [
      ['undrop', '/prod/other'],
      ['compact', '/prod/events'],
    ])
      expect(await service.command('catalog', ...words)).toMatchObject({ code: 0, err: '' });
    const { text } = await ask(`${events}/count_rows`, { predicate: 'id < 8' });
    const other = await ask('POST /v1/table/prod$other/count_rows', {});
    expect(other.text).toBe('900');
    await service.end();
    expect(await findings()).toEqual(new Map());

    const target = join(service.folder, 'backup');
    expect(await service.command('catalog', 'backup', target)).toMatchObject({ code: 0 });
    expect(await findings(target)).toEqual(new Map());
    await rm(service.data, { recursive: true });
    const restored = [MAIN, 'catalog', 'backup', service.data, '--data', target];
    await run(process.execPath, restored, { cwd: service.folder });
    expect(await findings()).toEqual(new Map());
    await rm(join(service.data, 'private', 'store'), { recursive: true });
    expect(await service.command('catalog', 'rebuild')).toMatchObject({ code: 0 });
    expect(await findings()).toEqual(new Map());

    await service.restart();
    const again = await ask(`${events}/count_rows`, { predicate: 'id < 8' });
    expect(again.text).toBe(text);
    await ask(`${events}/tags/delete`, { tag: 'audited' });
    for (const name of ['fixes', 'later']) await ask(`${events}/branches/delete`, { name });
    await ask(`${events}/update`, { updates: [['name', "'new'"]] });
    const { json } = await ask(`${events}/describe`, { with_table_uri: true });
    const list = `${basename(String(json['table_uri']))}/detached.seals`;
    expect(await listFiles()).toContain(list);
    const ranges = [{ start_version: 1, end_version: json['version'] }];
    await ask(`${events}/version/delete`, { ranges });
    await service.end();
    const collected = await service.command('catalog', 'gc', '--older-than', '0s', '--json');
    expect(collected).toMatchObject({ code: 0, err: '' });
    // The list of a dropped table goes as well once the table has been dropped for long enough.
    expect(await listFiles()).not.toContain(list);
    expect(await findings()).toEqual(new Map());
  });
});

describe('tables from before seals', () => {
  it('get another format and back, with their rows and indices', async () => {
    await unpack('dbc12e9');
    expect(await service.command('catalog', 'upgrade')).toMatchObject({ code: 0 });
    await service.restart();
    const rows = async () =>
      (await sendGranted(service.url, 'POST /v1/table/prod$copy/count_rows', { body: {} })).text;
    const before = await rows();
    for (const to of ['lance', 'arrow']) {
      const words = ['/prod/copy', '--to', to, '--policies', service.policies, '--json'];
      const { code, out } = await service.command('catalog', 'convert', ...words);
      expect([code, JSON.parse(out)]).toMatchObject([0, { rows: Number(before), indices: [] }]);
      expect(await rows()).toBe(before);
      await waitUntil(async () => {
        const line = 'POST /v1/table/prod$copy/index/list';
        const { json } = await sendGranted(service.url, line, { body: {} });
        return (json['indexes'] as readonly unknown[]).length === 3;
      });
    }
    await service.end();
    expect(await findings()).toEqual(new Map());
  });
});

/** Files of detached seals, by their paths below `tables`. */
async function listFiles(): Promise<readonly string[]> {
  const names = await readdir(join(service.data, 'tables'), { recursive: true });
  return names.filter((name) => name.endsWith('detached.seals'));
}

/** Flips one bit of each file, and moves a file without its seal to another name. */
async function expectDamageFound(): Promise<void> {
  const files = await tableFiles();
  const sound = new Map<string, Buffer>();
  for (const [at, path] of files.entries()) {
    const bytes = await readFile(path);
    sound.set(path, bytes);
    const flipped = Buffer.from(bytes);
    flipped[(at * 7919) % bytes.length]! ^= 1 << (at % 8);
    // Clones share the bytes of their files: each gets bytes of its own.
    await replace(path, flipped);
  }
  const found = await findings();
  // Files whose manifest is damaged are named by other versions or by none.
  const manifests = files.filter((path) => path.includes('/versions/'));
  for (const path of manifests) expect(found.has(relativeTo(path))).toBe(true);
  for (const path of manifests) await replace(path, sound.get(path)!);
  const rest = await findings();
  for (const path of files) expect(rest.has(relativeTo(path))).toBe(!manifests.includes(path));
  for (const [path, bytes] of sound) await replace(path, bytes);
  expect((await findings()).size).toBe(0);
  await expectListNeeded();
}

/** Without its list, no file from before seals is read. */
async function expectListNeeded(): Promise<void> {
  const root = join(service.data, 'tables');
  const lists = await listFiles();
  expect(lists.length).toBeGreaterThan(3);
  for (const list of lists) await rename(join(root, list), join(root, `${list}.aside`));
  const faults = new Set((await findings()).values());
  expect([...faults]).toEqual([
    'cannot be read: the seal is missing, and the file is not listed as one from before seals',
  ]);
  for (const list of lists) {
    const bytes = await readFile(join(root, `${list}.aside`));
    bytes[bytes.length - 40]! ^= 4;
    await writeFile(join(root, list), bytes);
  }
  for (const fault of (await findings()).values())
    expect(fault).toBe('cannot be read: the list of files does not match the seal of the file');
  for (const list of lists) await rename(join(root, `${list}.aside`), join(root, list));
}

/** Segments of the audit log that were sealed without checksums have them now. */
async function expectSegmentsChecked(): Promise<void> {
  const root = join(service.data, 'private', 'audit');
  const names = await readdir(root, { recursive: true });
  const [portions] = names.filter((name) => name.endsWith('.portions'));
  const search = () => service.command('audit', 'search', '--format', 'json');
  const before = await search();
  expect(before.code).toBe(0);
  const segment = join(root, portions!.replace('portions', 'arrow'));
  const bytes = await readFile(segment);
  const flipped = Buffer.from(bytes);
  flipped[bytes.length >> 1]! ^= 1;
  await replace(segment, flipped);
  expect(await search()).toMatchObject({ err: expect.stringContaining('is damaged: portion') });
  await replace(segment, bytes);
  await rm(join(root, portions!));
  expect(await search()).toMatchObject({
    err: expect.stringContaining('it has no checksums of its segment'),
  });
}

/** Kills an upgrade, slow enough to be met, when it has made some lists and has begun another one. */
async function killUpgrade(lists: number): Promise<void> {
  const words = [MAIN, 'catalog', 'upgrade', '--rate', '64KiB', '--data', service.data];
  const child = spawn(process.execPath, words, { stdio: 'ignore' });
  const closed = once(child, 'close');
  await waitUntil(async () => {
    const names = await readdir(join(service.data, 'tables'), { recursive: true });
    const isBegun = names.some((each) => each.endsWith('detached.seals.new'));
    return isBegun && names.filter((each) => each.endsWith('detached.seals')).length >= lists;
  });
  child.kill('SIGKILL');
  expect(await closed).toEqual([null, 'SIGKILL']);
}

function relativeTo(path: string): string {
  return path.replace(/^.*\/tables\/[^/]+\//, '');
}

async function replace(path: string, bytes: Buffer): Promise<void> {
  await writeFile(`${path}.flipped`, bytes);
  await rename(`${path}.flipped`, path);
}
