import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goodClaims, signingKey, secondsFromNow } from '../support/identity-provider.ts';
import { run } from '../cli/captured.ts';
import { Service } from '../support/service.ts';
import { ARROW_STREAM, send, sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

/** A week of a company: 40 tables, 12 users with tokens, 4 keys. Each question of an auditor is one command. */

const DAY_MILLIS = 86_400_000;
const DAYS = 7;
/** Moves the clocks of the program into the past: that of the day, and that of arrivals. */
const PAST = `--import=data:text/javascript,${encodeURIComponent(
  `const past = Number(process.env.TEST_PAST_MILLIS ?? 0);
   const now = Date.now;
   Date.now = () => now() - past;
   const origin = performance.timeOrigin - past;
   Object.defineProperty(performance, 'timeOrigin', { get: () => origin });`,
)}`;

const teams = ['sales', 'people', 'labs', 'audit'] as const;
type Team = (typeof teams)[number];
const namespaces = ['sales', 'people', 'labs', 'logs'];
const users: readonly { readonly name: string; readonly team: Team }[] = teams.flatMap((team) =>
  [1, 2, 3].map((number) => ({ name: `${team}${number}`, team })),
);
const FIRST_POLICY = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, group:sales, /sales/**, read, allow
p, group:people, /people/**, *, allow
p, group:sales, /people/**, *, deny
p, group:labs, /labs/**, read, allow
p, group:labs, /logs/*, read, allow
p, group:audit, /system/**, audit, allow
p, role:loader, /logs/*, append, allow
p, role:loader, /sales/*, append, allow
`;
/** From the fourth day on labs may read salaries. */
const LATER_POLICY = `${FIRST_POLICY}p, group:labs, /people/salaries, read, allow\n`;

const variables: Record<string, string> = {};
let service: Service;
const tokens = new Map<string, string>();
const keys: string[] = [];
/** What was done, by the requests themselves. */
const done: {
  readonly day: number;
  readonly who: string;
  readonly what: string;
  readonly status: number;
}[] = [];

async function request(day: number, who: string, what: string): Promise<void> {
  const token = tokens.get(who);
  const credential =
    token === undefined
      ? { key: who }
      : { key: null, headers: { authorization: `Bearer ${token}` } };
  const { status } = await send(service.url, `POST ${what}`, { body: {}, ...credential });
  done.push({ day, who, what, status });
}

/** Names of all tables, ten in each namespace. */
const tables = namespaces.flatMap((space) =>
  Array.from(
    { length: 10 },
    (_, at) => `${space}$${space === 'people' && at === 0 ? 'salaries' : `t${at}`}`,
  ),
);

async function makeTables(): Promise<void> {
  for (const space of namespaces) {
    await sendGranted(service.url, `POST /v1/namespace/${space}/create`, { body: {} });
  }
  for (const table of tables) {
    const body = Buffer.from(goodRows);
    await sendGranted(service.url, `POST /v1/table/${table}/create`, {
      body,
      headers: ARROW_STREAM,
    });
  }
}

/** A day of traffic: everyone counts rows of some tables, loaders add rows, and somebody tries what they may not. */
async function passDay(day: number): Promise<void> {
  for (const [at, { name, team }] of users.entries()) {
    const own = tables.filter((table) => table.startsWith(`${team}$`));
    for (const table of own.slice(0, 3)) await request(day, name, `/v1/table/${table}/count_rows`);
    if ((day + at) % 3 === 0) await request(day, name, '/v1/table/people$salaries/count_rows');
  }
  for (const [at, key] of keys.entries()) {
    const table = at % 2 === 0 ? 'logs$t1' : 'sales$t2';
    const reply = await send(service.url, `POST /v1/table/${table}/insert`, {
      body: Buffer.from(goodRows),
      headers: ARROW_STREAM,
      key,
    });
    done.push({ day, who: `loader${at}`, what: 'insert', status: reply.status });
  }
}

beforeAll(async () => {
  service = await Service.prepare({ policy: FIRST_POLICY, nodeFlags: [PAST], variables });
  const signing = await signingKey('k1');
  await writeFile(join(service.policies, 'keys.json'), JSON.stringify({ keys: [signing.shown] }));
  await writeFile(
    join(service.policies, 'issuers.yaml'),
    'issuers:\n  - { name: corp, issuer: "https://idp.example.com", audience: catalog, jwks_file: keys.json, algorithms: [ES256] }\n',
  );
  for (const { name, team } of users) {
    const claims = goodClaims({ sub: name, groups: [team], exp: secondsFromNow(3600) });
    tokens.set(
      name,
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
        .sign(signing.secret),
    );
  }
  for (let day = 0; day < DAYS; day++) {
    variables['TEST_PAST_MILLIS'] = String((DAYS - 1 - day) * DAY_MILLIS);
    if (day === 3) await writeFile(join(service.policies, 'policy.csv'), LATER_POLICY);
    await service.restart();
    if (day === 0) {
      await makeTables();
      for (const at of [0, 1, 2, 3]) keys.push(await service.keyByCommand(`loader${at}`, 'loader'));
    }
    await passDay(day);
    await service.end();
  }
  delete variables['TEST_PAST_MILLIS'];
});

afterAll(() => service?.stop());

/** The objects that a command prints as JSON: one in each line, or in one list. */
async function asked(...words: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const { code, out, err } = await service.command(...words);
  expect({ words, code, err }).toEqual({ words, code: 0, err: '' });
  const text = out.trim();
  if (words[1] === 'search') return text.split('\n').map((line) => JSON.parse(line) as never);
  const value = JSON.parse(text) as object;
  return Array.isArray(value) ? value : Object.values(value).find(Array.isArray)!;
}

const salaries = () => done.filter(({ what }) => what.includes('people$salaries/count_rows'));

describe('a question of an auditor', () => {
  it('1: who read the salaries this week?', async () => {
    const found = await asked(
      'audit',
      'report',
      '--by',
      'subject',
      '--object',
      '/people/salaries',
      '--operation',
      'read',
      '--decision',
      'allow',
      '--json',
    );
    const expected = new Map<string, number>();
    for (const { who, status } of salaries()) {
      if (status === 200) expected.set(`user:${who}`, (expected.get(`user:${who}`) ?? 0) + 1);
    }
    expect(new Map(found.map((row) => [row['subject'], row['requests']]))).toEqual(expected);
    expect([...expected.keys()].some((name) => name.startsWith('user:labs'))).toBe(true);
  });

  it('2: why was one of them allowed to?', async () => {
    const [newest] = await asked(
      'audit',
      'search',
      '--object',
      '/people/salaries',
      '--subject',
      'labs1',
      '--decision',
      'allow',
      '--format',
      'json',
      '--last',
      '1',
    );
    const { out, code } = await service.command('audit', 'show', String(newest!['decision_id']));
    expect(code).toBe(0);
    expect(out).toContain('p, group:labs, /people/salaries, read, allow');
  });

  it('3: who was refused, and why?', async () => {
    const found = await asked('audit', 'report', '--by', 'reason', '--decision', 'deny', '--json');
    const denied = done.filter(({ status }) => status === 403).length;
    expect(found.reduce((sum, row) => sum + Number(row['requests']), 0)).toBe(denied);
    expect(found.map((row) => String(row['reason'])).toSorted()).toEqual([
      'a line denies it',
      'no line allows it',
    ]);
  });

  it('4: what did one person do yesterday?', async () => {
    const found = await asked(
      'audit',
      'search',
      '--subject',
      'sales1',
      '--since',
      'yesterday',
      '--until',
      'today',
      '--format',
      'json',
    );
    const own = done.filter(({ day, who }) => day === DAYS - 2 && who === 'sales1');
    expect(found).toHaveLength(own.length);
  });

  it('5: who can read the salaries now?', async () => {
    const { out, code } = await service.command(
      'policy',
      'who',
      '--action',
      'QueryTable',
      '--object',
      '/people/salaries',
    );
    expect(code).toBe(0);
    for (const name of ['group:people', 'group:labs']) expect(out).toContain(name);
    expect(out).not.toContain('group:sales');
  });

  it('6: when did the policy change, and whose access with it?', async () => {
    const log = await asked('policy', 'log', '--json');
    const digests = [...new Set(log.map((row) => String(row['digest'])))];
    expect(digests).toHaveLength(2);
    const [first, later] = log.map((row) => String(row['digest']));
    const { lines } = await run('policy', 'diff', first!, later!, '--data', service.data);
    expect(lines.join('\n')).toContain('/people/salaries');
    expect(lines.join('\n')).toContain('group:labs');
  });

  it('7: which keys are there, and are they used?', async () => {
    const found = await asked('keys', 'list', '--json');
    expect(found).toHaveLength(4);
    expect(found.map((row) => String(row['subject'])).toSorted()).toEqual(
      [0, 1, 2, 3].map((at) => `user:loader${at}`),
    );
    for (const row of found) expect(row['last_used'] ?? row['lastUsed']).toMatch(/^20\d\d-/);
  });

  it('8: is the log whole, and can it be handed out?', async () => {
    const verified = await service.command('audit', 'verify');
    expect({ code: verified.code, err: verified.err }).toEqual({ code: 0, err: '' });
    const folder = join(service.folder, 'evidence');
    const made = await service.command('audit', 'evidence', folder, '--since', '8d');
    expect({ code: made.code, out: made.out.length > 0 || made.err.length > 0 }).toEqual({
      code: 0,
      out: true,
    });
    const checked = await service.command('audit', 'verify', '--evidence', folder);
    expect(checked.code).toBe(0);
  });
});
