import { disk } from '../../../support/disk.ts';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { versionFile } from '../../../../src/engine/format/lance/version-file.ts';
import { rebuild } from '../../../../src/engine/upkeep/recovery/rebuild.ts';
import { openOther } from '../../../support/engine.ts';
import { ManagedTable, manifestOf } from '../../../support/managed-table.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { ask } from '../../../support/request.ts';

let table: ManagedTable;
let target: string;

beforeEach(async () => {
  table = await ManagedTable.open();
  target = await mkdtemp(join(tmpdir(), 'backup-'));
});

afterEach(async () => {
  await table.close();
  await rm(target, { recursive: true, force: true });
});

describe('a backup of a table of Lance clients', () => {
  it('has the versions of its moment, and the next one is free', async () => {
    await table.commit(1n);
    await table.commit(2n);
    // As if it were committed once the backup knows what it is to hold.
    const later = join(table.location, '_versions', versionFile(3n, 'V2'));
    await writeFile(later, manifestOf(3n));
    await table.engine.upkeep!.backup({ target, progress: () => undefined });
    const store = new MemoryStore();
    const quiet = { dryRun: false, force: false, progress: () => undefined };
    expect(await rebuild({ storage: disk, data: target, store, ...quiet })).toMatchObject({
      versionsAhead: 0,
    });
    const other = await openOther({ data: target, store });
    const described = await ask(other.backend, 'POST /v1/table/t/describe');
    const { location } = described.json as { location: string };
    expect(await readdir(join(location, '_versions'))).toEqual(
      [2n, 1n].map((version) => versionFile(version, 'V2')),
    );
    const staged = join(location, '_versions', `${versionFile(3n, 'V2')}-one`);
    await writeFile(staged, manifestOf(3n));
    const body = { version: 3, manifest_path: staged.slice(1) };
    const made = await ask(other.backend, 'POST /v1/table/t/version/create', { body });
    expect(made.json).toMatchObject({ version: { version: 3 } });
    await other.close();
  });
});
