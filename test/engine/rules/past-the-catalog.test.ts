import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { versionFile } from '../../../src/engine/format/lance/version-file.ts';
import { refusalOf } from '../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { ManagedTable, manifestOf } from '../../support/managed-table.ts';
import { ask } from '../../support/request.ts';
import { Rulebook } from '../../support/ruled-engine.ts';

/** Versions of branches that Lance clients wrote without the catalog, and what makes them visible. */

let rules: Rulebook;
let engine: TestEngine;

beforeEach(async () => {
  rules = new Rulebook();
  engine = await freshEngine({ rules });
});

afterEach(() => engine.close());

const says = (fault: string) => `20 the commit rule demand refuses this of /t: ${fault}`;
const place = () => join(engine.data, 'allowed', 'set');
const post = (action: string, body: object = {}) =>
  ask(engine.backend, `POST /v1/table/t/${action}`, { body });
const register = (body: object = {}) => post('register', { location: place(), ...body });
const again = () => register({ mode: 'overwrite' });

interface Written {
  readonly branch?: string;
  readonly rows?: number;
  /** The name of the data file; one of its own when absent. */
  readonly file?: string;
  /** Whose file it is: the table's; the branch's own when absent. */
  readonly base?: string;
}

const folderOf = (branch?: string) =>
  branch === undefined ? place() : join(place(), 'tree', branch);

/** Puts a version there as a client does that does not know the catalog. */
async function written(version: bigint, { branch, rows, file, base }: Written): Promise<void> {
  const path = join(folderOf(branch), '_versions', versionFile(version, 'V2'));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, manifestOf(version, rows, file, base));
}

async function wroteDown(branch: string, parentVersion: number, parentBranch: string | null) {
  const folder = join(place(), '_refs', 'branches');
  await mkdir(folder, { recursive: true });
  const ref = { parentBranch, parentVersion, createAt: 7, manifestSize: 9 };
  await writeFile(join(folder, `${encodeURIComponent(branch)}.json`), JSON.stringify(ref));
}

/** A branch that is a copy of version 2 of main. */
async function branched(branch = 'dev'): Promise<void> {
  await written(2n, { branch, rows: 10, file: 'two', base: place() });
  await wroteDown(branch, 2, null);
}

beforeEach(async () => {
  await written(1n, { rows: 10, file: 'one' });
  await written(2n, { rows: 10, file: 'two' });
});

async function versionsOn(branch: string): Promise<readonly number[]> {
  const { json } = await post('version/list', { branch });
  const { versions } = json as unknown as { versions: readonly { version: number }[] };
  return versions.map(({ version }) => version);
}

describe('a branch that was written past the catalog', () => {
  beforeEach(async () => {
    await register();
    await branched();
  });

  it.each([
    ['append_only: true', 6, 'it removes 6 rows of a table that only gets more'],
    [
      'max_removed_share: 0.5',
      4,
      'it removes 6 of 10 rows, and at most a share of 0.5 may be removed',
    ],
    ['max_rows: 20', 40, 'it adds 30 rows, and at most 20 may be added'],
    [
      'check: "n > 0"',
      10,
      'check "n > 0" cannot be judged of a table whose rows are written by Lance clients',
    ],
    [
      'unique: [n]',
      10,
      'unique ["n"] cannot be judged of a table whose rows are written by Lance clients',
    ],
  ])('is compared with what it came from, and refused by %s', async (require, rows, fault) => {
    rules.demand(require);
    await again();
    expect(await versionsOn('dev')).toEqual([2]);
    await written(3n, { branch: 'dev', rows: require.startsWith('append') ? 4 : rows });
    expect(await refusalOf(again())).toBe(says(fault));
    expect(await versionsOn('dev')).toEqual([2]);
    rules.clear();
    await again();
    expect(await versionsOn('dev')).toEqual([2, 3]);
  });

  it('is judged version by version, so that the last hides nothing', async () => {
    rules.demand('max_removed_share: 0.5');
    await written(3n, { branch: 'dev', rows: 1 });
    await written(4n, { branch: 'dev', rows: 10, file: 'two', base: place() });
    expect(await refusalOf(again())).toBe(
      says('it removes 9 of 10 rows, and at most a share of 0.5 may be removed'),
    );
  });

  it('does not pass for a copy by the name of a file that is another', async () => {
    rules.demand('check: "n > 0"');
    await written(3n, { branch: 'dev', rows: 10, file: 'two' });
    expect(await refusalOf(again())).toMatch(/^20 .* cannot be judged /);
  });

  it('is compared with a version of main that is as unknown, and with a branch that it came from', async () => {
    rules.demand('max_rows: 5');
    await written(3n, { rows: 15, file: 'three' });
    await written(3n, { branch: 'late', rows: 15, file: 'three', base: place() });
    await wroteDown('late', 3, null);
    await written(2n, { branch: 'a/child', rows: 10, file: 'two', base: place() });
    await wroteDown('a/child', 2, 'dev');
    await again();
    expect(await versionsOn('late')).toEqual([3]);
    expect(await versionsOn('a/child')).toEqual([2]);
  });

  it('is noted by a rule that warns, and let in', async () => {
    rules.demand('append_only: true', 'mode: warn');
    await written(3n, { branch: 'dev', rows: 4 });
    expect((await again()).commit?.rules).toEqual(['demand (warned)']);
    expect(await versionsOn('dev')).toEqual([2, 3]);
  });

  it('is judged by the rules about what its manifests change', async () => {
    rules.demand('max_rows: 0', 'operations: [append]');
    await again();
    await written(3n, { branch: 'dev', rows: 11 });
    expect(await refusalOf(again())).toMatch(/^20 .*: it adds 1 row, and at most 0 may be added$/);
  });

  it('is refused where what it came from is gone, or cannot be read', async () => {
    rules.demand('append_only: true');
    await written(7n, { branch: 'lost', rows: 1 });
    await wroteDown('lost', 7, 'nobody');
    expect(await refusalOf(again())).toBe(
      says(
        'append_only cannot be judged, since version 7 of nobody, from which its branch came, is not there',
      ),
    );
    await rm(join(place(), '_refs', 'branches', 'lost.json'));
    await writeFile(join(folderOf('dev'), '_versions', versionFile(3n, 'V2')), 'no manifest');
    const unread =
      'append_only cannot be judged, since the manifest of its version 3 cannot be read';
    expect(await refusalOf(again())).toBe(says(unread));
    rules.demand('append_only: true', 'mode: warn');
    expect((await again()).commit?.rules).toEqual(['demand (warned)']);
  });

  it('is let in where no rule looks at what it does', async () => {
    rules.demand('no_drop: true, protected_tags: [v1]');
    await writeFile(join(folderOf('dev'), '_versions', versionFile(3n, 'V2')), 'no manifest');
    expect((await again()).commit?.rules).toEqual(['demand']);
  });

  it('that goes on after the catalog knows it is judged from there', async () => {
    await again();
    rules.demand('max_rows: 5');
    await written(3n, { branch: 'dev', rows: 16 });
    expect(await refusalOf(again())).toMatch(/: it adds 6 rows, and at most 5 may be added$/);
    await written(3n, { branch: 'dev', rows: 15 });
    await again();
    expect(await versionsOn('dev')).toEqual([2, 3]);
  });

  it('under a name that no branch can have is none', async () => {
    await writeFile(join(place(), '_refs', 'branches', '..%2F..%2Fx.json'), '{}');
    await written(1n, { branch: '../../x', rows: 10 });
    await again();
    expect((await post('branches/list')).json).toMatchObject({ branches: { dev: {} } });
  });
});

