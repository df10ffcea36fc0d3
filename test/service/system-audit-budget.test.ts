import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { send, sendGranted } from './http.ts';

/* An expensive query of the audit log runs on another thread, under the budget of its request. */

const QUERY = 'POST /v1/table/system$audit/query';
const DESCRIBE = 'POST /v1/table/system$audit/describe';
const COUNT = 'POST /v1/table/system$audit/count_rows';
const LONG = "levenshtein(repeat(request_id, 100), repeat('abcdefg ', 500)) < 0";

let service: Service;

beforeAll(async () => {
  service = await Service.start({ config: 'budget: { time: 2s }\nworkers: 1\n' });
  for (let request = 0; request < 100; request++) {
    await sendGranted(service.url, DESCRIBE, { body: {} });
  }
});

afterAll(() => service.stop());

describe('an expensive query of system$audit', () => {
  it.each([
    [QUERY, { columns: ['request_id'], filter: LONG, k: 10 }],
    [COUNT, { predicate: LONG }],
  ])('ends at its budget, and others are answered meanwhile: %s', async (line, body) => {
    const order: string[] = [];
    const expensive = send(service.url, line, { body }).then((reply) => {
      order.push('expensive');
      return reply;
    });
    for (let request = 0; request < 5; request++) {
      await sendGranted(service.url, DESCRIBE, { body: {} });
      order.push('other');
    }
    const { status, json } = await expensive;
    expect([status, json['code']]).toEqual([400, 13]);
    expect(json['error']).toMatch(/more than 2 s of processor time \(budget\.time\)/);
    expect(order.indexOf('expensive')).toBe(5);
  });

  it('answers with the rows that it finds, as any other query does', async () => {
    const some = "length(repeat(request_id, 3000)) > 0 and operation = 'DescribeTable'";
    const counted = async (predicate: string) =>
      Number((await sendGranted(service.url, COUNT, { body: { predicate } })).text);
    await eventually(async () => {
      const expected = await counted("operation = 'DescribeTable'");
      expect(expected).toBeGreaterThan(100);
      expect(await counted(some)).toBe(expected);
    });
    const rows = await sendGranted(service.url, QUERY, {
      body: { columns: ['operation'], filter: some, k: 1000 },
    });
    expect(tableFromIPC(rows.bytes).numRows).toBeGreaterThan(100);
  });
});
