import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, send, type Reply } from '../service/http.ts';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { makeTable } from './example-table.ts';

/** The policy over the API of the console: its files, history, rights, use, and what a change would do. */

const POLICY = `p, role:admin, /**, *, allow
p, user:eve, /**, audit, allow
p, role:analyst, /prod/**, read, allow
p, role:analyst, /prod/hr/**, *, deny
p, role:night, /prod/**, append, allow
g, user:alice, role:analyst
g, user:carol, role:analyst
p, user:mia, /system/**, audit, allow
`;

const CASES = `cases:
  - subject: user:alice
    action: QueryTable
    object: /prod/t
    expect: allow
  - subject: user:alice
    action: QueryTable
    object: /prod/hr/t
    expect: deny
    because: salaries are for few
`;

const COMMITS = `rules:
  - name: kept
    tables: ["/prod/t"]
    require:
      no_drop: true
  - name: watched
    mode: warn
    tables: ["/hr/**"]
    require: { append_only: true }
  - name: checked
    tables: ["/prod/people"]
    mode: warn
    require: { check: "id > 1000000" }
`;

const LIMITS = `limits:
  # Nobody asks too often.
  - name: fair
    per: subject
    rate: 1000/s
  - name: slow
    subjects: ["user:busy"]
    rate: 1000/h
`;

const RESTRICTIONS = `restrictions:
  - name: own-region
    tables: ["/prod/t"]
    subjects: ["role:analyst"]
    rows: "region = 'north'"
    columns: { email: { mask: "null" } }
`;

let service: Service;
let eve: string;
let alice: string;
let night: string;

beforeAll(async () => {
  service = await Service.prepare({ policy: POLICY, commits: COMMITS, limits: LIMITS });
  await writeFile(join(service.policies, 'cases.yaml'), CASES);
  await writeFile(join(service.policies, 'restrictions.yaml'), RESTRICTIONS);
  await service.restart();
  eve = await service.keyByCommand('eve');
  alice = await service.keyByCommand('alice');
  night = await service.keyByCommand('nora', 'night');
  await makeTable(service.url);
  for (const table of ['prod$t', 'prod$hr$t', 'prod$t']) {
    await send(service.url, `POST /v1/table/${table}/count_rows`, { body: {}, key: alice });
  }
});

afterAll(() => service?.stop());

function api(path: string, key: string = eve): Promise<Reply> {
  return send(service.url, `GET /console/api/${path}`, { key });
}

function propose(body: unknown, key: string = eve): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json' };
  return send(service.url, 'POST /console/api/policy/propose', { key, body: text, headers });
}

type Line = Readonly<Record<string, unknown>>;

function linesOf({ text }: Reply): readonly Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** The results of the stages of an answer. */
function resultsOf(reply: Reply): Readonly<Record<string, Line>> {
  const ends = linesOf(reply).filter((line) => 'result' in line);
  return Object.fromEntries(ends.map(({ stage, result }) => [String(stage), result as Line]));
}

function idOf(key: string): string {
  return key.split('_')[1]!;
}

describe('the policy', () => {
  it('has its files, its findings and its cases with their results', async () => {
    const { status, json } = await api('policy');
    expect(status).toBe(200);
    expect(json['digest']).toBe(json['folder_digest']);
    const files = json['files'] as readonly { readonly name: string; readonly text: string }[];
    expect(files.find(({ name }) => name === 'policy.csv')?.text).toBe(POLICY);
    expect(files.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['model.conf', 'limits.yaml', 'commits.yaml', 'cases.yaml']),
    );
    expect(json['cases']).toEqual([
      expect.objectContaining({ line: 2, subject: 'user:alice', expect: 'allow', fault: null }),
      expect.objectContaining({ line: 6, because: 'salaries are for few', fault: null }),
    ]);
    expect((json['findings'] as readonly Line[]).filter(({ kind }) => kind === 'fault')).toEqual(
      [],
    );
  });

  it('shows what is wrong with a folder that the gateway refuses, beside the policy in force', async () => {
    const file = join(service.policies, 'policy.csv');
    await writeFile(file, `${POLICY}p, role:x, /prod/**, raed, allow\n`);
    try {
      const { json } = await api('policy');
      expect(json['digest']).not.toBe(json['folder_digest']);
      expect(json['findings']).toEqual([
        {
          kind: 'fault',
          file: 'policy.csv',
          line: 9,
          text: expect.stringContaining('raed'),
        },
      ]);
    } finally {
      await writeFile(file, POLICY);
    }
    await eventually(async () => {
      const { json } = await api('policy');
      expect(json['digest']).toBe(json['folder_digest']);
    });
  });

  it('has a history', async () => {
    const reply = await api('policy/history?since=7d');
    const { digest } = (await api('policy')).json;
    const { history } = resultsOf(reply);
    expect(history?.['events']).toEqual(
      expect.arrayContaining([expect.objectContaining({ digest, state: 'current' })]),
    );
  });

  it('has rules and limits with their texts', async () => {
    const { json } = await api('rules');
    expect(json['rules']).toEqual([
      expect.objectContaining({
        name: 'kept',
        rule: 'commits.yaml:2',
        requires: ['no_drop'],
        enforced: true,
        text: '- name: kept\n  tables: ["/prod/t"]\n  require:\n    no_drop: true',
      }),
      expect.objectContaining({ name: 'watched', rule: 'commits.yaml:6', enforced: false }),
      expect.objectContaining({ name: 'checked', rule: 'commits.yaml:10' }),
    ]);
    expect(json['limits']).toEqual([
      expect.objectContaining({
        name: 'fair',
        rule: 'limits.yaml:3',
        per: 'subject',
        rate: { text: '1000/s', burst: 1000 },
        text: '- name: fair\n  per: subject\n  rate: 1000/s',
      }),
      expect.objectContaining({ name: 'slow', subjects: ['user:busy'] }),
    ]);
  });
});

