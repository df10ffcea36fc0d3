import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operationNames, operations } from '../../src/protocol/operations/operations.ts';
import type { OperationName } from '../../src/protocol/operations/operation-name.ts';
import { Service } from '../support/service.ts';
import { filesUnder } from './files.ts';
import { LANCEDB, send, type Reply, type Sent } from './http.ts';
import { access } from './refusals/access.ts';
import { arrowBodies } from './refusals/arrow-bodies.ts';
import { branches } from './refusals/branches.ts';
import { absentParts } from './refusals/absent-parts.ts';
import { commitRules, RULES } from './refusals/commit-rules.ts';
import { dataOperations, pathsRefused } from './refusals/data-operations.ts';
import { jsonBodies } from './refusals/json-bodies.ts';
import { objects } from './refusals/objects.ts';
import { paths } from './refusals/paths.ts';
import { queries } from './refusals/queries.ts';
import { references } from './refusals/references.ts';
import { requests } from './refusals/requests.ts';
import { tablePlaces } from './refusals/table-places.ts';
import { goodRows, noVector, oneVector } from './table-bodies.ts';

const POLICY = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, role:reader, /ns/**, list, allow
p, role:reader, /ns/**, describe, allow
p, role:reader, /ns/**, read, allow
p, role:loader, /ns/t, append, allow
p, role:maker, /**, create, allow
p, role:dropper, /ns, drop, allow
p, role:dropper, /ns/t, drop, allow
`;

const principals = ['reader', 'loader', 'maker', 'dropper', 'nobody'];

let service: Service;
const keys = new Map<string, string>();
let before: unknown;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY, commits: RULES });
  for (const name of principals) keys.set(name, await service.key(name, name));
  await made('POST /v1/namespace/ns/create', { body: {} });
  await made('POST /v1/namespace/ns$inner/create', { body: {} });
  await made('POST /v1/table/ns$t/create', { body: goodRows });
  await made('POST /v1/table/ns$t/insert', { body: goodRows });
  await made('POST /v1/table/one/create', { body: oneVector });
  await made('POST /v1/table/plain/create', { body: noVector });
  for (const body of [{ name: 'kept' }, { name: 'stem' }, { name: 'twig', from_branch: 'stem' }]) {
    await made('POST /v1/table/ns$t/branches/create', { body });
  }
  await made('POST /v1/table/ns$t/tags/create', { body: { tag: 'v1', version: 1 } });
  await made('POST /v1/table/ns$declared/declare', { body: {} });
  await made('POST /v1/namespace/ruled/create', { body: {} });
  for (const name of ['kept', 'few', 'same']) {
    await made(`POST /v1/table/ruled$${name}/create`, { body: goodRows });
  }
  await made('POST /v1/table/ruled$kept/tags/create', { body: { tag: 'gold', version: 1 } });
  await made('POST /v1/table/ruled$kept/branches/create', { body: { name: 'dev' } });
  before = await state();
});

afterAll(() => service.stop());

async function made(line: string, sent: Sent): Promise<void> {
  expect((await send(service.url, line, sent)).status).toBe(200);
}

/** Everything that a refusal must leave as it is, asked for and on disk. */
async function state(): Promise<unknown> {
  const lines = [
    'GET /v1/table',
    ...['$', 'ns', 'ns$inner', 'ruled'].flatMap((id) => [
      `GET /v1/namespace/${id}/list`,
      `GET /v1/namespace/${id}/table/list`,
      `POST /v1/namespace/${id}/describe`,
    ]),
    'POST /v1/table/ns$t/branches/list',
    'POST /v1/table/ns$t/tags/list',
    ...['ns$t', 'one', 'plain', 'ruled$kept', 'ruled$few', 'ruled$same'].flatMap((id) => [
      `POST /v1/table/${id}/describe`,
      `POST /v1/table/${id}/version/list`,
      `GET /v1/table/${id}/count_rows`,
    ]),
    'POST /v1/table/ns$declared/describe',
  ];
  const answers = [];
  for (const line of lines) {
    const { status, text } = await send(service.url, line);
    answers.push({ line, status, text });
  }
  // The audit log and the keys may grow; the store holds what was asked for above.
  // What a process says of itself follows what it is doing.
  const changing = ['private/', 'catalog/processes/'];
  const files = (await filesUnder(service.data)).filter(
    ({ path }) => !changing.some((folder) => path.startsWith(folder)),
  );
  return { answers, files };
}

/** What every refusal of the protocol looks like. */
function expectRefusal(reply: Reply, told: string, error: string, isLanceDb: boolean): void {
  const [statuses = '', decision, code] = told.split(' ');
  const [status, other = status] = statuses.split('/');
  const requestId = reply.headers['x-request-id'];
  expect(reply.json).toEqual({ error, code: Number(code), instance: requestId });
  expect(reply.status).toBe(Number(isLanceDb ? other : status));
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(reply.headers).toMatchObject({
    'content-type': 'application/json',
    'x-arrowgate-decision': decision,
    'x-arrowgate-decision-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    'phalanx-version': '0.3.0',
  });
  expect('x-arrowgate-reason' in reply.headers).toBe(decision === 'deny');
  expect('www-authenticate' in reply.headers).toBe(reply.status === 401);
  expect('allow' in reply.headers).toBe(reply.status === 405);
}

