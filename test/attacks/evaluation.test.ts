import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ARROW_STREAM, open, send, sendGranted } from '../service/http.ts';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import {
  ATTACKED_ROWS,
  attackedRows,
  evaluationAttacks,
  evaluationRefusal,
} from './evaluation-attacks.ts';

const MIB = 2 ** 20;
const CACHE = 64 * MIB;
const MEMORY = 256 * MIB;

/** `npm test` tries every second one, `npm run test:attacks` all. */
const attacks = evaluationAttacks.filter(
  (_, at) => at % 2 === 0 || process.env['ARROWGATE_TEST_ATTACKS'] === 'all',
);

let service: Service;

beforeAll(async () => {
  service = await Service.start({
    config: `cache: { bytes: ${CACHE} }\nbudget: { time: 2s, memory: ${MEMORY} }\nworkers: 1\n`,
  });
  await sendGranted(service.url, 'POST /v1/table/attacked/create', {
    body: attackedRows(),
    headers: ARROW_STREAM,
  });
});

afterAll(() => service?.stop());

/** The most memory that the service ever had, in bytes. */
async function peak(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) * 1024;
}

async function described(): Promise<unknown> {
  const { json } = await sendGranted(service.url, 'POST /v1/table/attacked/describe', { body: {} });
  return json['version'];
}

describe('an attack through expressions', () => {
  it.each(attacks)('ends at its budget: $name', async ({ line, body, headers }) => {
    const before = await described();
    const reply = await send(service.url, line, { body, ...(headers && { headers }) });
    expect([reply.status, reply.json['code']]).toEqual([
      evaluationRefusal.status,
      evaluationRefusal.code,
    ]);
    expect(reply.json['error']).toMatch(evaluationRefusal.sentence);
    expect(reply.headers['x-arrowgate-decision']).toBe('allow');
    expect(await described()).toBe(before);
    const count = await sendGranted(service.url, 'POST /v1/table/attacked/count_rows', {
      body: {},
    });
    expect(count.text).toBe(String(ATTACKED_ROWS));
  });

  it('never takes more memory than cache, budget and program', async () => {
    expect(await peak()).toBeLessThan(CACHE + MEMORY + 512 * MIB);
  });

  it('stands in the audit log as over budget', async () => {
    await eventually(async () => {
      const records = await service.audit();
      const outcomes = records.filter(({ phase }) => phase === 'outcome');
      const over = outcomes.filter(({ decision }) => decision === 'over budget');
      expect(over.length).toBe(attacks.length);
    });
    const found = await service.command('audit', 'search', '--decision', 'over budget');
    expect(found.out).toContain('over budget');
  });
});

describe('a slow caller', () => {
  it('does not hold the last thread: another one is answered meanwhile', async () => {
    const slow = await service.key('slow', 'admin');
    const [attack] = evaluationAttacks;
    const order: string[] = [];
    const attacks = [1, 2, 3].map(async () => {
      await send(service.url, attack!.line, { body: attack!.body, key: slow });
      order.push('attack');
    });
    const other = send(service.url, 'POST /v1/table/attacked/query', {
      body: { columns: ['id'], filter: 'length(repeat(name, 500)) > 0', k: 3 },
    });
    expect((await other).status).toBe(200);
    order.push('other');
    await Promise.all(attacks);
    expect(order.indexOf('other')).toBeLessThan(order.lastIndexOf('attack'));
  });

  it('ends its work when it leaves', async () => {
    const leaving = new AbortController();
    const [, attack] = evaluationAttacks;
    const answer = open(service.url, attack!.line, { body: attack!.body, signal: leaving.signal });
    leaving.abort();
    await expect(answer).rejects.toThrow();
    const { status } = await send(service.url, 'POST /v1/table/attacked/query', {
      body: { columns: ['id'], filter: 'length(repeat(name, 500)) > 0', k: 3 },
    });
    expect(status).toBe(200);
  });
});
