import { Int64, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultBudget, RequestBudget } from '../../../../src/protocol/budget.ts';
import { canonicalPath } from '../../../../src/protocol/identifier.ts';
import { EngineTable, refusalOf } from '../../../support/engine-table.ts';
import { jobIdOf, settled } from '../../../support/jobs.ts';
import { TestPermit } from '../../../support/permit.ts';
import { bytesOf } from '../../../support/query-answer.ts';
import { ask } from '../../../support/request.ts';

let table: EngineTable;
let id: string;

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create({ n: vectorFromArray([1n, 2n], new Int64()) });
  await table.post('add_columns', { new_columns: [{ name: 'twice', computed: 'n * 2' }] });
  id = jobIdOf(await table.post('backfill_column', { column: 'twice' }));
});

afterEach(async () => table.close());

const send = async (line: string, body: object = {}, permit?: TestPermit) =>
  (await ask(table.engine.backend, line, { body, ...(permit && { permit }) })).json;
const describeIt = (permit?: TestPermit) => send(`POST /v1/transaction/${id}/describe`, {}, permit);
const alter = (actions: readonly object[], permit?: TestPermit) =>
  send(`POST /v1/transaction/${id}/alter`, { actions }, permit);
const set = (key: string, value: string, mode?: string) => ({
  setPropertyAction: { key, value, mode },
});
const unset = (key: string, mode?: string) => ({ unsetPropertyAction: { key, mode } });
const status = (name: string) => ({ setStatusAction: { status: name } });

const own = {
  'job.type': 'backfill',
  'job.table': '/t',
  'job.branch': 'main',
  'job.column': 'twice',
  'job.rows_done': '0',
  'job.rows_total': '0',
};

describe('a transaction', () => {
  it('says how far it is, by its id whatever the delimiter', async () => {
    expect(await describeIt()).toEqual({ status: 'QUEUED', properties: own });
    table.engine.startWork(() => undefined);
    await settled(table.engine.backend, id);
    expect(await send(`POST /v1/transaction/${id}/describe?delimiter=-`)).toEqual({
      status: 'SUCCEEDED',
      properties: { ...own, 'job.rows_done': '2', 'job.rows_total': '2', 'job.version': '3' },
    });
  });

  it('takes properties, in each mode', async () => {
    expect(await alter([set('a', '1'), set('b', '2', 'Fail'), unset('c')])).toEqual({
      status: 'QUEUED',
      properties: { a: '1', b: '2', ...own },
    });
    await alter([set('a', '3', 'SKIP'), set('b', '4', '"overwrite"'), set('d', '', 'skip')]);
    await alter([unset('d', 'Fail')]);
    expect(await describeIt()).toEqual({
      status: 'QUEUED',
      properties: { a: '1', b: '4', ...own },
    });
  });

  it('fails where an expression passes the memory of a request, and changes nothing', async () => {
    const computed = "repeat('long', 8000000 + 0 * n)";
    await table.post('add_columns', { new_columns: [{ name: 'much', computed }] });
    const budget = new RequestBudget({ ...defaultBudget, memory: 16 * 2 ** 20 });
    const sent = { body: { column: 'much' }, budget };
    const job = jobIdOf((await table.send('backfill_column', sent)).json);
    table.engine.startWork(() => undefined);
    expect(await settled(table.engine.backend, job)).toMatchObject({ job_state: 'FAILED' });
    expect(await send(`POST /v1/transaction/${job}/describe`)).toMatchObject({
      status: 'FAILED',
      properties: {
        'job.failure':
          'The request needs more than 16 MiB of memory (budget.memory): ask for less, or for fewer rows at once',
      },
    });
    expect(await table.column('much')).toEqual([null, null]);
  });

  it('is cancelled for good', async () => {
    expect(await alter([set('why', 'a mistake'), status('canceled')])).toMatchObject({
      status: 'CANCELED',
    });
    expect(await alter([status('CANCELED')])).toMatchObject({ status: 'CANCELED' });
    table.engine.startWork(() => undefined);
    expect(await settled(table.engine.backend, id)).toMatchObject({ job_state: 'CANCELLED' });
    expect(await table.column('twice')).toEqual([null, null]);
    expect(await table.post('describe')).toMatchObject({ version: 2 });
  });

  it.each([
    [[], 'actions must have at least one action'],
    [
      [set('a', '2'), {}],
      'actions[1] must be one of setStatusAction, setPropertyAction, unsetPropertyAction',
    ],
    [
      [{ ...set('a', '2'), ...unset('a') }],
      'actions[0] must be one of setStatusAction, setPropertyAction, unsetPropertyAction',
    ],
    [
      [set('a', '2'), status('DONE')],
      '"DONE" is not a transaction status; there are QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELED',
    ],
    [
      [set('a', '2'), { setStatusAction: {} }],
      '"" is not a transaction status; there are QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELED',
    ],
    [
      [set('a', '2'), status('SUCCEEDED')],
      'the transaction is QUEUED and cannot be set to SUCCEEDED: the service runs it, it can only be CANCELED',
    ],
    [[set('b', '2'), set('a', '2', 'fail')], 'the transaction already has a property "a"'],
    [[set('b', '2'), unset('c', 'fail')], 'the transaction has no property "c"'],
    [[set('b', '2'), set('', '1')], 'a property must have a key'],
    [[{ setPropertyAction: { key: 'a' } }], 'setPropertyAction of "a" has no value'],
    [[set('job.type', 'x')], 'the property "job.type" is the service\'s own'],
    [[unset('job.type')], 'the property "job.type" is the service\'s own'],
    [
      [set('a', '2', 'merge')],
      '"merge" is not a mode of a property; there are overwrite, fail, skip',
    ],
    [[unset('a', 'overwrite')], '"overwrite" is not a mode of a property; there are skip, fail'],
    [[set('b', 'x'.repeat(65_535))], 'the properties may have at most 65536 bytes, not 65538'],
    [
      Array.from({ length: 100 }, (_, at) => set(`p${at}`, '')),
      'a transaction may have at most 100 properties, not 101',
    ],
  ])('takes all actions or none: %#', async (actions, sentence) => {
    await alter([set('a', '1')]);
    const before = await describeIt();
    expect(await refusalOf(alter(actions))).toBe(`13 ${sentence}`);
    expect(await describeIt()).toEqual(before);
  });

  it('that has ended is not cancelled any more', async () => {
    table.engine.startWork(() => undefined);
    await settled(table.engine.backend, id);
    const sentence = '13 the transaction is SUCCEEDED and can no longer be cancelled';
    expect(await refusalOf(alter([status('CANCELED')]))).toBe(sentence);
    expect(await refusalOf(send('POST /v1/jobs/cancel', { job_id: id }))).toBe(sentence);
  });

  it('is none to who may not see its table, and none by another name', async () => {
    const blind = new TestPermit({ sees: () => false });
    const none = (name: string) => `10 there is no transaction ${JSON.stringify(name)}`;
    expect(await refusalOf(describeIt(blind))).toBe(none(id));
    expect(await refusalOf(alter([set('a', '1')], blind))).toBe(none(id));
    expect(await refusalOf(send('POST /v1/jobs/describe', { job_id: id }, blind))).toBe(none(id));
    for (const name of ['x', id.toUpperCase(), `${id}0`, '../t']) {
      const line = `POST /v1/transaction/${encodeURIComponent(name)}/describe`;
      expect(await refusalOf(send(line))).toBe(none(name));
    }
  });

  it('asks for the right to do this on its table, wherever that is now', async () => {
    await table.post('rename', { new_table_name: 'u' });
    const permit = new TestPermit({ holds: (action) => action !== 'AlterTransaction' });
    await describeIt(permit);
    expect(await refusalOf(alter([set('a', '1')], permit))).toBe(
      '15 user:tester may not AlterTransaction on /u',
    );
    expect(permit.required).toEqual(['DescribeTransaction /u', 'AlterTransaction /u']);
  });
});

