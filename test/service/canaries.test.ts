import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';

const POLICY = 'p, role:admin, /**, *, allow\np, role:analyst, /**, *, allow\n';
const RESTRICTIONS = `restrictions:
  - name: trap
    tables: ['/people']
    except: ['role:admin']
    canary: id = 999999
  - name: bait
    tables: ['/people']
    subjects: ['role:clerk']
    except: ['role:admin']
    canary: email = 'trap@x.org' AND id > 0
    freeze: true
`;

let service: Service;
let other: Service;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  other = await Service.beside(service);
  const admin = await client(ADMIN_KEY);
  await admin.createTable('people', [
    { id: 1, email: 'ann@x.org' },
    { id: 2, email: 'bob@x.org' },
    { id: 999_999, email: 'eve@x.org' },
    { id: 4, email: 'trap@x.org' },
  ]);
  const path = join(service.policies, 'restrictions.yaml');
  await writeFile(`${path}.new`, RESTRICTIONS);
  await rename(`${path}.new`, path);
  const caller = await (await client(await key('user:first'))).openTable('people');
  await waitUntil(async () => (await caller.countRows()) === 2);
});

afterAll(async () => {
  await other.end();
  await service.stop();
});

const client = (apiKey: string, { url } = service) =>
  connect('db://any', { apiKey, hostOverride: url, region: 'none' });

const key = (subject: string) => service.key(subject, 'role:analyst');

/** A request with a JSON body: status and answer. */
async function ask(apiKey: string, route: string, body: object, { url } = service) {
  const answer = await fetch(`${url}/v1/table/people/${route}`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, text };
}

const count = (apiKey: string, predicate: string, where = service) =>
  ask(apiKey, 'count_rows', { predicate }, where);

/** The canaries of the outcomes of a subject, by operation. */
async function marked(subject: string): Promise<readonly string[]> {
  const records = await service.audit();
  const own = records.filter((record) => record['subject'] === subject);
  const found = own.filter(({ phase, canary }) => phase === 'outcome' && canary !== undefined);
  return found.map((record) => {
    const { operation, canary } = record as Readonly<Record<string, string>>;
    return `${operation} ${canary}`;
  });
}

describe('a canary', () => {
  it('is in no answer but those of who is excepted', async () => {
    const caller = await (await client(await key('user:ann'))).openTable('people');
    const rows = await caller.query().toArray();
    expect(rows.map(({ id }) => Number(id))).toEqual([1, 2]);
    const admin = await (await client(ADMIN_KEY)).openTable('people');
    expect(await admin.countRows()).toBe(4);
    expect(await caller.countRows('id = 999999')).toBe(0);
    await caller.delete('id > 5');
    expect(await admin.countRows()).toBe(4);
  });

  it('marks each request whose literals name it, and no other', async () => {
    const mine = await key('user:eve');
    expect(await count(mine, 'id = 1 AND 1 / 0 > 0')).toMatchObject({ status: 400 });
    await count(mine, 'id = 1');
    expect(await marked('user:eve')).toEqual([]);
    expect(await count(mine, 'id IN (7, 999999)')).toEqual({ status: 200, text: '0' });
    expect(await ask(mine, 'query', { filter: '999999.0 = id', vector: [] })).toMatchObject({
      status: 200,
    });
    await ask(mine, 'query', { columns: { x: 'CASE WHEN id = 999999 THEN 1 END' }, vector: [] });
    await ask(mine, 'explain_plan', { query: { filter: 'id = 999999', vector: [] } });
    await ask(mine, 'delete', { predicate: 'id = 999999' });
    await ask(mine, 'update', { updates: [['email', "'x'"]], predicate: 'id = 999999' });
    // An error of the caller's own predicate is of visible rows.
    expect(await count(mine, 'id = 999999 AND 1 / (id - 999999) > 0')).toEqual({
      status: 200,
      text: '0',
    });
    expect(await count(mine, 'id = 999999 AND missing = 1')).toMatchObject({ status: 404 });
    await count(ADMIN_KEY, 'id = 999999');
    const all = [
      'CountTableRows trap',
      'QueryTable trap',
      'QueryTable trap',
      'ExplainTableQueryPlan trap',
      'DeleteFromTable trap',
      'UpdateTable trap',
      'CountTableRows trap',
      'CountTableRows trap',
    ];
    await waitUntil(async () => (await marked('user:eve')).length === all.length);
    expect(await marked('user:eve')).toEqual(all);
    expect(await marked('user:admin')).toEqual([]);
    const named = (await service.audit()).find(({ canary }) => canary === 'trap');
    const page = await service.command('audit', 'show', String(named!['decision_id']));
    expect(page.out).toContain('canary       trap\n');
    const searched = async (name: string) => {
      const { out } = await service.command('audit', 'search', '--canary', name, '--json');
      return out.split('\n').filter((line) => line !== '').length;
    };
    expect(await searched('any')).toBe(9);
    expect(await searched('trap')).toBe(9);
    expect(await searched('tra')).toBe(0);
    const metrics = await fetch(`${service.url}/metrics`, { headers: { 'x-api-key': ADMIN_KEY } });
    expect(await metrics.text()).toContain('arrowgate_canary_requests_total{freeze="no"} 9');
  });

  it('is a column of system$audit, also when the records are sealed', async () => {
    const admin = await client(ADMIN_KEY);
    const log = await admin.openTable('audit', ['system']);
    await waitUntil(async () => (await log.countRows("canary = 'trap'")) === 9);
    await other.end();
    await service.end();
    await service.restart();
    await other.restart();
    const again = await (await client(ADMIN_KEY)).openTable('audit', ['system']);
    expect(await again.countRows("canary = 'trap' AND phase = 'outcome'")).toBe(9);
    expect(await service.command('audit', 'verify')).toMatchObject({ code: 0 });
  });
});

