import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streamOf } from '../support/engine-table.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

/** The rules of the built service: from the headers, live, in the audit log, and over the past. */

let service: Service;

const rows = (...ids: readonly number[]) =>
  streamOf({ id: vectorFromArray(ids.map(BigInt), new Int64()) });

async function send(path: string, body: Uint8Array | object = {}, context: object = {}) {
  const isJson = !(body instanceof Uint8Array);
  const response = await fetch(`${service.url}/v1/table/${path}`, {
    method: 'POST',
    headers: {
      'x-api-key': ADMIN_KEY,
      'content-type': isJson ? 'application/json' : 'application/vnd.apache.arrow.stream',
      ...context,
    },
    body: isJson ? JSON.stringify(body) : Buffer.from(body),
  });
  const text = await response.text();
  return { status: response.status, ...(text === '' ? {} : (JSON.parse(text) as object)) };
}

const rule = (require: string) =>
  `rules:\n  - { name: r, tables: ["/t"], require: { ${require} } }\n`;

beforeAll(async () => {
  service = await Service.start({ commits: rule('max_bytes: 100000, context: [ticket]') });
});

afterAll(() => service.stop());

describe('commit rules', () => {
  it('refuse by the headers what the headers decide', async () => {
    const refused = await send('t/create', rows(1));
    expect(refused).toMatchObject({
      status: 400,
      code: 20,
      error: 'the commit rule r refuses this of /t: the request\'s context has no "ticket"',
    });
    const ticket = { 'x-service-ctx-ticket': '7' };
    expect(await send('t/create', rows(1, -2), ticket)).toMatchObject({ status: 200 });
    const many = rows(...Array.from({ length: 20_000 }, (_, id) => id));
    expect(await send('t/insert', many, ticket)).toMatchObject({ status: 400, code: 20 });
    const records = await service.audit();
    const outcome = records.find((one) => one['status'] === 400 && one['phase'] === 'outcome');
    expect(outcome).toMatchObject({ decision: 'refused', rule: 'commits.yaml:2', code: 20 });
  });

  it('are swapped live, and refused whole', async () => {
    const file = join(service.policies, 'commits.yaml');
    await writeFile(file, rule('check: "id > 0"'));
    await eventually(async () => {
      expect(await send('t/insert', rows(-5))).toMatchObject({
        error:
          'the commit rule r refuses this of /t: the check "id > 0" is not true of a row with id = -5',
      });
    });
    await writeFile(file, rule('check: "id >"'));
    const ready = async () => (await fetch(`${service.url}/readyz`)).json();
    await eventually(async () => expect(await ready()).toMatchObject({ status: 'degraded' }));
    expect(await send('t/insert', rows(-5))).toMatchObject({ status: 400, code: 20 });
    expect(await send('t/insert', rows(5))).toMatchObject({ status: 200 });
    await writeFile(file, rule('check: "id > 0"'));
    await eventually(async () => expect(await ready()).toMatchObject({ status: 'ok' }));
  });

  it('say which commits of the past they would have refused', async () => {
    const { code, out } = await service.command('commits', 'check');
    expect(code).toBe(1);
    const [first, last] = out.trim().split('\n');
    expect(first).toMatch(
      /^\/t, version 1 of .*: r would refuse it: the check "id > 0" is not true of a row with id = -2$/,
    );
    expect(last).toBe(
      'looked at 2 commits of 1 tables: 1 would have been refused, 0 could not be judged',
    );
  });

  it('are judged past a table whose manifest is damaged', async () => {
    const ticket = { 'x-service-ctx-ticket': '7' };
    const tables = join(service.data, 'tables');
    const before = await readdir(tables);
    expect(await send('a/create', rows(1), ticket)).toMatchObject({ status: 200 });
    const [id = ''] = (await readdir(tables)).filter((name) => !before.includes(name));
    await writeFile(join(tables, id, 'versions/00000000000000000001.arrow'), 'no manifest');
    const file = join(service.policies, 'commits.yaml');
    await writeFile(file, rule('check: "id > 0"').replace('/t', '/*'));
    const { code, out, err } = await service.command('commits', 'check');
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toMatch(/^\/a, version 1 of .*: not judged: its manifest cannot be read$/m);
    expect(out).toMatch(
      /^looked at 3 commits of 2 tables: 1 would have been refused, 1 could not be judged$/m,
    );
    await writeFile(file, rule('check: "id > 0"'));
  });

  it('are checked beforehand, with what they cannot judge', async () => {
    const checked = await service.command('config', 'check', '--json');
    expect(JSON.parse(checked.out)).toMatchObject({
      notes: [
        'commits.yaml:2: check of r cannot be judged of tables that Lance clients write: commits that bring rows to them are refused',
      ],
    });
    const webhook = '    webhook: { url: "https://judge.example.com/", secret_env: NO_SUCH_KEY }\n';
    await writeFile(
      join(service.policies, 'commits.yaml'),
      `rules:\n  - name: outside\n    tables: [/t]\n${webhook}`,
    );
    const refused = await service.command('config', 'check', '--json');
    expect([refused.code, (JSON.parse(refused.out) as { findings: unknown }).findings]).toEqual([
      1,
      ['commits.yaml:2: the webhook of outside signs with NO_SUCH_KEY, which is not set'],
    ]);
  });
});
