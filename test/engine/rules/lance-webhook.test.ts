import { copyFile, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusalOf } from '../../support/engine-table.ts';
import { freshEngine } from '../../support/engine.ts';
import { ManagedTable } from '../../support/managed-table.ts';
import { ask } from '../../support/request.ts';
import { Rulebook } from '../../support/ruled-engine.ts';
import { says as json, WebhookServer } from '../../support/webhook-server.ts';

/** Commits of Lance clients that another program has the last word on. */

const rules = new Rulebook();
let table: ManagedTable;
let server: WebhookServer;

beforeAll(async () => {
  server = await WebhookServer.start();
  table = await ManagedTable.open(await freshEngine({ rules }));
  rules.secrets.set('JUDGE', 'a key of signatures');
  await table.commit(1n, { rows: 10 });
  rules.set(
    `rules:\n  - { name: outside, tables: ["/t"], webhook: { url: "${server.url}", secret_env: JUDGE } }\n`,
  );
});

afterAll(async () => {
  server.stop();
  await table.close();
});

beforeEach(() => server.reset());

const SAYS_NO = '20 the commit rule outside refuses this of /t: its webhook says no';

/** How many rows each version had that it was asked about. */
const rowsAdded = () =>
  server.asked.map(({ body }) => {
    const { branch, change } = JSON.parse(body) as {
      branch: string;
      change?: { rows_added: string };
    };
    return `${branch} ${change?.rows_added}`;
  });

const batch = (entries: readonly object[]) =>
  ask(table.engine.backend, 'POST /v1/table/version/batch-create', { body: { entries } });

describe('a webhook', () => {
  it('is asked about each version of a batch, on whatever branch', async () => {
    const paths = [await table.stage(2n, { rows: 11 }), await table.stage(3n, { rows: 12 })];
    const branch = await table.stage(1n, { branch: 'dev', rows: 13 });
    const told = await batch([
      { id: ['t'], version: 2, manifest_path: paths[0] },
      { id: ['t'], version: 3, manifest_path: paths[1] },
      { id: ['t'], version: 1, manifest_path: branch, branch: 'dev' },
    ]);
    expect(told.status).toBe(200);
    expect(rowsAdded()).toEqual(['main 1', 'main 1', 'dev 3']);
  });

  it('that refuses the last version of a batch refuses all', async () => {
    server.reply = (response) => json({ allow: server.asked.length < 2 })(response);
    const paths = [await table.stage(4n), await table.stage(5n)];
    const entries = paths.map((path, at) => ({ id: ['t'], version: 4 + at, manifest_path: path }));
    expect(await refusalOf(batch(entries))).toBe(SAYS_NO);
    expect(server.asked).toHaveLength(2);
    expect(await table.versions()).toEqual([1, 2, 3]);
  });

  it('is asked once for a commit whose manifest names no transaction, however often it is staged', async () => {
    server.reply = json({ allow: false });
    const first = await table.stage(4n);
    const second = `${first}-again`;
    await copyFile(`/${first}`, `/${second}`);
    expect(await readFile(`/${second}`)).toEqual(await readFile(`/${first}`));
    for (const path of [first, first, second]) {
      expect(await refusalOf(table.create(4n, path))).toBe(SAYS_NO);
    }
    expect(server.asked).toHaveLength(1);
    expect(await refusalOf(table.create(4n, await table.stage(4n)))).toBe(SAYS_NO);
    expect(server.asked).toHaveLength(2);
  });
});