describe('jobs', () => {
  it('are listed in pages, those of visible tables alone', async () => {
    const second = jobIdOf(
      await table.post('backfill_column', { column: 'twice', where: 'n = 1' }),
    );
    const { jobs } = (await send('POST /v1/jobs/list')) as { jobs: { job_id: string }[] };
    expect(jobs.map((job) => job.job_id)).toEqual([id, second]);
    expect(jobs[0]).toEqual({
      job_id: id,
      table: 't',
      job_type: 'backfill',
      state: 'IN_PROGRESS',
      created_at_millis: expect.any(Number),
    });
    expect(await send('POST /v1/jobs/list', { page_token: id })).toMatchObject({
      jobs: [{ job_id: second }],
    });
    const blind = new TestPermit({ sees: (path) => canonicalPath(path) !== '/t' });
    expect(await send('POST /v1/jobs/list', {}, blind)).toEqual({ jobs: [] });
    const mute = new TestPermit({ holds: () => false });
    expect(await send('POST /v1/jobs/list', {}, mute)).toEqual({ jobs: [] });
  });

  it('are cancelled by their id', async () => {
    expect(await send('POST /v1/jobs/cancel', { job_id: id })).toEqual({});
    expect(await send('POST /v1/jobs/cancel', { job_id: id })).toEqual({});
    expect(await describeIt()).toMatchObject({ status: 'CANCELED' });
    expect(await refusalOf(send('POST /v1/jobs/cancel', { job_id: 'x' }))).toBe(
      '10 there is no transaction "x"',
    );
  });

  it('tell what happened to them as an Arrow stream', async () => {
    table.engine.startWork(() => undefined);
    await settled(table.engine.backend, id);
    for (const body of [{}, { job_id: id }]) {
      const answer = await ask(table.engine.backend, 'POST /v1/jobs/query_events', { body });
      const events = tableFromIPC(await bytesOf(answer.body)).toArray();
      const told = events.map(({ job_id, status, message, rows_done }) => [
        job_id,
        status,
        message,
        rows_done,
      ]);
      expect(told).toEqual([
        [id, 'QUEUED', 'the job waits to be run', 0n],
        [id, 'RUNNING', 'the job runs', 0n],
        [id, 'SUCCEEDED', 'version 3 of the table was made', 2n],
      ]);
    }
    const blind = new TestPermit({ sees: () => false });
    const none = await ask(table.engine.backend, 'POST /v1/jobs/query_events', {
      body: {},
      permit: blind,
    });
    expect(tableFromIPC(await bytesOf(none.body)).numRows).toBe(0);
  });

  it.each([
    [
      'POST /v1/functions/create',
      'this service runs no code of clients: it keeps no functions; a computed column takes SQL',
    ],
    [
      'POST /v1/functions/get',
      'this service runs no code of clients: it keeps no functions; a computed column takes SQL',
    ],
    [
      'POST /v1/table/t/refresh',
      'this service keeps no materialized views: it has nothing that follows the tables of a source_query',
    ],
  ])('have no code of clients to run: %s', async (line, sentence) => {
    expect(await refusalOf(send(line))).toBe(`0 ${sentence}`);
  });
});
