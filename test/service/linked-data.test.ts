import { mkdir, mkdtemp, readdir, rm, symlink, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { ARROW_STREAM, LANCEDB, sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

/* A data folder that operators name by a symbolic link. */

const POLICY = ['p, role:admin, /**, *, allow', 'g, user:admin, role:admin', ''].join('\n');

/** What an operator may run on the folder of a service that does not run. */
const COMMANDS = [
  'audit verify',
  'audit search',
  'audit report --by subject',
  'audit rotate-key',
  'catalog verify',
  'catalog dropped',
  'catalog compact',
  'catalog gc --dry-run',
  'catalog gc',
  'catalog rebuild --dry-run',
  'keys create --subject ann',
  'keys list',
  'check',
];

let root: string;
let service: Service;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'arrowgate-'));
  await mkdir(join(root, 'disk', 'data'), { recursive: true });
  await symlink(join(root, 'disk'), join(root, 'link'));
});

afterEach(async () => {
  await service.stop();
  await rm(root, { recursive: true, force: true });
});

const layouts: Readonly<Record<string, () => Promise<Service>>> = {
  'is a symbolic link': async () => {
    const made = await Service.prepare({ within: root, policy: POLICY });
    await symlink(join(root, 'disk', 'data'), made.data);
    return made;
  },
  'lies behind a symbolic link': () =>
    Service.prepare({ within: join(root, 'link'), policy: POLICY }),
};

async function rowsOf(): Promise<number> {
  const { text } = await sendGranted(service.url, 'POST /v1/table/t/count_rows', { body: {} });
  return Number(text);
}

/** Digests of the archived policies, and what a crash left beside them. */
function archived(): Promise<readonly string[]> {
  return readdir(join(service.data, 'private', 'audit', 'policies'));
}

async function run(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await service.command(...words);
  expect([words.join(' '), code, code === 0 ? '' : out + err]).toEqual([words.join(' '), 0, '']);
  return out;
}

async function changeTable(): Promise<void> {
  await sendGranted(service.url, 'POST /v1/table/t/create', { body: goodRows });
  await sendGranted(service.url, 'POST /v1/table/t/insert', {
    body: goodRows,
    headers: ARROW_STREAM,
  });
  await sendGranted(service.url, 'POST /v1/table/t/delete', { body: { predicate: 'false' } });
  await sendGranted(service.url, 'POST /v1/table/gone/create', { body: goodRows });
  await sendGranted(service.url, 'POST /v1/table/gone/drop');
}

describe.each(Object.keys(layouts))('a data folder that %s', (layout) => {
  beforeEach(async () => {
    service = await layouts[layout]!();
    await service.restart();
  });

  it('is served, archived, verified, backed up and rebuilt as any other', async () => {
    await changeTable();
    const rows = await rowsOf();
    const body = { k: 1, vector: [], columns: { column_names: ['id'] } };
    await sendGranted(service.url, 'POST /v1/table/t/query', { body, headers: LANCEDB });
    await service.writePolicy(`${POLICY}p, user:ann, /t, read, allow\n`);
    await eventually(async () => expect(await archived()).toHaveLength(2));

    // Files of a crash long ago are removed at the next start.
    const left = join(service.data, 'private', 'audit', 'policies', '.left.tmp');
    await mkdir(left);
    await utimes(left, 0, 0);
    expect(await service.end()).toBe(0);
    for (const command of COMMANDS) await run(...command.split(' '));
    expect(await run('audit', 'search', '--operation', 'CreateTable')).toContain('CreateTable');
    await run('catalog', 'backup', join(service.folder, 'backup'));
    await rm(join(service.data, 'private', 'store'), { recursive: true });
    await run('catalog', 'rebuild');

    await service.restart();
    expect(await rowsOf()).toBe(rows);
    await eventually(async () => expect(await archived()).not.toContain('.left.tmp'));
    const more = { body: goodRows, headers: ARROW_STREAM };
    await sendGranted(service.url, 'POST /v1/table/t/insert', more);
    expect(await rowsOf()).toBeGreaterThan(rows);
    expect(service.errors).not.toContain('symbolic link');
  });
});