async function refuse(line: string, sent: Sent, told: string, error: string): Promise<void> {
  const key = typeof sent.key === 'string' ? { key: keys.get(sent.key) ?? sent.key } : {};
  const plain = await send(service.url, line, { ...sent, ...key });
  expectRefusal(plain, told, error, false);
  const headers = { ...sent.headers, ...LANCEDB };
  const lancedb = await send(service.url, line, { ...sent, ...key, headers });
  expectRefusal(lancedb, told, error, true);
}

const refusals = [
  paths,
  references,
  requests,
  access,
  jsonBodies,
  queries,
  objects,
  arrowBodies,
  branches,
  commitRules,
  tablePlaces,
  dataOperations,
  absentParts,
].flat();

describe.each(refusals)('$what', ({ rows }) => {
  it.each(rows)('%s is refused', async (line, sent, told, error) => {
    await refuse(line, sent, told, error);
  });
});

/** They make a table of a name that is free, name theirs in the body, or say what this service has not. */
const elsewhere: ReadonlySet<OperationName> = new Set<OperationName>([
  'CreateTable',
  'DeclareTable',
  'RegisterTable',
  'CloneTable',
  'BatchCreateTableVersions',
  'BatchCommitTables',
  'RefreshMaterializedView',
  'CreateMaterializedView',
  'CreateMultipartWrite',
  'CompleteMultipartWrite',
  'AbortMultipartWrite',
  'FetchBlobs',
  'ReadBlob',
  'FlushLsm',
  'CompactLsm',
  'SetLsmWriteSpec',
  'UnsetLsmWriteSpec',
  'DiffTableBranch',
  'CherryPickTableBranch',
]);

describe('each operation on a table', () => {
  it('has a row about a table that is not there', () => {
    const missing = operationNames.filter((name) => {
      const { object, routes } = operations[name];
      const paths = routes.map(({ path }) => path.replace('{index_name}', 'some'));
      return (
        object === 'table' && !elsewhere.has(name) && !paths.some((path) => pathsRefused.has(path))
      );
    });
    expect(missing).toEqual([]);
  });
});

describe('what is no request', () => {
  /** Sends bytes and reads the answer to its end. */
  async function sendBytes(bytes: string): Promise<string> {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write(Buffer.from(bytes, 'latin1'));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  }

  const head = 'Host: arrowgate\r\nContent-Length: 0\r\n';
  const good = `POST /v1/table/none/exists HTTP/1.1\r\n${head}\r\n`;

  it.each([
    ['a space in the path', `POST /v1/table/a b/describe HTTP/1.1\r\n${head}\r\n`],
    ['a control character in the path', `POST /v1/table/a\u0001b/drop HTTP/1.1\r\n${head}\r\n`],
    ['a byte beyond ASCII in the path', `POST /v1/table/caf\u00e9/drop HTTP/1.1\r\n${head}\r\n`],
    ['a bare line feed in a header', `POST /v1/table/t/drop HTTP/1.1\r\nx: a\nb\r\n${head}\r\n`],
    [
      'two ways to say the length',
      `POST /v1/jobs/list HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`,
    ],
    ['no protocol at all', 'what is this?\r\n\r\n'],
  ])('is refused and the connection closed: %s', async (_, bytes) => {
    // The second time on a connection that has served a request before.
    for (const first of ['', good]) {
      const answer = await sendBytes(first + bytes);
      const last = answer.slice(answer.lastIndexOf('HTTP/1.1 '));
      expect(last).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
      expect(last).toMatch(/\r\nConnection: close\r\n/);
      const id = /x-request-id: ([0-9a-f-]{36})/.exec(last)?.[1];
      expect(JSON.parse(last.slice(last.indexOf('\r\n\r\n')))).toEqual({
        error: 'the request is not valid HTTP',
        code: 13,
        instance: id,
      });
    }
  });

  it.each(['', good])('is refused where the headers are too large', async (first) => {
    const answer = await sendBytes(
      `${first}GET /v1/table HTTP/1.1\r\n${head}x: ${'y'.repeat(20_000)}\r\n\r\n`,
    );
    const last = answer.slice(answer.lastIndexOf('HTTP/1.1 '));
    expect(last).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(last).toContain('{"error":"the headers are too large","code":13,"instance":');
  });

  it('is refused where the host is missing', async () => {
    const answer = await sendBytes('GET /v1/table HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toContain('{"error":"the Host header is missing","code":13,"instance":');
  });
});

describe('all these refusals', () => {
  it('have changed nothing', async () => {
    expect(await state()).toEqual(before);
  });
});
