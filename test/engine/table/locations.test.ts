import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CatalogError } from '../../../src/protocol/errors.ts';
import {
  requireFree,
  reserveLocation,
  resolveLocation,
} from '../../../src/engine/table/locations.ts';
import { MemoryStore } from '../../support/memory-store.ts';

let base = '';
let allowed = '';
const rules = () => ({ managed: join(base, 'managed'), allowed: [allowed] });

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'locations-')));
  allowed = join(base, 'allowed');
  await mkdir(join(base, 'managed'));
  await mkdir(allowed);
  await mkdir(join(base, 'elsewhere'));
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
    ['relative', () => 'tables/x', 'is neither an absolute path nor a file: URI'],
    ['another scheme', () => 's3://bucket/x', 'is neither an absolute path nor a file: URI'],
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