describe('versions beside the newest', () => {
  it('are judged: one that belongs to no chain, and one that came back', async () => {
    await register();
    rules.demand('max_rows: 5');
    const detached = 2n ** 63n + 5n;
    await written(detached, { rows: 30 });
    expect(await refusalOf(again())).toMatch(/: it adds 20 rows, and at most 5 may be added$/);
    await rm(join(place(), '_versions', versionFile(detached, 'V2')));
    await written(4n, { rows: 10, file: 'two' });
    await again();
    await written(3n, { rows: 20 });
    expect(await refusalOf(again())).toMatch(/: it adds 10 rows, and at most 5 may be added$/);
  });
});

describe('a table that is registered with branches', () => {
  it('is judged as if the newest version of each line made it', async () => {
    await branched();
    await written(3n, { branch: 'dev', rows: 31 });
    rules.demand('max_rows: 30');
    expect(await refusalOf(register())).toBe(says('it adds 31 rows, and at most 30 may be added'));
    rules.demand('max_rows: 31');
    expect((await register()).commit?.rules).toEqual(['demand']);
    await post('deregister');
    rules.demand('columns: [{ name: key, type: int64 }]', 'mode: warn');
    expect((await register()).commit?.rules).toEqual(['demand (warned)']);
  });

  it('after it was declared, likewise', async () => {
    await rm(place(), { recursive: true });
    await post('declare', { location: place() });
    await written(2n, { rows: 10, file: 'two' });
    await branched();
    await written(3n, { branch: 'dev', rows: 31 });
    rules.demand('max_rows: 30');
    expect(await refusalOf(again())).toMatch(/: it adds 31 rows, and at most 30 may be added$/);
  });

  it('under a name in place of another is judged too', async () => {
    const other = await ManagedTable.open(engine);
    await other.commit(1n);
    await branched();
    await written(3n, { branch: 'dev', rows: 31 });
    rules.demand('max_rows: 30');
    expect(await refusalOf(again())).toMatch(/: it adds 31 rows, and at most 30 may be added$/);
  });
});

describe('a place that is declared', () => {
  it('holds nothing yet', async () => {
    const told = await refusalOf(post('declare', { location: place() }));
    expect(told).toMatch(/^13 the location .* is not an empty folder$/);
  });

  it('adopts versions that came later past the catalog, and takes no commit over them', async () => {
    await rm(place(), { recursive: true });
    await post('declare', { location: place() });
    await written(1n, { rows: 10 });
    const staged = join('_versions', `${versionFile(1n, 'V2')}-abc`);
    await writeFile(join(place(), staged), manifestOf(1n));
    const create = post('version/create', {
      version: 1,
      manifest_path: join(place(), staged).slice(1),
    });
    expect(await refusalOf(create)).toMatch(/^14 .* its version 1 is another one$/);
  });
});

describe('the first commit of a branch', () => {
  it('from a version that the catalog does not know is compared with the newest that it knows', async () => {
    await register();
    await written(3n, { rows: 2 });
    rules.demand('append_only: true');
    const staged = join('tree', 'dev', '_versions', `${versionFile(4n, 'V2')}-abc`);
    await mkdir(dirname(join(place(), staged)), { recursive: true });
    await writeFile(join(place(), staged), manifestOf(4n, 2));
    const create = post('version/create', {
      version: 4,
      manifest_path: join(place(), staged).slice(1),
      branch: 'dev',
    });
    expect(await refusalOf(create)).toBe(says('it removes 8 rows of a table that only gets more'));
  });
});
