import { Agent } from 'node:http';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, tableFromIPC, Utf8 } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operationNames } from '../../src/protocol/operations/operations.ts';
import type { OperationName } from '../../src/protocol/operations/operation-name.ts';
import {
  filters,
  masks,
  plain,
  streamOfRows,
  visibleOfRows,
  type TestMask,
  type TestRow,
} from '../engine/restrict/restricted-table.ts';
import { waitUntil } from '../support/eventually.ts';
import { rowsOf } from '../support/query-answer.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send, sendGranted, type Reply } from './http.ts';
import {
  restrictedOperations,
  type Asked,
  type AskedTable,
  type Outcome,
  type Question,
} from './restricted-operations.ts';
import { streamOf } from './table-bodies.ts';

/**
 * Every operation, asked by a caller whom a row filter, masks, or both bind: it is answered as of a copy without
 * hidden rows and with masked columns, or refused with the status, the code and the sentence of the table.
 */

const kinds = ['arrow', 'lance'] as const;
const bindings = ['rows', 'columns', 'both'] as const;
type Binding = (typeof bindings)[number];

const kept = filters.filter(({ sql }) => sql === "region = 'eu'");
const hashed = masks.filter(({ as }) => as !== 'hidden' && as.mask === 'sha256');
const masked: readonly TestMask[] = [
  ...hashed,
  { column: 'price', as: 'hidden', value: () => undefined },
];

/** Each table has a namespace of its own. */
const namespaceOf = (kind: string, binding: Binding) => `${kind}-${binding}`;
const tablesOf = (...some: readonly Binding[]) =>
  kinds.flatMap((kind) => some.map((binding) => `/${namespaceOf(kind, binding)}/t`));

const RESTRICTIONS = JSON.stringify({
  restrictions: [
    {
      name: 'own-rows',
      tables: ['/many', ...tablesOf('rows', 'both')],
      subjects: ['role:clerk'],
      rows: kept[0]!.sql,
    },
    {
      name: 'own-columns',
      tables: ['/first', '/full/*', ...tablesOf('columns', 'both')],
      subjects: ['role:clerk'],
      columns: Object.fromEntries(masked.map(({ column, as }) => [column, as])),
    },
    {
      name: 'own-records',
      tables: ['/system/audit'],
      subjects: ['role:clerk'],
      rows: 'subject = principal.subject',
      columns: { source_ip: { mask: 'null' }, user_agent: 'hidden' },
    },
  ],
});

const named: Readonly<Record<Binding | 'audit', string>> = {
  rows: 'the restriction own-rows',
  columns: 'the restriction own-columns',
  both: 'the restrictions own-rows, own-columns',
  audit: 'the restriction own-records',
};

const rows = Array.from({ length: 12 }, (_, id): TestRow => ({
  id: BigInt(id),
  region: id % 2 === 0 ? 'eu' : 'us',
  // A division by it fails on a hidden row only.
  amount: id === 7 ? 0 : id + 1,
  price: id / 2,
  email: `${id}@x.org`,
  words: id % 3 === 0 ? 'blue whale' : 'far below',
  day: id * 86_400_000,
  vec: [id, 1],
}));

let service: Service;
let key: string;

/** What the service has been told, by an administrator. */
const made = (line: string, body: object | Uint8Array) =>
  sendGranted(service.url, line, {
    body,
    ...(body instanceof Uint8Array && { headers: ARROW_STREAM }),
  });

async function buildIndex(id: string): Promise<string> {
  const body = { column: 'id', index_type: 'BTREE' };
  const { json } = await made(`POST /v1/table/${id}/create_scalar_index`, body);
  const job = String(json['transaction_id']);
  await waitUntil(async () => {
    const told = await made(`POST /v1/transaction/${job}/describe`, {});
    return told.json['status'] === 'SUCCEEDED';
  });
  return job;
}

/** A table `t` with a tag and a branch, in a namespace of its own. */
async function createTable(namespace: string, stream: Uint8Array): Promise<AskedTable> {
  const name = 't';
  const id = `${namespace}$${name}`;
  await made(`POST /v1/namespace/${namespace}/create`, {});
  await made(`POST /v1/table/${id}/create`, stream);
  await made(`POST /v1/table/${id}/tags/create`, { tag: 'old', version: 1 });
  await made(`POST /v1/table/${id}/branches/create`, { name: 'dev' });
  return { id, namespace, name, job: '' };
}

interface Pair {
  readonly asked: AskedTable;
  readonly copy: AskedTable;
}

const pairs = new Map<string, Pair>();