describe('effective rights', () => {
  it('of a user have the line behind each, and the restrictions', async () => {
    const { json } = await api('rights?subject=alice');
    expect(json).toMatchObject({ subject: 'user:alice', key: null, listed: true });
    expect(json['rights']).toEqual([
      {
        object: '/prod/**',
        effect: 'allow',
        actions: ['describe', 'read'],
        rule: 'policy.csv:3',
        text: 'p, role:analyst, /prod/**, read, allow',
      },
      expect.objectContaining({ object: '/prod/hr/**', effect: 'deny', actions: ['*'] }),
    ]);
    expect(json['restrictions']).toEqual([
      expect.objectContaining({
        name: 'own-region',
        rule: 'restrictions.yaml:2',
        tables: ['/prod/t'],
        columns: { email: 'null' },
      }),
    ]);
    expect(json['roles']).toEqual([
      { name: 'role:analyst', from: [expect.stringContaining('policy.csv:6')] },
    ]);
    expect(json['limits']).toEqual([{ name: 'fair', rule: 'limits.yaml:3' }]);
  });

  it('of a key have its own roles', async () => {
    const { json } = await api(`rights?key=${idOf(night)}`);
    expect(json).toMatchObject({ subject: 'user:nora', state: 'active' });
    expect(json['rights']).toEqual([
      expect.objectContaining({
        object: '/prod/**',
        actions: ['describe', 'append'],
        rule: 'policy.csv:5',
      }),
    ]);
  });

  it('on a table have every name and key', async () => {
    const { json } = await api('rights?object=/prod/t');
    const callers = json['callers'] as readonly Line[];
    expect(callers.find(({ subject }) => subject === 'user:alice')).toMatchObject({
      key: null,
      rights: [
        { action: 'describe', rule: 'policy.csv:3' },
        { action: 'read', rule: 'policy.csv:3' },
      ],
      restrictions: [expect.objectContaining({ name: 'own-region' })],
    });
    expect(callers.find(({ key }) => key === idOf(night))).toMatchObject({
      subject: 'user:nora',
      rights: [
        { action: 'describe', rule: 'policy.csv:5' },
        { action: 'append', rule: 'policy.csv:5' },
      ],
    });
  });

  it('that nobody used are listed', async () => {
    const { unused } = resultsOf(await api('unused?since=7d'));
    expect(unused?.['roles']).toEqual(['role:night']);
    expect(unused?.['lines']).toEqual(
      expect.arrayContaining([
        { rule: 'policy.csv:7', text: 'g, user:carol, role:analyst' },
        { rule: 'policy.csv:5', text: 'p, role:night, /prod/**, append, allow' },
      ]),
    );
    expect(unused?.['keys']).toEqual([{ id: idOf(night), subject: 'user:nora' }]);
  });
});

