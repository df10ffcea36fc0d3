import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { streamOf } from '../support/engine-table.ts';
import { waitUntil } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { ARROW_STREAM, send } from './http.ts';

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;

let service: Service;

beforeEach(async () => {
  service = await Service.start();
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'gone']) {
    const values = Array.from({ length: 20_000 }, (_, at) => BigInt(at));
    const body = streamOf({ id: vectorFromArray(values, new Int64()) });
    const request = `POST /v1/table/${name}/create`;
    const { status } = await send(service.url, request, { body, headers: ARROW_STREAM });
    expect(status).toBe(200);
  }
  await send(service.url, 'POST /v1/table/b/delete', { body: { predicate: 'id = 7' } });
  await send(service.url, 'POST /v1/table/gone/drop');
});

afterEach(() => service?.stop());

const verify = (...flags: readonly string[]) => service.command('catalog', 'verify', ...flags);

/** Files of all tables whose paths match. */
async function files(pattern: RegExp): Promise<readonly string[]> {
  const root = join(service.data, 'tables');
  const names = await readdir(root, { recursive: true });
  return names.filter((name) => pattern.test(name)).map((name) => join(root, name));
}

/** Paths of the files that a process has open. */
async function openFiles(pid: number | undefined): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder);
  return Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
}

/** Flips a bit in the third portion of a file. */
async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[40_000]! ^= 16;
  await writeFile(path, bytes);
}

describe('catalog verify --deep', () => {
  it('finds a byte that no request has read, in a table and in a dropped one', async () => {
    const sound = await verify('--deep', '--json');
    expect([sound.code, sound.err]).toEqual([0, '']);
    // 7 data files, a deletion file and 8 manifests.
    const { deep } = JSON.parse(sound.out);
    expect(deep).toEqual({ files: 16, bytes: expect.any(Number), next: null });
    expect(deep.bytes).toBeGreaterThan(7 * 160_000);
    const data = await files(/\/data\/.*\.arrow$/);
    for (const path of data) await flip(path);
    expect(await verify()).toMatchObject({ code: 0 });
    const { code, out } = await verify('--deep', '--rate', '0');
    expect(code).toBe(1);
    const lines = out.trimEnd().split('\n');
    const places = lines.map((line) => line.replaceAll(/[0-9a-f]{8}-[-0-9a-f]{27}/g, 'ID'));
    const fault = 'portion 2 (bytes 32768 to 49151) does not match the seal of the file';
    const names = ['/a', '/b', '/c', '/d', '/e', '/f', '/gone (dropped, ID)'];
    expect(places.slice(0, -1).toSorted()).toEqual(
      names.map((name) => `${name}: data/ID.arrow: ${fault}`),
    );
    expect(places.at(-1)).toMatch(/, compared \d+ bytes of 9 files and manifests .*: 7 findings$/);
    const one = await verify('/c', '--deep');
    expect(one).toMatchObject({ code: 1, out: expect.stringMatching(/^\/c: data.*portion 2 /) });
  });

  it('finds a byte of a manifest and of a deletion file', async () => {
    for (const [path] of [await files(/\/deletions\//), await files(/\/versions\//)]) {
      const bytes = await readFile(path!);
      bytes[bytes.length >> 2]! ^= 1;
      await writeFile(path!, bytes);
    }
    const { code, out } = await verify('--deep', '--json');
    expect(code).toBe(1);
    const kinds = JSON.parse(out).findings.map(({ kind }: { kind: string }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['manifest', 'file']));
  });

  it('is part of a backup, also when files are linked', async () => {
    const target = join(service.folder, 'backup');
    const sound = await service.command('catalog', 'backup', target, '--json');
    expect([sound.code, JSON.parse(sound.out).findings]).toEqual([0, []]);
    const [data] = await files(/\/data\/.*\.arrow$/);
    await flip(data!);
    const found = await service.command('catalog', 'backup', `${target}2`);
    expect(found).toMatchObject({
      code: 1,
      err: '',
      out: expect.stringMatching(/\nwrong: \/\w+.*: data\/.*\.arrow: portion 2 .* does not match/),
    });
    expect(found.out).toContain(basename(data!));
    const [manifest] = await files(/\/versions\//);
    const bytes = await readFile(manifest!);
    bytes[bytes.length - 20]! ^= 1;
    await writeFile(manifest!, bytes);
    expect(await service.command('catalog', 'backup', `${target}3`)).toEqual({
      code: 1,
      out: '',
      err: `arrowgate: ${manifest}: the footer does not match the seal of the file: the backup is not whole; catalog verify names all findings\n`,
    });
  });

  it('is interrupted, and continues from where it was', async () => {
    const words = ['catalog', 'verify', '--deep', '--json', '--rate', '64KiB'];
    const child = spawn(process.execPath, [MAIN, ...words, '--data', service.data]);
    const closed = once(child, 'close');
    const printed = { out: '', err: '' };
    child.stdout.on('data', (piece) => (printed.out += String(piece)));
    child.stderr.on('data', (piece) => (printed.err += String(piece)));
    await once(child, 'spawn');
    await waitUntil(async () =>
      (await openFiles(child.pid)).some((path) => path.includes('/data/tables/')),
    );
    child.kill('SIGINT');
    const [code] = await closed;
    const { deep, changes } = JSON.parse(printed.out);
    expect([code, changes]).toEqual([2, null]);
    expect(deep.next).toMatch(/^(\/[a-f]?|dropped)$/);
    expect(printed.err).toBe(
      `arrowgate: the verification was interrupted: continue with --from ${deep.next}\n`,
    );
    const rest = await verify('--deep', '--from', deep.next);
    expect(rest).toMatchObject({ code: 0, err: '' });
  });

  it('leaves out what lies before a table', async () => {
    const tablesFrom = async (from: string) => {
      const { out } = await verify('--deep', '--from', from, '--json');
      const { tables, changes } = JSON.parse(out);
      expect(changes).toBeGreaterThan(7);
      return tables;
    };
    expect(await tablesFrom('/')).toBe(7);
    expect(await tablesFrom('/c')).toBe(5);
    expect(await tablesFrom('/ccc')).toBe(4);
    expect(await tablesFrom('dropped')).toBe(1);
  });

  const refusals: readonly (readonly [readonly string[], string])[] = [
    [['--rate', '1MiB'], '--rate is for --deep: add --deep, or leave --rate out'],
    [['--from', '/a'], '--from is for --deep: add --deep, or leave --from out'],
    [
      ['/a', '--deep', '--from', '/a'],
      '--from continues a run over all tables: leave the table or --from out',
    ],
    [['--deep', '--from', 'a'], '"a" is no canonical path: write /a'],
    ...['fast', '-1', '1MB', '12', '1.5MiB', ''].map(
      (rate) =>
        [
          ['--deep', `--rate=${rate}`],
          `--rate is ${JSON.stringify(rate)}, but must be the bytes to read in a second: a size of at least 64KiB such as 100MiB, or 0 for no limit`,
        ] as const,
    ),
  ];

  it('refuses flags that make no sense', async () => {
    for (const [flags, sentence] of refusals) {
      expect(await verify(...flags)).toEqual({ code: 2, out: '', err: `arrowgate: ${sentence}\n` });
    }
  });
});