beforeAll(async () => {
  const all = ['/many', '/full/lance', ...tablesOf(...bindings)];
  const lance = all.filter((table) => !table.startsWith('/arrow'));
  service = await Service.prepare({
    policy: 'p, role:admin, /**, *, allow\np, role:clerk, /**, *, allow\n',
    config: JSON.stringify({ tables: { formats: [{ tables: lance, format: 'lance' }] } }),
  });
  await writeFile(join(service.policies, 'restrictions.yaml'), RESTRICTIONS);
  await service.restart();
  key = await service.key('user:cle', 'role:clerk');
  for (const name of ['free', 'first'])
    await made(`POST /v1/table/${name}/create`, streamOfRows(rows));
  // The first hash makes the key of the hashes.
  await sendGranted(service.url, 'POST /v1/table/first/query', { key, body: { vector: [] } });
  const secret = await readFile(join(service.data, 'private', 'mask-key'));
  for (const kind of kinds) {
    for (const binding of bindings) {
      const seen = visibleOfRows(rows, {
        kept: binding === 'columns' ? [] : kept,
        masked: binding === 'rows' ? [] : masked,
        secret,
      });
      const namespace = namespaceOf(kind, binding);
      const asked = await createTable(namespace, streamOfRows(rows));
      // The rows of a bound caller are found without an index, so the copy has none.
      const job = await buildIndex(asked.id);
      const copy = await createTable(`copy-of-${namespace}`, streamOfRows(seen.rows, seen.names));
      pairs.set(`${kind} ${binding}`, { asked: { ...asked, job }, copy });
    }
  }
});

afterAll(async () => service?.stop());

const answerOf = ({ line, body }: Asked, caller: string): Promise<Reply> =>
  send(service.url, line, {
    key: caller,
    body,
    agent: new Agent(),
    ...(body instanceof Uint8Array && { headers: ARROW_STREAM }),
  });

/** Members of answers that differ from table to table. */
const own = ['version', 'instance', 'num_attempts'];
/** Members of a description that a bound caller does not get. */
const ofWholeTable = ['location', 'table_uri', 'stats'];

/** An answer without what differs from the copy's, however it is restricted. */
function told({ status, headers, bytes, text }: Reply, ignored = own): unknown {
  if (headers['content-type']?.includes('arrow.file'))
    return rowsOf(tableFromIPC(bytes)).map(plain);
  const same = text
    .replaceAll('copy-of-', '')
    // The index of the table has made a version.
    .replaceAll(/version \d+/g, 'version')
    .replaceAll(/[\d.]+ ms/g, 'ms')
    .replaceAll(/\d+ bytes/g, 'bytes');
  if (!same.startsWith('{')) return `${status} ${same}`;
  const members = Object.entries(JSON.parse(same) as object);
  return [status, Object.fromEntries(members.filter(([name]) => !ignored.includes(name)))];
}

/** Expects that a bound caller gets the answer that the table names. */
async function expectOutcome(
  outcome: Outcome,
  name: OperationName,
  asked: Asked,
  {
    path,
    names,
    copied,
  }: { readonly path: string; readonly names: string; readonly copied: Asked },
): Promise<void> {
  const reply = await answerOf(asked, key);
  const what = `${name} ${asked.line} ${JSON.stringify(asked.body)}`;
  if (outcome === 'enforced' || 'as' in outcome) {
    const other = await answerOf(outcome === 'enforced' ? copied : outcome.as, ADMIN_KEY);
    expect(told(reply), what).toEqual(told(other, [...own, ...ofWholeTable]));
    return;
  }
  if ('told' in outcome) {
    expect(sentenceOf(reply), what).toBe(outcome.told);
    return;
  }
  const { action = name, why } = outcome;
  const sentence = `user:cle may not ${action} on ${path}: ${names} cannot be applied to it${why}`;
  expect(sentenceOf(reply), what).toBe(`403 code 15 ${sentence}`);
}

/** Status, code and sentence of a refusal; status and body of another answer. */
function sentenceOf({ status, text, json }: Reply): string {
  const { code, error } = json as { code?: number; error?: string };
  return error === undefined ? `${status} ${text}` : `${status} code ${code} ${error}`;
}

const entries = Object.entries(restrictedOperations) as [OperationName, readonly Question[]][];

it('the table has every operation, with an outcome for tables of each kind', () => {
  expect(Object.keys(restrictedOperations).toSorted()).toEqual(operationNames.toSorted());
  for (const [name, questions] of entries) {
    for (const kind of kinds) {
      expect([name, kind, questions.some((question) => kind in question)]).toEqual([
        name,
        kind,
        true,
      ]);
    }
  }
});

