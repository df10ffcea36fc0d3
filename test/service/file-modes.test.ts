import { lstat, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { ARROW_STREAM, sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

/** Modes of everything in a folder, by path, and of the folder itself as `.`. */
async function modesOf(root: string): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(root, { recursive: true });
  const modes = new Map<string, string>();
  for (const name of ['.', ...names]) {
    const stats = await lstat(join(root, name)).catch(() => undefined);
    if (stats === undefined) continue;
    modes.set(
      name,
      `${stats.isDirectory() ? 'folder' : 'file'} ${(stats.mode & 0o777).toString(8)}`,
    );
  }
  return modes;
}

/** What a path in a data folder must be; undefined where Lance clients write. */
function due(path: string, isFolder: boolean): string | undefined {
  const [top] = path.split('/');
  if (top === 'lance') return undefined;
  if (top === 'private') return isFolder ? 'folder 700' : 'file 600';
  return isFolder ? 'folder 750' : 'file 640';
}

/** Makes files of every kind: data, deletions, indices, manifests of branches, snapshots of the journal, keys, the log. */
async function work(service: Service): Promise<void> {
  const post = (path: string, body: object = {}) =>
    sendGranted(service.url, `POST /v1/${path}`, { body });
  const rows = { body: goodRows, headers: ARROW_STREAM };
  await sendGranted(service.url, 'POST /v1/table/t/create', rows);
  await sendGranted(service.url, 'POST /v1/table/t/insert', rows);
  await post('table/t/delete', { predicate: 'id = 1' });
  await post('table/t/create_scalar_index', { column: 'id', index_type: 'BTREE' });
  await post('table/t/branches/create', { name: 'b' });
  await post('table/t/tags/create', { tag: 'v', version: 1 });
  await post('table/declared/declare');
  await service.keyByCommand('ann', 'admin');
  await eventually(async () => {
    const [table] = await readdir(join(service.data, 'tables'));
    expect(await readdir(join(service.data, 'tables', table!))).toContain('indices');
  });
}

describe.each([
  ['000', 1],
  ['077', 2],
  ['022', 1],
])('the umask %s', (umask, processes) => {
  it(`decides no mode of files of ${processes} processes`, async () => {
    const service = await Service.start({ umask, flags: ['--processes', String(processes)] });
    try {
      await work(service);
      const code = await service.end();
      expect(code).toBe(0);
      for (const [path, mode] of await modesOf(service.data)) {
        const must = due(path, mode.startsWith('folder'));
        if (must !== undefined) expect(`${path}: ${mode}`).toBe(`${path}: ${must}`);
      }
    } finally {
      await service.stop();
    }
  });

  it('decides those of folders where Lance clients write', async () => {
    const service = await Service.start({ umask });
    try {
      await sendGranted(service.url, 'POST /v1/table/declared/declare', { body: {} });
      const lance = join(service.data, 'lance');
      const asked = `folder ${(0o777 & ~Number.parseInt(umask, 8)).toString(8)}`;
      const modes = [...(await modesOf(lance)).values()];
      expect(modes).toEqual([asked, asked]);
    } finally {
      await service.stop();
    }
  });
});

describe('locations.permissions', () => {
  const choices = [
    ['owner', '700', '750'],
    ['group', '770', '750'],
    ['all', '777', '751'],
  ] as const;

  it.each(choices)('%s', async (permissions, mode, root) => {
    const config = `locations: { permissions: ${permissions} }\n`;
    const service = await Service.start({ umask: '077', config });
    try {
      const chosen = join(service.data, 'lance', 'team', 'chosen');
      const body = { location: chosen };
      await sendGranted(service.url, 'POST /v1/table/declared/declare', { body });
      const modes = await modesOf(join(service.data, 'lance'));
      expect([...modes.keys()].toSorted()).toEqual([
        '.',
        'team',
        relative(join(service.data, 'lance'), chosen),
      ]);
      expect(new Set(modes.values())).toEqual(new Set([`folder ${mode}`]));
      expect((await modesOf(service.data)).get('.')).toBe(`folder ${root}`);
    } finally {
      await service.stop();
    }
  });

  it('refuses what it does not know', async () => {
    const started = Service.start({ config: 'locations: { permissions: some }\n' });
    await expect(started).rejects.toThrow(
      'arrowgate.yaml:1: locations.permissions is "some", but must be one of umask, owner, group, all',
    );
  });
});
