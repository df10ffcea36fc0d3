import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { afterEach, describe, expect, it } from 'vitest';
import { send, sendGranted } from '../service/http.ts';
import { Service } from '../support/service.ts';
import { flagsOf, type KillPlan } from './kill-plan.ts';
import { waitUntil } from '../support/eventually.ts';

const ROWS = 9000;
const FILTERS = ['id = 77', 'id >= 8990', "kind = 'kind 3' and id < 40", 'id is null', 'id > 8998'];

/** What is in progress when the service is killed, and at which step of it. */
interface Kill extends Pick<KillPlan, 'step' | 'when' | 'count'> {
  readonly work: keyof typeof builds | 'append';
}

/** The indices that are built, one of each kind. */
const builds = {
  keys: { column: 'id', index_type: 'BTREE' },
  words: { column: 'kind', index_type: 'FTS' },
  vectors: { column: 'place', index_type: 'IVF_PQ', metric_type: 'l2' },
} as const;

const kills: readonly Kill[] = [
  { work: 'keys', step: 'write index', when: 'within', count: 2 },
  { work: 'words', step: 'write index', when: 'within', count: 1 },
  { work: 'vectors', step: 'write index', when: 'within', count: 1 },
  { work: 'keys', step: 'make manifest', when: 'after', count: 1 },
  { work: 'append', step: 'flush index', when: 'before', count: 1 },
];

const nodeFlags: string[] = [];
let service: Service;
afterEach(() => service.stop());

const answer = (line: string, body: object | Uint8Array = {}) =>
  sendGranted(service.url, line, { body });

const rows = (first: number, count: number): Uint8Array => {
  const ids = Array.from({ length: count }, (_, at) => first + at);
  const id = vectorFromArray(ids.map(BigInt), new Int64());
  const kind = vectorFromArray(
    ids.map((at) => `kind ${at % 7}`),
    new Utf8(),
  );
  const place = vectorFromArray(
    ids.map((at) => [at, at * at, 1 / (at + 1), 7]),
    new FixedSizeList(4, new Field('item', new Float32())),
  );
  return tableToIPC(new Table({ id, kind, place }), 'stream');
};

/** The ids that a filter finds. */
async function found(filter: string): Promise<string> {
  const body = { vector: [], k: 100_000, columns: ['id'], filter };
  const { bytes } = await answer('POST /v1/table/t/query', body);
  return tableFromIPC(bytes).getChild('id')!.toArray().join();
}

/** What each kind of search finds by its index, as far as it is there. */
async function searches(indices: readonly string[]): Promise<void> {
  const body = { k: 1, columns: ['id'] };
  if (indices.includes('words')) {
    const { bytes } = await answer('POST /v1/table/t/query', {
      ...body,
      k: 100_000,
      full_text_query: { string_query: { query: '3' } },
    });
    expect(tableFromIPC(bytes).numRows).toBe((await found("kind = 'kind 3'")).split(',').length);
  }
  const vector = { single_vector: [77, 77 * 77, 1 / 78, 7] };
  const { bytes } = await answer('POST /v1/table/t/query', { ...body, vector });
  expect(tableFromIPC(bytes).getChild('id')!.toArray().join()).toBe('77');
}

interface Listed {
  readonly index_name: string;
  readonly num_unindexed_rows: number;
  readonly num_segments: number;
}

async function listed(): Promise<readonly Listed[]> {
  const { json } = await answer('POST /v1/table/t/index/list');
  return json['indexes'] as readonly Listed[];
}

/** Has the service killed at a step, and starts it again with the next plan. */
async function killed({ work, step, when, count }: Kill, at: number, next: Kill | undefined) {
  await send(service.url, 'GET /healthz?armed', { key: null });
  const ended = service.ended();
  const sent =
    work === 'append'
      ? send(service.url, 'POST /v1/table/t/insert', { body: rows(ROWS, 50) })
      : send(service.url, 'POST /v1/table/t/create_index', {
          body: { ...builds[work], name: nameOf(work, at) },
        });
  await sent.catch(() => undefined);
  await ended;
  nodeFlags.splice(0, Infinity, ...flags(next));
  await service.restart();
  return `${when} ${step}, the ${count}th`;
}

const nameOf = (work: Kill['work'], at: number): string =>
  kills.findIndex((kill) => kill.work === work) === at ? work : `${work} again`;

function flags(kill: Kill | undefined): readonly string[] {
  return flagsOf(kill && { ...kill, since: 'armed' }, 0);
}

/** The transactions of all indices that were asked for. */
async function jobs(): Promise<readonly { job_id: string; state: string }[]> {
  const { json } = await answer('POST /v1/jobs/list');
  return json['jobs'] as readonly { job_id: string; state: string }[];
}

async function settled(): Promise<void> {
  await waitUntil(async () => !(await jobs()).some(({ state }) => state === 'IN_PROGRESS'));
  await waitUntil(async () => (await listed()).every((index) => index.num_unindexed_rows === 0));
}

/** Files and folders of indices, in the folders of tables. */
async function onDisk(): Promise<readonly string[]> {
  const names = await readdir(join(service.data, 'tables'), { recursive: true });
  return names.filter((name) => /\/indices\/./.test(name));
}

describe('a service that is killed while an index is built', () => {
  it('builds it when it is back, and leaves nothing else of it', async () => {
    nodeFlags.push(...flags(kills[0]));
    service = await Service.start({ nodeFlags });
    await answer('POST /v1/table/t/create', rows(0, ROWS));
    await answer('POST /v1/table/t/delete', { predicate: 'id = 9' });
    const right = await Promise.all(FILTERS.map(found));
    for (const [at, kill] of kills.entries()) {
      const where = await killed(kill, at, kills[at + 1]);
      // It is there and whole, or not there.
      if (kill.work === 'append') right[1] += `,${range(ROWS, 50)}`;
      if (kill.work === 'append') right[4] += `,${range(ROWS, 50)}`;
      expect(await Promise.all(FILTERS.map(found)), where).toEqual(right);
      await settled();
      expect(await Promise.all(FILTERS.map(found)), where).toEqual(right);
      const names = kills
        .slice(0, at + 1)
        .flatMap(({ work }, n) => (work === 'append' ? [] : [nameOf(work, n)]))
        .toSorted();
      await searches(names);
      expect(
        (await listed()).map((one) => one.index_name),
        where,
      ).toEqual(names);
    }
    expect((await jobs()).map(({ state }) => state)).toEqual(kills.slice(1).map(() => 'DONE'));
    const files = (await listed()).reduce((sum, { num_segments: count }) => sum + count, 0);
    const folders = (await listed()).length;
    await service.end();
    expect(await service.command('catalog', 'gc', '--older-than', '0s')).toMatchObject({ code: 0 });
    expect(await onDisk()).toHaveLength(files + folders);
    const { code, out } = await service.command('catalog', 'verify');
    expect(code, out).toBe(0);
  });
});

const range = (first: number, count: number): string =>
  Array.from({ length: count }, (_, at) => first + at).join();