describe('limits, dropped tables and past commits', () => {
  it('has the rates that are in use', async () => {
    // Of a caller of its own, since the limit may be reached.
    const key = await service.keyByCommand('busy');
    await eventually(async () => {
      const ask = () => send(service.url, 'POST /v1/table/prod$t/count_rows', { body: {}, key });
      await Promise.all(Array.from({ length: 20 }, ask));
      const { json } = await api('limits/levels');
      expect(json['levels']).toContainEqual(
        expect.objectContaining({ limit: 'slow', rule: 'limits.yaml:6', value: 'user:busy' }),
      );
    });
  });

  it('brings a dropped table back for callers who may manage it, and records it', async () => {
    await send(service.url, 'POST /v1/table/prod$people/drop', { body: {} });
    const list = async (key?: string) => {
      const { json } = await send(service.url, 'GET /console/api/dropped', { ...(key && { key }) });
      return json['dropped'] as readonly Line[];
    };
    const [dropped] = await list();
    expect(dropped).toMatchObject({ table: '/prod/people', may_undrop: true });
    expect(await list(eve)).toMatchObject([{ table: '/prod/people', may_undrop: false }]);
    // Who may not describe a table does not learn that there was one.
    expect(await list(await service.keyByCommand('mia'))).toEqual([]);
    const body = JSON.stringify({ table: '/prod/people', id: dropped?.['id'] });
    const undrop = (key?: string) =>
      send(service.url, 'POST /console/api/dropped/undrop', {
        body,
        headers: { 'content-type': 'application/json' },
        ...(key && { key }),
      });
    const refused = await undrop(eve);
    expect([refused.status, refused.json['error']]).toEqual([
      403,
      'user:eve may not manage on /prod/people',
    ]);
    expect((await undrop()).json).toEqual({ table: '/prod/people', id: dropped?.['id'] });
    expect(await list()).toEqual([]);
    const again = await undrop();
    expect([again.status, again.json['code']]).toEqual([404, 4]);
    const acts = (await service.audit()).filter((line) => line['operation'] === 'CatalogUndrop');
    expect(acts.map((line) => [line['phase'], line['decision'], line['subject']])).toEqual([
      ['attempt', 'allow', 'user:admin'],
      ['outcome', 'allow', 'user:admin'],
      ['attempt', 'allow', 'user:admin'],
      ['outcome', 'invalid', 'user:admin'],
    ]);
  });

  it('judges past commits by the rules in force, and shows no row to who may not read it', async () => {
    const admin = await send(service.url, 'GET /console/api/commits/check?object=/prod/people');
    expect(admin.json).toMatchObject({
      rules: ['checked'],
      total: { refused: expect.any(Number), unjudged: 0 },
    });
    const [first] = admin.json['refused'] as readonly Line[];
    expect(first).toMatchObject({ rule: 'checked', place: 'commits.yaml:10' });
    expect(first?.['fault']).toMatch(/is not true of a row with/);
    const { json } = await api('commits/check?object=/prod/people');
    const [hidden] = json['refused'] as readonly Line[];
    expect(hidden?.['fault']).toBe(
      'rows break it; callers with the right read on the whole table see which',
    );
  });
});

describe('a proposed change', () => {
  const changed = POLICY.replace('p, role:analyst, /prod/hr/**, *, deny\n', '').replace(
    'g, user:carol, role:analyst\n',
    '',
  );

  it('is checked, compared and replayed, and leaves the folder as it is', async () => {
    const reply = await propose({ files: { 'policy.csv': changed }, since: '1d' });
    expect(reply.status).toBe(200);
    const { check, access, replay } = resultsOf(reply);
    expect(check?.['refused']).toBe(true);
    expect(check?.['cases']).toEqual([
      expect.objectContaining({ line: 2, fault: null }),
      expect.objectContaining({ line: 6, fault: expect.stringContaining('expected deny') }),
    ]);
    expect(access?.['changes']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'gains', caller: 'user:alice', object: '/prod/hr/**' }),
        expect.objectContaining({ kind: 'loses', caller: 'user:carol', object: '/prod/**' }),
      ]),
    );
    expect(replay).toMatchObject({
      gained: 1,
      lost: 0,
      changed: [
        {
          kind: 'gain',
          subject: 'user:alice',
          was: { rule: 'policy.csv:4' },
          now: { rule: 'policy.csv:3' },
        },
      ],
    });
    expect(await readFile(join(service.policies, 'policy.csv'), 'utf8')).toBe(POLICY);
  });

  it('is a patch that Git applies', async () => {
    const files = { 'policy.csv': changed, 'cases.yaml': null, 'limits.yaml': 'limits: []\n' };
    const { check } = resultsOf(await propose({ files, since: '1h' }));
    expect(check?.['refused']).toBe(false);
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-patch-'));
    try {
      await cp(service.policies, folder, { recursive: true });
      const { status, stderr } = spawnSync('git', ['apply', '-'], {
        cwd: folder,
        input: String(check?.['patch']),
        encoding: 'utf8',
        env: { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() },
      });
      expect([status, stderr]).toEqual([0, '']);
      expect(await readFile(join(folder, 'policy.csv'), 'utf8')).toBe(changed);
      expect(await readFile(join(folder, 'limits.yaml'), 'utf8')).toBe('limits: []\n');
      await expect(readFile(join(folder, 'cases.yaml'))).rejects.toThrow('ENOENT');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('that cannot be loaded has its findings, and nothing is replayed', async () => {
    const files = { 'policy.csv': `${POLICY}p, role:x, /prod/**, raed, allow\n` };
    const results = resultsOf(await propose({ files }));
    expect(Object.keys(results)).toEqual(['check']);
    expect(results['check']).toMatchObject({
      refused: true,
      findings: [{ kind: 'fault', file: 'policy.csv', line: 9 }],
    });
  });

  it('ends with its connection', async () => {
    for (let round = 0; round < 8; round++) {
      const ending = new AbortController();
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ files: { 'policy.csv': changed }, since: '90d' });
      const answer = await open(service.url, 'POST /console/api/policy/propose', {
        key: eve,
        body,
        headers,
        signal: ending.signal,
      });
      answer.on('error', () => undefined);
      ending.abort();
    }
    await eventually(async () => expect((await api('rules')).status).toBe(200));
  });

  it('ends with the key of its caller', async () => {
    const lost = await service.keyByCommand('eve');
    const running = propose({ files: { 'policy.csv': changed }, since: '90d' }, lost);
    expect((await service.command('keys', 'revoke', idOf(lost))).code).toBe(0);
    expect([200, 401]).toContain((await running).status);
    await eventually(async () => expect((await api('rules', lost)).status).toBe(401));
  });
});

