import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policyDigest } from '../../src/policy/policy-folder.ts';
import { conditionalModel } from '../policy/conditions.ts';
import { Service, type AuditLine, type Printed } from '../support/service.ts';
import { ARROW_STREAM, send } from './http.ts';
import { noVector } from './table-bodies.ts';

const before = [
  'p, role:admin, /**, *, allow, ',
  'g, user:admin, role:admin',
  'p, role:analyst, /ns/**, read, allow, ',
  'p, role:loader, /ns/**, append, allow, ',
  'p, role:loader, /ns/**, describe, allow, ',
  'p, user:dan, /ns/**, read, allow, branch == main',
  'g, user:ann, role:analyst',
  'g, user:ben, role:loader',
  'g, user:eve, role:idle',
  'p, role:idle, /idle, read, allow, ',
  '',
].join('\n');

const after = [
  'p, role:admin, /**, *, allow, ',
  'g, user:admin, role:admin',
  'p, role:analyst, /ns/**, read, allow, ctx.job == x',
  'p, role:loader, /ns/**, append, allow, ',
  'p, role:loader, /ns/u, append, deny, ',
  'p, role:loader, /ns/t, modify, allow, ',
  'p, user:dan, /ns/**, read, allow, branch == dev',
  'g, user:ann, role:analyst',
  'g, user:ben, role:loader',
  '',
].join('\n');

let service: Service;
const keys = new Map<string, string>();

interface Asked {
  readonly who: string;
  readonly line: string;
  readonly body?: object | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

const query = { k: 1, vector: [] };
const requests: readonly Asked[] = [
  { who: 'ann', line: 'POST /v1/table/ns$t/count_rows', body: {} },
  {
    who: 'ann',
    line: 'POST /v1/table/ns$t/count_rows',
    body: {},
    headers: { 'x-lance-ctx-job': 'x' },
  },
  { who: 'ann', line: 'POST /v1/table/ns$u/describe', body: {} },
  { who: 'ann', line: 'POST /v1/table/ns$t/drop' },
  { who: 'ben', line: 'POST /v1/table/ns$t/insert', body: noVector, headers: ARROW_STREAM },
  { who: 'ben', line: 'POST /v1/table/ns$u/insert', body: noVector, headers: ARROW_STREAM },
  {
    who: 'ben',
    line: 'POST /v1/table/ns$t/insert?mode=overwrite',
    body: noVector,
    headers: ARROW_STREAM,
  },
  { who: 'ben', line: 'POST /v1/table/ns$t/describe', body: {} },
  { who: 'ben', line: 'POST /v1/table/ns$t/delete', body: { predicate: 'false' } },
  { who: 'dan', line: 'POST /v1/table/ns$t/count_rows', body: {} },
  { who: 'dan', line: 'POST /v1/table/ns$t/count_rows', body: { branch: 'dev' } },
  { who: 'dan', line: 'POST /v1/table/ns$t/count_rows?branch=dev', body: {} },
  { who: 'dan', line: 'POST /v1/table/ns$t/query', body: query },
  { who: 'admin', line: 'GET /v1/namespace/ns/table/list' },
];

/** Whether each request is allowed now. */
async function verdicts(): Promise<readonly boolean[]> {
  const found: boolean[] = [];
  for (const { who, line, body, headers } of requests) {
    const key = who === 'admin' ? {} : { key: keys.get(who)! };
    const reply = await send(service.url, line, { ...key, body, ...(headers ? { headers } : {}) });
    found.push(reply.status !== 403);
  }
  return found;
}

async function folderOf(name: string, policy: string): Promise<string> {
  const folder = join(service.folder, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'model.conf'), conditionalModel);
  await writeFile(join(folder, 'policy.csv'), policy);
  return folder;
}

const replay = (folder: string, ...more: readonly string[]): Promise<Printed> =>
  service.command('policy', 'replay', '--data', service.data, '--policies', folder, ...more);

async function ready(): Promise<string> {
  return (await send(service.url, 'GET /readyz')).text;
}

let first: readonly boolean[];
let then: readonly boolean[];
let predicted: Printed;
let since: string;

beforeAll(async () => {
  service = await Service.start({ policy: before, model: conditionalModel });
  for (const name of ['ann', 'ben', 'dan', 'eve']) keys.set(name, await service.key(name));
  for (const [line, body] of [
    ['POST /v1/namespace/ns/create', {}],
    ['POST /v1/table/ns$t/create', noVector],
    ['POST /v1/table/ns$u/create', noVector],
    ['POST /v1/table/ns$t/branches/create', { name: 'dev' }],
  ] as const) {
    expect((await send(service.url, line, { body })).status).toBe(200);
  }
  since = new Date().toISOString();
  first = await verdicts();
  await send(service.url, 'POST /v1/table/ns$t/describe', { key: 'nobody', body: {} });
  const next = await folderOf('next', after);
  predicted = await replay(next, '--since', since, '--json');
});