describe.each(kinds)('a caller bound on a table: %s', (kind) => {
  describe.each(bindings)('by %s', (binding) => {
    it.each(entries)('%s', async (name, questions) => {
      const { asked, copy } = pairs.get(`${kind} ${binding}`)!;
      for (const question of questions) {
        const outcome = question[kind];
        if (outcome === undefined) continue;
        await expectOutcome(outcome, name, question.ask(asked), {
          path: `/${namespaceOf(kind, binding)}/t`,
          names: named[binding],
          copied: question.ask(copy),
        });
      }
    });

    it('leaves hidden rows and values as they were', async () => {
      const { asked, copy } = pairs.get(`${kind} ${binding}`)!;
      const all = { vector: [], order_by: [{ column_name: 'id' }], columns: ['id', 'words'] };
      const visible = { ...all, filter: binding === 'columns' ? 'true' : kept[0]!.sql };
      const query = ({ id }: AskedTable, body: object) =>
        answerOf({ line: `POST /v1/table/${id}/query`, body }, ADMIN_KEY).then((reply) =>
          told(reply),
        );
      expect(await query(asked, visible)).toEqual(await query(copy, all));
      const secret = { ...all, filter: 'id < 12', columns: ['id', 'region', 'email', 'price'] };
      const left = (await query(asked, secret)) as readonly Record<string, unknown>[];
      expect(left).toEqual(
        rows
          .filter(({ id }) => left.some((row) => row['id'] === id))
          .map(({ id, region, email, price }) => ({ id, region, email, price })),
      );
      if (binding !== 'columns') {
        const hidden = left.filter(({ region }) => region === 'us');
        expect(hidden.map(({ id }) => id)).toEqual([1n, 3n, 5n, 7n, 9n, 11n]);
      }
    });
  });
});

describe('a caller bound on system$audit', () => {
  const audit: AskedTable = { id: 'system$audit', namespace: 'system', name: 'audit', job: '' };

  it.each(entries.filter(([, questions]) => questions.some((question) => 'audit' in question)))(
    '%s',
    async (name, questions) => {
      for (const question of questions) {
        if (question.audit === undefined) continue;
        const asked = question.ask(audit);
        const place = { path: '/system/audit', names: named.audit, copied: asked };
        await expectOutcome(question.audit, name, asked, place);
      }
    },
  );
});

describe('a caller bound on a table', () => {
  const rowsOfIds = (ids: readonly bigint[], more: Parameters<typeof streamOf>[0]) =>
    streamOf({ id: { type: new Int64(), nullable: false, values: ids }, ...more });
  const refusalOf = async (line: string, body: object | Uint8Array) =>
    sentenceOf(await answerOf({ line, body }, key));

  it('changes at most 50,000 rows of a Lance table at once', async () => {
    const ids = Array.from({ length: 50_001 }, (_, id) => BigInt(id));
    const region = { type: new Utf8(), values: ids.map(() => 'eu') };
    await made('POST /v1/table/many/create', rowsOfIds(ids, { region }));
    const why =
      'cannot be applied to it: it would change 50001 rows, and of a Lance table at most 50000 can be changed at once: narrow the predicate';
    expect(await refusalOf('POST /v1/table/many/delete', { predicate: 'id >= 0' })).toBe(
      `403 code 15 user:cle may not DeleteFromTable on /many: ${named.rows} ${why}`,
    );
    expect(await refusalOf('POST /v1/table/many/update', { updates: [['id', '1']] })).toBe(
      `403 code 15 user:cle may not UpdateTable on /many: ${named.rows} ${why}`,
    );
    expect((await answerOf({ line: 'GET /v1/table/many/count_rows' }, ADMIN_KEY)).text).toBe(
      '50001',
    );
    const deleted = await answerOf(
      { line: 'POST /v1/table/many/delete', body: { predicate: 'id > 0' } },
      key,
    );
    expect(deleted.json).toMatchObject({ num_deleted_rows: 50_000 });
  });

  it.each(kinds)('inserts no row without a masked value that may not be null: %s', async (kind) => {
    const email = { type: new Utf8(), nullable: false, values: ['ann@x.org'] };
    const price = { type: new Int64(), values: [5n] };
    if (kind === 'arrow') await made('POST /v1/namespace/full/create', {});
    await made(`POST /v1/table/full$${kind}/create`, rowsOfIds([1n], { email, price }));
    const why =
      'cannot be applied to it: the column "email" is masked or hidden, and may not be null';
    expect(await refusalOf(`POST /v1/table/full$${kind}/insert`, rowsOfIds([2n], {}))).toBe(
      `403 code 15 user:cle may not InsertIntoTable on /full/${kind}: ${named.columns} ${why}`,
    );
    const line = `GET /v1/table/full$${kind}/count_rows`;
    expect((await answerOf({ line }, ADMIN_KEY)).text).toBe('1');
  });
});
