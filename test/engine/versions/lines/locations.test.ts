import { disk } from '../../../support/disk.ts';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CatalogError } from '../../../../src/protocol/errors.ts';
import {
  makeLocation,
  managedFolder,
  requireFree,
  reserveLocation,
  resolveDataset,
  resolveLocation,
} from '../../../../src/engine/versions/lines/locations.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

let base = '';
let allowed = '';
const rules = () => ({
  managed: join(base, 'managed'),
  allowed: [allowed, join(base, 'data')],
  storage: disk,
  own: [join(base, 'data', 'tables')],
});

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'locations-')));
  allowed = join(base, 'allowed');
  await mkdir(join(base, 'managed'));
  await mkdir(allowed);
  await mkdir(join(base, 'elsewhere'));
  await writeFile(join(base, 'elsewhere', 'file'), '');
  await symlink(join(base, 'elsewhere'), join(allowed, 'link'));
  await symlink(join(allowed, 'loop'), join(allowed, 'loop'));
  await mkdir(join(allowed, 'full'));
  await writeFile(join(allowed, 'full', 'file'), '');
});

afterAll(async () => rm(base, { recursive: true, force: true }));

describe('resolveLocation', () => {
  it('takes a path or a file URI inside an allowed folder', async () => {
    await expect(resolveLocation(join(allowed, 'a', 'b'), rules())).resolves.toBe(
      join(allowed, 'a', 'b'),
    );
    const uri = pathToFileURL(join(base, 'managed', 'c d')).href;
    await expect(resolveLocation(uri, rules())).resolves.toBe(join(base, 'managed', 'c d'));
  });

  it.each([
    ['relative', () => 'tables/x', 'is neither an absolute path nor a file: or s3: URI'],
    ['another scheme', () => 'gs://bucket/x', 'is neither an absolute path nor a file: or s3: URI'],
    [
      'a bucket that is none of ours',
      () => 's3://bucket/x',
      'lies outside the folders where tables may be',
    ],
    [
      'a URI of an object that leads out',
      () => `s3://b/../../${base}/managed/x`,
      'is neither an absolute path nor a file: or s3: URI',
    ],
    [
      'an object whose name clients write in several ways',
      () => 's3://bucket/a b',
      'holds characters that clients of object stores write in different ways: use letters, digits and . _ = @ + -',
    ],
    ['another host', () => 'file://host/x', 'is not a file: URI of this machine'],
    ['outside', () => join(base, 'elsewhere', 'x'), 'lies outside the folders where tables may be'],
    ['the folder itself', () => allowed, 'lies outside the folders where tables may be'],
    [
      'up and out',
      () => join(allowed, 'x') + '/../../elsewhere/y',
      'lies outside the folders where tables may be',
    ],
    [
      'out through a link',
      () => join(allowed, 'link', 'x'),
      'lies outside the folders where tables may be',
    ],
    [
      'in a file elsewhere, of which nothing is told',
      () => join(base, 'elsewhere', 'file', 'x'),
      'lies outside the folders where tables may be',
    ],
    [
      'elsewhere, of a name that is too long',
      () => join(base, 'elsewhere', 'a'.repeat(300), 'x'),
      'lies outside the folders where tables may be',
    ],
    ['taken', () => join(allowed, 'full'), 'is not an empty folder'],
    [
      'a file',
      () => join(allowed, 'full', 'file'),
      'is not a folder, or lies in something that is none',
    ],
    [
      'in a file',
      () => join(allowed, 'full', 'file', 'x'),
      'is not a folder, or lies in something that is none',
    ],
    ['a zero byte', () => `${pathToFileURL(allowed).href}/a%00b`, 'holds a control character'],
    ['a newline', () => join(allowed, 'a\nb'), 'holds a control character'],
    ['of one long name', () => join(allowed, 'a'.repeat(300)), 'has a name that is too long'],
    ['of a loop of links', () => join(allowed, 'loop', 'x'), 'leads round in links'],
  ])('refuses a location that is %s', async (_, location, why) => {
    const refusal = await resolveLocation(location(), rules()).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(CatalogError);
    expect(refusal).toMatchObject({
      row: { code: 13 },
      message: `the location ${JSON.stringify(location())} ${why}`,
    });
  });

  it.each([
    ['in a folder of its own', () => join(base, 'data', 'tables', 'x')],
    ['at a folder of its own', () => join(base, 'data', 'tables')],
  ])('refuses what the service keeps to itself, whatever is allowed: %s', async (_, location) => {
    await expect(resolveLocation(location(), rules())).rejects.toMatchObject({
      row: { code: 13 },
      message: `the location ${JSON.stringify(location())} lies outside the folders where tables may be`,
    });
  });

  it('refuses a folder in which the service has its own, or other tables will be', async () => {
    const around = {
      storage: disk,
      managed: join(base, 'new', 'lance'),
      allowed: [base],
      own: rules().own,
    };
    for (const location of [join(base, 'new'), join(base, 'data'), join(base, 'new', 'lance')]) {
      await expect(resolveLocation(location, around)).rejects.toMatchObject({
        row: { code: 13 },
        message: `the location ${JSON.stringify(location)} holds folders that the service needs for itself`,
      });
    }
    const beside = join(base, 'new', 'table');
    await expect(resolveLocation(beside, around)).resolves.toBe(beside);
  });

  it('refuses a path that the store could not hold as a key', async () => {
    const deep = join(allowed, ...Array.from({ length: 600 }, () => 'a'));
    await expect(resolveLocation(deep, rules())).rejects.toMatchObject({
      row: { code: 13 },
      message: `the location ${JSON.stringify(deep)} has ${deep.length} bytes, more than 1024`,
    });
  });

  it('takes a folder whose name begins with two dots', async () => {
    await expect(resolveLocation(join(allowed, '..a'), rules())).resolves.toBe(
      join(allowed, '..a'),
    );
  });
});

