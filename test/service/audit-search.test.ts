import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { tableFromIPC, tableToIPC, tableFromArrays } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service, type AuditLine } from '../support/service.ts';
import { run } from '../cli/captured.ts';
import { ARROW_STREAM, send, type Reply } from './http.ts';

/** What is found in the log of a running service: by commands, and as the table `system$audit`. */

const POLICY = `p, role:admin, /**, *, allow
p, user:bob, /prod/**, read, allow
p, user:eve, /**, audit, allow
`;
const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const STEPS = new URL('../faults/steps.mjs', import.meta.url).href;

let service: Service;
let collector: Server;
const collected: string[] = [];
const secrets: string[] = [ADMIN_KEY];
const answers: string[] = [];
const nodeFlags: string[] = [];

beforeAll(async () => {
  collector = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (chunk: string) => collected.push(chunk));
    request.on('end', () =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    );
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const config = `telemetry: { otlp_endpoint: "http://127.0.0.1:${port}" }\n`;
  service = await Service.start({ policy: POLICY, config, nodeFlags });
  await ask('POST /v1/namespace/prod/create', {});
  const rows = tableToIPC(tableFromArrays({ id: [1, 2, 3] }), 'stream');
  await ask('POST /v1/table/prod$t/create', rows, ADMIN_KEY, ARROW_STREAM);
  for (const name of ['bob', 'eve']) secrets.push(await service.keyByCommand(name));
  await ask('POST /v1/table/prod$t/count_rows', {}, secrets[1]);
  await ask('POST /v1/table/prod$t/drop', {}, secrets[1]);
  await ask(
    'POST /v1/table/prod$t/count_rows',
    {},
    'agk_aaaaaaaaaaaa_wrong-secret-that-nobody-holds',
  );
  await ask('POST /v1/table/prod$t/count_rows', {}, 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.');
  secrets.push('wrong-secret-that-nobody-holds', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.');
  await ask('POST /v1/table/prod$t/describe', {}, ADMIN_KEY, {
    'x-service-ctx-api-key': 'a-secret-of-the-context',
    'x-service-ctx-team': 'blue',
  });
  secrets.push('a-secret-of-the-context');
});

afterAll(async () => {
  await service?.stop();
  collector?.close();
});

async function ask(
  line: string,
  body: Uint8Array | object,
  key: string | undefined = ADMIN_KEY,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const reply = await send(service.url, line, { body, key, headers });
  answers.push(reply.text);
  return reply;
}

/** The lines that a command prints. */
async function command(...words: readonly string[]): Promise<readonly string[]> {
  const { code, lines, notes } = await run(...words, '--data', service.data);
  expect([code, notes]).toEqual([0, []]);
  return lines;
}

async function search(...flags: readonly string[]): Promise<readonly AuditLine[]> {
  return (await command('audit', 'search', '--json', ...flags)).map(
    (line) => JSON.parse(line) as AuditLine,
  );
}

/** Non-durable records are in the file soon after. */
async function settled(): Promise<void> {
  await sleep(100);
}

describe('audit search', () => {
  it.each([
    [['--last', '0'], '--last is "0", but must be a number from 1 to 10000'],
    [['--last', 'ten'], '--last is "ten", but must be a number from 1 to 10000'],
    [['--last', '10001'], '--last is "10001", but must be a number from 1 to 10000'],
    [['--last', '5', '--follow'], '--last and --follow cannot be combined: leave one out'],
  ])('refuses %j', async (flags, sentence) => {
    const { code, notes } = await run('audit', 'search', ...flags, '--data', service.data);
    expect([code, notes.join()]).toEqual([2, expect.stringContaining(sentence)]);
  });

  it('finds the requests of a backend, and says which may be meant', async () => {
    await settled();
    const found = await search('--backend', 'embedded', '--subject', 'bob');
    expect(found.map(({ operation, backend }) => [operation, backend])).toEqual([
      ['CountTableRows', 'embedded'],
      ['DropTable', 'embedded'],
    ]);
    const mistyped = ['audit', 'search', '--backend', 'imbedded', '--json'];
    const { lines, notes } = await run(...mistyped, '--data', service.data);
    expect([lines, notes]).toEqual([
      [],
      ['no request was for the backend imbedded: did you mean embedded?'],
    ]);
  });

  it('shows attempt and outcome as one', async () => {
    await settled();
    const found = await search('--operation', 'CreateTable');
    expect(found).toMatchObject([
      {
        phase: 'outcome',
        subject: 'user:admin',
        object: '/prod/t',
        decision: 'allow',
        status: 200,
      },
    ]);
    expect(String(found[0]!['began']) < String(found[0]!['time'])).toBe(true);
  });

  it.each([
    [
      ['--subject', 'bob'],
      ['CountTableRows', 'DropTable'],
    ],
    [['--subject', 'user:bob', '--decision', 'deny'], ['DropTable']],
    [
      ['--decision', 'unauthenticated'],
      ['CountTableRows', 'CountTableRows'],
    ],
    [['--object', '/prod/*', '--status', '4xx', '--operation', 'drop'], ['DropTable']],
    [['--object', '/prod', '--since', '1h'], ['CreateNamespace']],
    [['--text', 'blue'], ['DescribeTable']],
    [
      ['--operation', 'KeysCreate'],
      ['KeysCreate', 'KeysCreate'],
    ],
    [['--until', '1h'], []],
    [
      ['--subject', 'bob', '--last', '5'],
      ['DropTable', 'CountTableRows'],
    ],
    [['--subject', 'bob', '--last', '1'], ['DropTable']],
  ])('finds %j', async (flags, operations) => {
    const found = await search(...flags);
    expect(found.map(({ operation }) => operation)).toEqual(operations);
  });

  it('writes a table, and an Arrow stream', async () => {
    const [heading, first, ...others] = await command('audit', 'search', '--subject', 'bob');
    expect(heading).toMatch(/^TIME +SUBJECT +OPERATION /);
    expect(first).toMatch(/ user:bob +CountTableRows .* 200 /);
    expect(others).toHaveLength(1);
    const child = spawn(process.execPath, [
      MAIN,
      'audit',
      'search',
      '--subject',
      'bob',
      '--format',
      'arrow',
      '--data',
      service.data,
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
    const table = tableFromIPC(Buffer.concat(chunks));
    expect([...table.getChild('operation')!]).toEqual(['CountTableRows', 'DropTable']);
    expect(table.schema.fields[0]!.name).toBe('began');
  });

  it('follows', async () => {
    const child = spawn(process.execPath, [
      MAIN,
      'audit',
      'search',
      '--follow',
      '--operation',
      'TableExists',
      '--json',
      '--data',
      service.data,
    ]);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = lines.next();
    const asked = setInterval(() => void ask('POST /v1/table/prod$t/exists', {}), 200);
    const { value } = await first;
    clearInterval(asked);
    expect(JSON.parse(String(value))).toMatchObject({ operation: 'TableExists' });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe('audit report', () => {
  it('counts who did what', async () => {
    const [json] = await command('audit', 'report', '--by', 'subject', '--json');
    const bob = (JSON.parse(json!) as AuditLine[]).find(({ subject }) => subject === 'user:bob');
    expect(bob).toMatchObject({
      requests: 2,
      without_outcome: 0,
      decisions: { allow: 1, deny: 1 },
    });
  });

  it('shows a table', async () => {
    const [table] = await command('audit', 'report', '--by', 'rule');
    expect(table).toMatch(/^RULE +REQUESTS +ALLOWED .*\n(?:.*\n)?policy\.csv:1 /);
  });

  it.each([
    [['--by', 'operation', '--subject', 'bob'], { CountTableRows: 1, DropTable: 1 }],
    [['--by', 'decision', '--subject', 'bob'], { allow: 1, deny: 1 }],
    [['--by', 'reason', '--object', '/prod/t', '--status', '403'], { 'no line allows it': 1 }],
    [['--by', 'reason', '--decision', 'unauthenticated'], { Unauthenticated: 2 }],
    [['--by', 'address', '--subject', 'bob', '--since', 'today'], { '127.0.0.1': 2 }],
    [['--by', 'subject', '--text', 'blue'], { 'user:admin': 1 }],
    [['--by', 'credential', '--operation', 'KeysCreate'], { local: 2 }],
    [['--by', 'backend', '--subject', 'bob'], { embedded: 2 }],
    [['--by', 'subject', '--backend', 'embedded', '--operation', 'drop'], { 'user:bob': 1 }],
    [['--by', 'subject', '--backend', 'west'], {}],
    [['--by', 'subject', '--until', '1h'], {}],
  ])('counts %j', async (flags, expected) => {
    const [json] = await command('audit', 'report', '--json', ...flags);
    const rows = JSON.parse(json!) as AuditLine[];
    const counts = rows.map((row) => [row[flags[1]!], row['requests']]);
    expect(Object.fromEntries(counts)).toEqual(expected);
  });

  it('counts the same by a field with and without decoding records', async () => {
    for (const by of ['address', 'credential', 'subject']) {
      const [counted] = await command('audit', 'report', '--by', by, '--json');
      const [decoded] = await command('audit', 'report', '--by', by, '--json', '--object', '/**');
      const named = (json: string | undefined) =>
        (JSON.parse(json!) as AuditLine[]).filter((row) => row[by] === '127.0.0.1');
      expect(named(decoded)).toEqual(named(counted));
    }
  });

  it('has the days of a zone, as CSV', async () => {
    const report = ['audit', 'report', '--by', 'day', '--format', 'csv', '--subject', 'bob'];
    const [heading, ...days] = (await command(...report, '--tz', 'Pacific/Kiritimati'))
      .join('')
      .split('\r\n');
    expect(heading).toBe(
      'day,requests,allowed,denied,others,no_outcome,bytes_in,bytes_out,first,last',
    );
    const day = new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10);
    expect(days.at(-1)).toMatch(new RegExp(`^${day},\\d,1,1,0,0,`));
  });

  it.each([
    [['--by', 'colour'], '--by is "colour", but must be one of subject, object, operation,'],
    [['--by', 'day', '--format', 'xml'], '--format is "xml", but must be one of table, json, csv'],
    [
      ['--by', 'day', '--format', 'csv', '--json'],
      '--json and --format csv cannot be combined: leave one out',
    ],
    [['--by', 'day', '--columns', 'x'], '--columns names "x", but must name some of day,requests'],
    [['--by', 'day', '--operation', 'querytabel'], 'which is no operation: write QueryTable'],
    [['--by', 'day', '--backend', 'em bedded'], '--backend is "em bedded", but must be the name'],
    [['--by', 'day', '--operation', 'reed'], 'which is no operation: write read'],
    [['--by', 'day', '--tz', 'Moon'], '--tz is "Moon", but must be UTC, local'],
  ])('refuses %j', async (flags, sentence) => {
    const { code, notes } = await run('audit', 'report', ...flags, '--data', service.data);
    expect([code, notes.join()]).toEqual([2, expect.stringContaining(sentence)]);
  });
});

describe('the table system$audit', () => {
  const columns = ['phase', 'subject', 'operation', 'status'];

  it('answers reads under any delimiter', async () => {
    const described = await ask('POST /v1/table/system.audit/describe?delimiter=.', {});
    expect(described.json).toMatchObject({ table: 'audit', namespace: ['system'], version: 1 });
    const filter = "subject = 'user:bob' AND phase = 'outcome'";
    const counted = await ask('POST /v1/table/system$audit/count_rows', { predicate: filter });
    expect([counted.status, counted.text]).toEqual([200, '2']);
    const order = [{ column_name: 'time', ascending: false }];
    const body = { vector: [], k: 1, filter, columns: { column_names: columns }, order_by: order };
    const queried = await ask('POST /v1/table/system$audit/query', body);
    expect(queried.status).toBe(200);
    expect(tableFromIPC(queried.bytes).toArray().map(String)).toEqual([
      '{"phase": "outcome", "subject": "user:bob", "operation": "DropTable", "status": 403}',
    ]);
  });

  it('is logged when it is read, and that reading does not see itself twice', async () => {
    const body = { predicate: "operation = 'CountTableRows' AND object = '/system/audit'" };
    const first = Number((await ask('POST /v1/table/system$audit/count_rows', body)).text);
    await settled();
    const second = Number((await ask('POST /v1/table/system$audit/count_rows', body)).text);
    // The attempt of the second is there or not yet; its outcome never is.
    expect([2, 3]).toContain(second - first + (first % 2));
  });

  it.each([
    ['POST /v1/table/system$audit/drop', 406, 0],
    ['POST /v1/table/system$audit/exists', 406, 0],
    ['POST /v1/table/system$audit/delete', 406, 0],
    ['POST /v1/table/system$audit/explain_plan', 406, 0],
    ['POST /v1/table/system$audit/declare', 406, 0],
    ['POST /v1/table/system$other/describe', 404, 4],
    ['POST /v1/namespace/system$x/create', 400, 13],
    ['POST /v1/namespace/system/drop', 400, 13],
  ])('%s is %i', async (line, status, code) => {
    const reply = await ask(line, { predicate: 'true' });
    expect([reply.status, reply.json['code']]).toEqual([status, code]);
  });

  it('has one version and no branch', async () => {
    const version = await ask('POST /v1/table/system$audit/count_rows', { version: 2 });
    expect([version.status, version.json['code']]).toEqual([404, 11]);
    const tag = await ask('POST /v1/table/system$audit/describe', { version: 1 });
    expect(tag.status).toBe(200);
  });

  it('is for those with the right audit, as are the listings that show it', async () => {
    const [, bob, eve] = secrets;
    expect((await ask('POST /v1/table/system$audit/count_rows', {}, bob)).status).toBe(403);
    expect((await ask('POST /v1/table/system$audit/count_rows', {}, eve)).status).toBe(200);
    const list = async (line: string, key: string | undefined) => {
      const reply = await send(service.url, line, { key: key ?? null });
      return (reply.json['namespaces'] ?? reply.json['tables']) as readonly string[];
    };
    expect(await list('GET /v1/namespace/$/list', bob)).toEqual(['prod']);
    expect(await list('GET /v1/namespace/$/list', ADMIN_KEY)).toEqual(['prod']);
    expect(await list('GET /v1/namespace/system/table/list', eve)).toEqual(['audit']);
    expect(await list('GET /v1/table', ADMIN_KEY)).toEqual(['prod$t']);
    expect(await list('GET /v1/table', bob)).toEqual(['prod$t']);
  });
});

describe('administrative acts', () => {
  it('are records', async () => {
    const [created] = await command('keys', 'create', '--subject', 'carl', '--json');
    const { id, key } = JSON.parse(created!) as { readonly id: string; readonly key: string };
    const [rotated] = await command('keys', 'rotate', id, '--json');
    const successor = JSON.parse(rotated!) as { readonly id: string; readonly key: string };
    secrets.push(key, successor.key);
    await command('keys', 'revoke', successor.id);
    const again = await run('keys', 'revoke', successor.id, '--data', service.data);
    expect([again.code, again.notes]).toEqual([
      2,
      [`arrowgate: the key ${successor.id} is revoked already`],
    ]);
    await command('catalog', 'compact');
    await writeFile(join(service.policies, 'policy.csv'), `${POLICY}g, user:x, role:admin\n`);
    await untilFound('PolicyReload', 1);
    await writeFile(join(service.policies, 'policy.csv'), `${POLICY}p, nonsense\n`);
    const [taken, refused] = await untilFound('PolicyReload', 2);
    expect(taken).toMatchObject({ decision: 'allow', subject: null });
    expect(String(taken!['policy_digest'])).toMatch(/^[0-9a-f]{64}$/);
    expect(refused).toMatchObject({ decision: 'invalid', context: { count: '1' } });
    expect(String((refused!['context'] as AuditLine)['findings'])).toContain('policy.csv:4');
    const acts = (await search('--text', 'local')).slice(2);
    const shown = acts.map(({ operation, decision }) => `${String(operation)} ${String(decision)}`);
    expect(shown).toEqual([
      'KeysCreate allow',
      'KeysRotate allow',
      'KeysRevoke allow',
      'KeysRevoke invalid',
      'CatalogCompact allow',
    ]);
    expect(acts[1]).toMatchObject({ context: { id, successor: successor.id, overlap: '24h' } });
    expect(acts.every(({ subject }) => String(subject).startsWith('user:'))).toBe(true);
  });
});

async function untilFound(operation: string, count: number): Promise<readonly AuditLine[]> {
  for (;;) {
    const found = await search('--operation', operation);
    if (found.length >= count) return found;
    await sleep(100);
  }
}

describe('a service that is killed', () => {
  it('says at its next start what became of attempts without an outcome', async () => {
    await writeFile(join(service.policies, 'policy.csv'), POLICY);
    const killed = async (step: string, when: string, id: string): Promise<void> => {
      nodeFlags.splice(0, 1, '--import', `${STEPS}?step=${step}&count=1&when=${when}&since=armed`);
      nodeFlags.splice(2);
      await service.end();
      await service.restart();
      await send(service.url, 'GET /healthz?armed', { key: null });
      const line = `POST /v1/namespace/${id}/create`;
      const headers = { 'x-request-id': id };
      await expect(send(service.url, line, { body: {}, headers })).rejects.toThrow();
      await service.ended();
    };
    await killed('flush%20journal', 'after', 'made');
    const verified = await command('audit', 'verify');
    expect(verified.join()).toContain('1 attempt has no outcome');
    const open = await search('--text', 'made');
    expect(open).toMatchObject([{ phase: 'attempt', request_id: 'made', status: null }]);
    // Its first flush is that of the attempt: the resolved outcome of the other made the file.
    await killed('flush%20audit', 'before', 'begun');
    nodeFlags.splice(0);
    await service.restart();
    const resolved = [...(await search('--text', 'made')), ...(await search('--text', 'begun'))];
    const [made, begun] = resolved.filter(({ operation }) => operation === 'CreateNamespace');
    expect(made).toMatchObject({ phase: 'outcome', context: { 'audit.resolved': 'committed' } });
    expect(begun).toMatchObject({
      phase: 'outcome',
      context: { 'audit.resolved': 'not committed' },
    });
    expect((await command('audit', 'verify')).join()).toMatch(/looked at .*nothing is wrong$/);
    await service.end();
    await service.restart();
    expect(await search('--text', 'made')).toHaveLength(1);
  });
});

describe('secrets', () => {
  it('are in no audit record, answer or message, nor at the collector', async () => {
    await service.end();
    const audit = join(service.data, 'private', 'audit');
    const names = await readdir(audit, { recursive: true });
    const files = names.filter((name) => /\.(jsonl|arrow|seal)$/.test(name));
    const texts = await Promise.all(files.map((name) => readFile(join(audit, name), 'latin1')));
    expect(files.length).toBeGreaterThan(5);
    expect(collected.join('')).toContain('arrowgate.audit');
    const said = [...texts, ...answers, ...collected, service.errors].join('\n');
    expect(secrets).toHaveLength(8);
    for (const secret of secrets) {
      expect(said).not.toContain(secret);
      // The secret of a key may hold underscores itself.
      const proof = secret.split('_').slice(2).join('_');
      if (proof !== '') expect(said).not.toContain(proof);
    }
  });
});
