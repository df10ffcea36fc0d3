import { disk } from '../../../support/disk.ts';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lanceManifests, lanceVersions } from '../../../../src/engine/format/lance/versions.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lance-'));
});

afterEach(async () => rm(folder, { recursive: true, force: true }));

async function numbers(): Promise<readonly bigint[]> {
  return (await lanceVersions(disk, folder)).map(({ version }) => version);
}

async function manifests(...names: readonly string[]): Promise<void> {
  await mkdir(join(folder, '_versions'), { recursive: true });
  for (const name of names) await writeFile(join(folder, '_versions', name), '');
}

describe('lanceVersions', () => {
  it('reads both ways in which manifests are named', async () => {
    await manifests('18446744073709551613.manifest', '18446744073709551614.manifest');
    expect(await numbers()).toEqual([1n, 2n]);
    await manifests('10.manifest', '9.manifest');
    expect(await numbers()).toEqual([1n, 2n, 9n, 10n]);
    await manifests('9223372036854775808.manifest');
    expect(await numbers()).toEqual([1n, 2n, 9n, 10n]);
    expect((await lanceVersions(disk, folder)).at(-1)).toEqual({
      version: 10n,
      manifest: join(folder, '_versions', '10.manifest'),
    });
  });

  it('knows those that belong to no chain by their sign', async () => {
    await manifests('d9223372036854775809.manifest', '1.manifest', 'd5.manifest');
    const found = (await lanceManifests(disk, folder)).map(({ version }) => version);
    expect(new Set(found)).toEqual(new Set([-(2n ** 63n) + 1n, 1n]));
    expect(await numbers()).toEqual([1n]);
  });

  it.each([
    '18446744073709551614.manifest-6f1c7b',
    'd9223372036854775809.manifest',
    'latest_version_hint.json',
    '18446744073709551616.manifest',
    '.manifest',
    '-1.manifest',
    '1.manifest.tmp',
    '000000000000000000001.manifest',
  ])('takes no other file for a version: %s', async (name) => {
    await manifests(name);
    expect(await numbers()).toEqual([]);
  });

  it('has none where there is no table', async () => {
    expect(await numbers()).toEqual([]);
    expect(await lanceVersions(disk, join(folder, 'none'))).toEqual([]);
    await writeFile(join(folder, '_versions'), '');
    expect(await numbers()).toEqual([]);
  });
});