describe('a refusal', () => {
  const shape =
    'the body must be {"files": {"policy.csv": "…"}, "since": "7d"}, as application/json; null removes a file, and since may be absent';
  const rows: readonly (readonly [string, () => Promise<Reply>, number, number, string])[] = [
    [
      'without the right to audit',
      () => api('policy', alice),
      403,
      15,
      'user:alice may not QueryTable on /system/audit',
    ],
    [
      'of a proposal without the right to audit',
      () => propose({ files: {} }, alice),
      403,
      15,
      'user:alice may not QueryTable on /system/audit',
    ],
    ['of another shape', () => propose({ files: 'policy.csv' }), 400, 13, shape],
    ['of a further key', () => propose({ files: {}, days: 7 }), 400, 13, shape],
    ['of no JSON', () => propose('files'), 400, 13, shape],
    [
      'of a file that is none of the policy',
      () => propose({ files: { '../policy.csv': '' } }),
      400,
      13,
      '"../policy.csv" is no policy file that can be changed here: there are model.conf, policy.csv, issuers.yaml, limits.yaml, commits.yaml, restrictions.yaml, cases.yaml',
    ],
    [
      'of a period that means nothing',
      () => propose({ files: {}, since: 'soon' }),
      400,
      13,
      'since is "soon", but must be',
    ],
    [
      'of a body that is too large',
      () => propose({ files: { 'policy.csv': 'x'.repeat(4_194_304) } }),
      400,
      13,
      'the body is larger than 4194304 bytes',
    ],
    ['of rights of nobody', () => api('rights'), 400, 13, 'give one of subject, key and object'],
    [
      'of rights of two',
      () => api('rights?subject=alice&key=k'),
      400,
      13,
      'give one of subject, key and object',
    ],
    ['of a key that is not there', () => api('rights?key=nokey'), 400, 13, 'there is no key nokey'],
    [
      'of an object that is no path',
      () => api('rights?object=prod'),
      400,
      13,
      'object is "prod", but must be a canonical path such as /prod/sales',
    ],
    [
      'of a check of no table',
      () => api('commits/check?object=/prod/none'),
      400,
      13,
      'there is no table /prod/none with versions',
    ],
    [
      'of a history of no period',
      () => api('policy/history?since=soon'),
      400,
      13,
      'since is "soon", but must be',
    ],
  ];

  it.each(rows)('%s', async (_name, ask, status, code, sentence) => {
    const reply = await ask();
    expect([reply.status, reply.json['code']]).toEqual([status, code]);
    expect(reply.json['error']).toContain(sentence);
  });

  it('of a change without the policy, which must exist', async () => {
    const lines = linesOf(await propose({ files: { 'policy.csv': null } }));
    expect(lines).toEqual([{ error: 'policy.csv: the file is missing', status: 400 }]);
  });

  it('of a proposal from another site', async () => {
    const signed = await send(service.url, 'POST /console/session', {
      key: null,
      body: JSON.stringify({ key: eve }),
      headers: { 'content-type': 'application/json' },
    });
    const cookie = String(signed.headers['set-cookie']).split(';')[0]!;
    const reply = await send(service.url, 'POST /console/api/policy/propose', {
      key: null,
      body: '{"files":{}}',
      headers: {
        cookie,
        'content-type': 'application/json',
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
      },
    });
    expect(reply.status).toBe(403);
  });
});
