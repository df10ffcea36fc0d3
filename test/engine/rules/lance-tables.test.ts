import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { versionFile } from '../../../src/engine/format/lance/version-file.ts';
import { refusalOf } from '../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { lanceTable } from '../../support/lance-table.ts';
import { ManagedTable, manifestOf } from '../../support/managed-table.ts';
import { ask } from '../../support/request.ts';
import { Rulebook } from '../../support/ruled-engine.ts';

/** Tables whose rows Lance clients write: first commits of branches, and what is registered. */

let rules: Rulebook;
let engine: TestEngine;

beforeEach(async () => {
  rules = new Rulebook();
  engine = await freshEngine({ rules });
});

afterEach(() => engine.close());

const says = (path: string, fault: string) =>
  `20 the commit rule demand refuses this of ${path}: ${fault}`;

describe('the first commit of a branch', () => {
  let table: ManagedTable;

  beforeEach(async () => {
    table = await ManagedTable.open(engine);
    await table.commit(1n, { rows: 10 });
    await table.commit(2n, { rows: 10 });
    const folder = join(table.location, '_refs', 'branches');
    await mkdir(folder, { recursive: true });
    const ref = { parentBranch: null, parentVersion: 2, createAt: 7, manifestSize: 9 };
    await writeFile(join(folder, 'dev.json'), JSON.stringify(ref));
  });

  const first = async (rows: number) => {
    const path = await table.stage(3n, { branch: 'dev', rows });
    return table.create(3n, path, { branch: 'dev' });
  };

  it.each([
    [
      'max_removed_share: 0.5',
      'it removes 6 of 10 rows, and at most a share of 0.5 may be removed',
    ],
    ['append_only: true', 'it removes 6 rows of a table that only gets more'],
    [
      'check: "n > 0"',
      'check "n > 0" cannot be judged of a table whose rows are written by Lance clients',
    ],
    ['context: [ticket]', 'the request\'s context has no "ticket"'],
  ])('is compared with what the branch came from, and refused by %s', async (require, fault) => {
    rules.demand(require);
    const path = await table.stage(3n, { branch: 'dev', rows: 4 });
    await table.refuses(() => table.create(3n, path, { branch: 'dev' }), says('/t', fault));
    expect(await table.versions({ branch: 'dev' }).catch(() => [])).toEqual([]);
  });

  it.each(['schema: locked', 'max_rows: 4', 'max_removed_share: 0.6'])(
    'is let in by %s, and recorded as what it does to that',
    async (require) => {
      rules.demand(require);
      expect((await first(4)).commit).toMatchObject({
        baseVersion: 2n,
        version: 3n,
        rowsAdded: 4n,
        rowsRemoved: 10n,
        schemaChanged: false,
        rules: ['demand'],
      });
    },
  );
});

describe('a table that is registered', () => {
  const place = () => join(engine.data, 'allowed', 'set');
  const register = (body: object = {}) =>
    ask(engine.backend, 'POST /v1/table/t/register', { body: { location: place(), ...body } });
  const again = () => register({ mode: 'overwrite' });
  const isThere = () => ask(engine.backend, 'POST /v1/table/t/describe');
  /** Puts a version there as a client does that does not know the catalog. */
  const written = (version: bigint, rows: number) =>
    writeFile(join(place(), '_versions', versionFile(version, 'V2')), manifestOf(version, rows));

  beforeEach(() => lanceTable(place(), 3));

  it.each([
    ['max_rows: 2', 'it adds 3 rows, and at most 2 may be added'],
    ['columns: [{ name: key, type: int64 }]', 'the table would have no column "key"'],
    [
      'check: "n > 0"',
      'check "n > 0" cannot be judged of a table whose rows are written by Lance clients',
    ],
    ['context: [ticket]', 'the request\'s context has no "ticket"'],
    ['locations: [/srv/lake]', 'where no table may lie'],
  ])('is judged as if its newest version made it: by %s', async (require, fault) => {
    rules.demand(require);
    const told = await refusalOf(register());
    expect([told.startsWith(says('/t', '')), told.endsWith(fault)]).toEqual([true, true]);
    expect(await refusalOf(isThere())).toMatch(/^4 /);
  });

  it('gets its name where no rule is broken', async () => {
    rules.demand('append_only: true, columns: [{ name: n, type: int64 }], max_rows: 3');
    expect((await register()).json).toMatchObject({ location: place() });
  });

  it('again is judged by what was written past the catalog, one version after the other', async () => {
    await register();
    rules.demand('append_only: true, max_rows: 1');
    await again();
    await lanceTable(place(), 5);
    await again();
    await written(6n, 1);
    const fault = 'it removes 4 rows of a table that only gets more';
    expect(await refusalOf(again())).toBe(says('/t', fault));
    // The version after that brings them back, and hides nothing.
    await lanceTable(place(), 5);
    await written(7n, 9);
    expect(await refusalOf(again())).toMatch(/^20 the commit rule demand refuses this of \/t: it /);
    expect((await isThere()).json).toMatchObject({ version: 5 });
    rules.clear();
    await again();
    expect((await isThere()).json).toMatchObject({ version: 7 });
  });
});