describe('resolveDataset', () => {
  beforeAll(async () => {
    for (const [name, manifest] of [
      ['new', '_versions/18446744073709551614.manifest'],
      ['old', '_versions/1.manifest'],
      ['staged', '_versions/18446744073709551614.manifest-6f1c'],
      ['own', 'versions/00000000000000000001.arrow'],
      ['odd', '_versions'],
    ] as const) {
      const file = join(allowed, 'sets', name, manifest);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, '');
    }
    await symlink(join(allowed, 'sets', 'new'), join(allowed, 'alias'));
    await mkdir(join(allowed, 'sets', 'empty'));
  });

  it.each([
    ['sets/new', 'sets/new'],
    ['sets/old', 'sets/old'],
    ['sets/empty/../new/', 'sets/new'],
    ['alias', 'sets/new'],
  ])('takes a folder with a manifest: %s', async (location, folder) => {
    await expect(resolveDataset(`${allowed}/${location}`, rules())).resolves.toBe(
      join(allowed, folder),
    );
    const uri = pathToFileURL(`${allowed}/${location}`).href;
    await expect(resolveDataset(uri, rules())).resolves.toBe(join(allowed, folder));
  });

  const none = 'holds no Lance table: there is no manifest in its folder _versions';
  it.each([
    ['sets/none', 'does not exist: DeclareTable makes the place of a new table'],
    ['sets/empty', none],
    ['sets/staged', none],
    ['sets/odd', none],
    ['sets', none],
    ['full', none],
    [
      'sets/own',
      'holds no table of a Lance client: one that this service wrote cannot be registered',
    ],
    ['full/file', 'is not a folder, or lies in something that is none'],
    ['link/x', 'lies outside the folders where tables may be'],
    ['../elsewhere', 'lies outside the folders where tables may be'],
  ])('refuses %s', async (location, why) => {
    const path = `${allowed}/${location}`;
    await expect(resolveDataset(path, rules())).rejects.toMatchObject({
      row: { code: 13 },
      message: `the location ${JSON.stringify(path)} ${why}`,
    });
  });
});

describe('makeLocation', () => {
  it('makes a folder, and leaves one that is there', async () => {
    const folder = await managedFolder(rules(), 'an id');
    expect(folder).toBe(join(base, 'managed', 'an id.lance'));
    await makeLocation(folder, rules());
    await writeFile(join(folder, 'file'), '');
    await makeLocation(folder, rules());
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('says what is in the way', async () => {
    const folder = join(allowed, 'full', 'file', 'x');
    await expect(makeLocation(folder, rules())).rejects.toMatchObject({
      row: { code: 13 },
      message: `the location ${JSON.stringify(folder)} is not a folder, or lies in something that is none`,
    });
  });
});

describe('requireFree', () => {
  it.each(['/a/b', '/a/b/c', '/a'])('refuses %s when a table lies at /a/b', async (folder) => {
    const store = new MemoryStore();
    const { checks, writes } = reserveLocation('/a/b', 'id');
    await store.commit(checks, writes);
    await expect(requireFree(store, folder)).rejects.toMatchObject({
      row: { code: 13 },
      message: `the location "${folder}" overlaps the location of another table`,
    });
    await expect(requireFree(store, '/a/bc')).resolves.toBeUndefined();
  });
});

describe('reserveLocation', () => {
  it('checks that no table lies inside the folder or around it', () => {
    expect(reserveLocation('/a/b', 'id')).toEqual({
      checks: [
        { kind: 'count', start: 'L/a/b/', end: 'L/a/b0', count: 0 },
        { kind: 'value', key: 'L/a/', value: null },
        { kind: 'value', key: 'L//', value: null },
      ],
      writes: [{ key: 'L/a/b/', value: Buffer.from('id') }],
    });
  });
});

describe('reservations', () => {
  const folder = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'a b'), { minLength: 1, maxLength: 4 })
    .map((names) => `/${names.join('/')}`);

  const overlap = (left: string, right: string): boolean =>
    `${left}/`.startsWith(`${right}/`) || `${right}/`.startsWith(`${left}/`);

  it('take every folder but those that overlap one that is taken', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(folder, { maxLength: 12 }), async (folders) => {
        const store = new MemoryStore();
        const taken: string[] = [];
        for (const [index, each] of folders.entries()) {
          const free = await requireFree(store, each).then(
            () => true,
            () => false,
          );
          const { checks, writes } = reserveLocation(each, `${index}`);
          const { kind } = await store.commit(checks, writes);
          expect([free, kind]).toEqual(
            taken.some((other) => overlap(each, other)) ? [false, 'conflict'] : [true, 'committed'],
          );
          if (free) taken.push(each);
        }
      }),
    );
  });
});