afterAll(() => service.stop());

/** The last record about an operation. */
function latest(records: readonly AuditLine[], operation: string): AuditLine {
  return records.findLast((record) => record['operation'] === operation)!;
}

describe('policy replay', () => {
  it('finds exactly what is decided otherwise once the policy is changed', async () => {
    const records = await service.audit();
    const old = new Set(records.map((record) => record['decision_id']));
    await writeFile(join(service.policies, 'policy.csv'), after);
    const used = policyDigest({ model: conditionalModel, policy: after });
    const digests = async () => {
      await send(service.url, 'POST /v1/table/ns$t/describe', { body: {} });
      return latest(await service.audit(), 'DescribeTable')['policy_digest'];
    };
    await expect.poll(digests).toBe(used);
    then = await verdicts();
    const changed = first.map((allowed, at) => [allowed, then[at]!] as const);
    const lost = changed.filter(([was, is]) => was && !is).length;
    const gained = changed.filter(([was, is]) => !was && is).length;
    const report = JSON.parse(predicted.out);
    expect(predicted.code).toBe(1);
    expect([report.lost, report.gained]).toEqual([lost, gained]);
    expect([lost, gained]).toEqual([5, 4]);
    expect(report.requests).toBe(requests.length + 1);
    expect(report.skipped).toMatchObject([{ why: 'the caller was not identified', requests: 1 }]);
    expect(report.changed.every(({ example }: { example: string }) => old.has(example))).toBe(true);
    const shown = report.changed.map(
      (one: {
        kind: string;
        subject: string;
        action: string;
        object: string;
        was: { rule: string };
        now: { rule: string };
      }) => [one.kind, one.subject, one.action, one.object, one.was.rule, one.now.rule].join(' '),
    );
    expect(shown).toContain('lose user:ben InsertIntoTable /ns/u policy.csv:4 policy.csv:5');
    expect(shown).toContain('lose user:ann CountTableRows /ns/t policy.csv:3 ');
  });

  it('says in words what would change, and with exit 0 that nothing would', async () => {
    const next = join(service.folder, 'next');
    const { code, out } = await replay(next, '--since', since);
    expect(code).toBe(1);
    expect(out).toMatch(
      /loses +user:ben +InsertIntoTable +\/ns\/u +1 .* policy\.csv:4 +policy\.csv:5/,
    );
    expect(out).toMatch(
      /not decided again: 1, such as [0-9a-f-]{36}: the caller was not identified/,
    );
    const old = await folderOf('old', before);
    const none = await replay(old, '--until', since);
    expect([none.code, none.out]).toEqual([
      0,
      'looked at 4 requests: 4 as before, 0 lost, 0 gained\n',
    ]);
  });
});

describe('the texts of policies', () => {
  it('are kept for every policy that was in force, and explain what it decided', async () => {
    const kept = join(service.data, 'private', 'audit', 'policies');
    const digests = [before, after].map((policy) =>
      policyDigest({ model: conditionalModel, policy }),
    );
    expect((await readdir(kept)).sort()).toEqual([...digests].sort());
    expect(await readFile(join(kept, digests[0]!, 'policy.csv'), 'utf8')).toBe(before);
    const records = await service.audit();
    const denied = records.find(
      (one) => one['phase'] === 'outcome' && one['operation'] === 'DropTable',
    )!;
    const id = String(denied['decision_id']);
    const explain = (...flags: readonly string[]) =>
      service.command('policy', 'explain', '--data', service.data, '--decision-id', id, ...flags);
    const { code, out } = await explain();
    expect(code).toBe(1);
    expect(out).toContain('deny: user:ann asked for DropTable on /ns/t\n');
    expect(out).toContain(
      `under the policy ${digests[0]}\nthe policy does not allow DropTable on /ns/t\n`,
    );
    expect(out).toContain('nearest: policy.csv:3: it allows read, not DropTable');
    const local = await explain('--tz', 'Asia/Kolkata');
    expect(local.out).toMatch(/^\S+\+05:30: deny: user:ann/);
    await writeFile(join(kept, digests[0]!, 'policy.csv'), after);
    const changed = await explain();
    expect([changed.code, changed.err]).toEqual([
      2,
      `arrowgate: ${join(kept, digests[0]!)} does not hold the policy any more that its name says\n`,
    ]);
    await writeFile(join(kept, digests[0]!, 'policy.csv'), before);
  });

  it('explain nothing that the log does not have', async () => {
    const none = ['policy', 'explain', '--data', service.data] as const;
    const unknown = await service.command(...none, '--decision-id', 'x');
    expect([unknown.code, unknown.err]).toEqual([
      2,
      'arrowgate: the audit log has no decision x: `arrowgate audit search --json` prints decision ids\n',
    ]);
    const incomplete = await service.command(...none, '--subject', 'ann');
    expect([incomplete.code, incomplete.err]).toEqual([
      2,
      'arrowgate: give --subject or --key, --action and --object, or --decision-id\n',
    ]);
  });
});