describe('a canary with freeze', () => {
  it('freezes the key for all processes, over restarts, until it is thawed', async () => {
    const mine = await key('user:fred');
    const id = mine.split('_')[1]!;
    const refusal = {
      status: 401,
      text: expect.stringContaining(
        `"the key ${id} is frozen: an administrator can thaw it with arrowgate keys thaw ${id}","code":16`,
      ),
    };
    expect(await count(mine, "email = 'eve@x.org'")).toEqual({ status: 200, text: '0' });
    expect(await count(mine, "email = 'trap@x.org'", other)).toEqual({ status: 200, text: '0' });
    await waitUntil(async () => (await count(mine, 'id = 1', other)).status === 401);
    await waitUntil(async () => (await count(mine, 'id = 1')).status === 401);
    expect(await count(mine, 'id = 1')).toEqual(refusal);
    await service.end('SIGKILL');
    await service.restart();
    expect(await count(mine, 'id = 1')).toEqual(refusal);
    const list = await service.command('keys', 'list', '--json');
    const listed = JSON.parse(list.out) as readonly { id: string; state: string }[];
    expect(listed.filter(({ state }) => state === 'frozen').map((each) => each.id)).toEqual([id]);
    expect(await service.command('keys', 'thaw', id)).toMatchObject({ code: 0 });
    await waitUntil(async () => (await count(mine, 'id = 1', other)).status === 200);
    const records = await service.audit();
    const acts = records.filter(({ operation, phase }) => {
      return phase === 'outcome' && ['KeysFreeze', 'KeysThaw'].includes(String(operation));
    });
    const freezing = records.find((record) => record['canary'] === 'bait');
    expect(acts.toSorted((a, b) => (String(a['time']) < String(b['time']) ? -1 : 1))).toMatchObject(
      [
        {
          operation: 'KeysFreeze',
          subject: 'system:canary',
          object: '/people',
          decision: 'allow',
          context: { id, restrictions: 'bait', request: freezing!['decision_id'] },
        },
        { operation: 'KeysThaw', decision: 'allow', context: { id } },
      ],
    );
  });

  it('leaves the key of the process as it is, which is in no file', async () => {
    expect(await count(ADMIN_KEY, "email = 'trap@x.org'")).toEqual({ status: 200, text: '1' });
    expect((await service.command('keys', 'list')).out).not.toContain('frozen');
  });
});
