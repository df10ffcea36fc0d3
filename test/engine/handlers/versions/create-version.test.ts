import { mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { versionFile } from '../../../../src/engine/format/lance/version-file.ts';
import { refusalOf } from '../../../support/engine-table.ts';
import { freshEngine } from '../../../support/engine.ts';
import { lanceTable } from '../../../support/lance-table.ts';
import { ManagedTable } from '../../../support/managed-table.ts';
import { createsVersions } from './create-version.ts';

createsVersions('in folders', () => freshEngine());

describe('what a folder may have and a bucket may not', () => {
  let table: ManagedTable;

  beforeEach(async () => {
    table = await ManagedTable.open();
    await table.commit(1n);
  });

  afterEach(() => table.close());

  const final = (version: bigint) => join('_versions', versionFile(version, 'V2'));

  it('a manifest that a link leads to, and folders that are links', async () => {
    const other = join(table.engine.data, 'allowed', 'other');
    await lanceTable(other, 2);
    const staged = await table.stage(2n);
    await rm(`/${staged}`);
    await symlink(join(other, final(2n)), `/${staged}`);
    const told = `13 manifest_path ${JSON.stringify(staged)} leads through a link`;
    await table.refuses(() => table.create(2n, staged), told);
    await rename(join(table.location, '_versions'), join(table.location, 'away'));
    await symlink(join(other, '_versions'), join(table.location, '_versions'));
    expect(await refusalOf(table.post('describe'))).toMatch(/^18 .* leads through a link$/);
    expect(await refusalOf(table.create(2n, staged))).toMatch(/^1[38] /);
  });

  it('a folder in place of a manifest', async () => {
    const staged = await table.stage(2n);
    await rm(`/${staged}`);
    await mkdir(`/${staged}`);
    expect(await refusalOf(table.create(2n, staged))).toBe(
      `13 manifest_path ${JSON.stringify(staged)} is not a file`,
    );
  });
});
