import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KnownManifests } from '../../../../src/engine/versions/managed/known-manifests.ts';
import { decodeLanceManifest } from '../../../../src/engine/format/lance/lance-manifest-reader.ts';
import type { VersionRecord } from '../../../../src/engine/format/records.ts';
import { OwnFiles } from '../../../../src/engine/versions/managed/lance-files.ts';
import { disk } from '../../../support/disk.ts';
import { ManagedTable } from '../../../support/managed-table.ts';
import { ask } from '../../../support/request.ts';

const record = (staging: string, manifestBytes = 100): VersionRecord => ({
  version: 1n,
  timestampMillis: 0,
  manifest: '_versions/1.manifest',
  staging,
  manifestBytes,
  metadata: {},
});
const manifest = { manifest: decodeLanceManifest(new Uint8Array()), segments: [] };

describe('manifests that were read when they were staged', () => {
  it('are known by the second name of what was staged, which no other version has', () => {
    const known = new KnownManifests();
    known.remember(record('one'), manifest);
    expect(known.of(record('one'))).toBe(manifest);
    expect(known.of(record('two'))).toBeUndefined();
  });

  it('are read again where they are large, or others were staged since', () => {
    const known = new KnownManifests();
    known.remember(record('large', 256 * 1024 + 1), manifest);
    expect(known.of(record('large', 256 * 1024 + 1))).toBeUndefined();
    for (let at = 0; at < 17; at++) known.remember(record(`${at}`, 256 * 1024), manifest);
    expect(known.of(record('0'))).toBeUndefined();
    expect(known.of(record('16'))).toBe(manifest);
  });
});

it('are not read again to learn the columns of a version', async () => {
  const known = new KnownManifests();
  const at = record('one');
  const place = { id: 'one', path: ['t'], location: '/nowhere', at };
  const files = new OwnFiles(disk, known);
  await expect(files.require(place)).rejects.toThrow('/nowhere');
  known.remember(at, manifest);
  expect(await files.require(place)).toMatchObject({ names: [], rowBytes: 0 });
});

describe('what a commit did', () => {
  let managed: ManagedTable;

  beforeEach(async () => {
    managed = await ManagedTable.open();
  });

  afterEach(async () => managed.close());

  async function commitOf(version: bigint, rows: number): Promise<unknown> {
    const body = {
      version: Number(version),
      manifest_path: await managed.stage(version, { rows }),
    };
    return (await ask(managed.engine.backend, 'POST /v1/table/t/version/create', { body })).commit;
  }

  it('is told in comparison with the version before, whose file is not needed', async () => {
    expect(await commitOf(1n, 3)).toMatchObject({ rowsAdded: 3n, rowsRemoved: 0n });
    const [first = ''] = (await managed.files()).filter((name) => name.endsWith('.manifest'));
    await rm(join(managed.location, first));
    expect(await commitOf(2n, 5)).toMatchObject({
      baseVersion: 1n,
      rowsAdded: 5n,
      rowsRemoved: 3n,
      schemaChanged: false,
    });
  });
});