describe('changed restrictions', () => {
  it('are compared with what callers saw, and with what they read', async () => {
    const folder = await folderOf('restricted', before);
    await writeFile(
      join(folder, 'restrictions.yaml'),
      `restrictions:
  - { name: own, tables: ['/ns/t'], except: ['role:admin'], rows: id > 1, columns: { name: { mask: sha256 } } }
  - { name: idle, tables: ['/nowhere/**'], rows: id > 1 }
`,
    );
    const { code, out } = await replay(folder, '--since', since);
    expect(code).toBe(1);
    expect(out).toMatch(/fewer rows +user:dan +\/ns\/t +\d+ +\S+ +all +id > 1/);
    expect(out).toMatch(/fewer of name +user:dan +\/ns\/t +\d+ +\S+ +shown +sha256/);
    expect(out).toMatch(/\d+ would show other rows or columns\n$/);
    const unused = await service.command('audit', 'unused', '--policies', folder);
    expect(unused.code).toBe(1);
    expect(unused.out).toContain('restrictions.yaml:3: the restriction idle bound no caller\n');
    expect(unused.out).not.toContain('the restriction own bound no caller');
  });
});

describe('policy unused', () => {
  it('names lines, keys and roles that nothing used, also lines of an earlier place', async () => {
    const old = join(service.folder, 'old');
    const asked = await service.command(
      'policy',
      'unused',
      '--data',
      service.data,
      '--policies',
      old,
      '--json',
    );
    expect(asked.code).toBe(1);
    const found = JSON.parse(asked.out);
    expect(found.lines).toEqual([
      // The administrator's key has the role itself.
      { rule: 'policy.csv:2', text: 'g, user:admin, role:admin' },
      { rule: 'policy.csv:9', text: 'g, user:eve, role:idle' },
      { rule: 'policy.csv:10', text: 'p, role:idle, /idle, read, allow,' },
    ]);
    expect(found.keys.map(({ subject }: { subject: string }) => subject)).toEqual(['user:eve']);
    expect([found.roles, found.unknown]).toEqual([['role:idle'], []]);
    const again = ['audit', 'unused', '--policies', old] as const;
    const { code, out } = await service.command(...again);
    expect(code).toBe(1);
    expect(out).toContain('policy.csv:10: p, role:idle, /idle, read, allow,\n');
    expect(out).toContain('nobody who asked had role:idle\n');
    expect(out).toMatch(/looked at \d+ requests: 3 lines, 1 keys and 1 roles were used by none\n$/);
  });
});

describe('a shadow policy beside a running one', () => {
  it('is tried out without effect, follows its folder, and cannot break anything', async () => {
    const folder = join(service.policies, 'shadow');
    await folderOf('policies/shadow', before);
    const ask = () =>
      send(service.url, 'POST /v1/table/ns$u/insert', {
        key: keys.get('ben')!,
        body: noVector,
        headers: ARROW_STREAM,
      });
    const seen = async () => {
      expect((await ask()).status).toBe(403);
      return latest(await service.audit(), 'InsertIntoTable')['shadow'];
    };
    const digest = policyDigest({ model: conditionalModel, policy: before });
    const differs = { decision: 'allow', rule: 'policy.csv:4', policy_digest: digest };
    await expect.poll(seen).toEqual(differs);
    expect(service.errors).toContain('the shadow policy decides differently');
    await writeFile(join(folder, 'policy.csv'), 'nonsense\n');
    const why = 'shadow/policy.csv:1: a line begins with p or g';
    await expect.poll(ready).toContain(why);
    expect(await seen()).toEqual(differs);
    await rm(folder, { recursive: true });
    await expect.poll(seen).toBeNull();
    expect(JSON.parse(await ready()).status).toBe('ok');
  });
});
