import { Agent } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { childrenOf, isRunning } from '../support/processes.ts';
import { Service } from '../support/service.ts';
import { stopInWrite } from '../support/stopped-writer.ts';
import { send } from './http.ts';
import { InsertLedger, range } from './insert-ledger.ts';
import { goodRows } from './table-bodies.ts';

let service: Service;

afterEach(() => service?.stop());

const flags = ['--processes', '2'];
const CUT = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'];

/** What became of a request: its status, or `cut`. */
async function outcomeOf(line: string, agent = new Agent()): Promise<number | 'cut'> {
  try {
    const body = line.startsWith('POST') ? {} : undefined;
    return (await send(service.url, line, { body, agent })).status;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (CUT.includes(code)) return 'cut';
    throw error;
  }
}

/** Inserts until it is stopped, each time on a new connection. A connection may be cut, and its insert is in doubt. */
async function inserting(ledger: InsertLedger, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    try {
      await ledger.insert(service.url, 5);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (!CUT.includes(code)) throw error;
    }
  }
}

describe('one of two processes that is stopped', () => {
  it('is replaced: every request ends, and what was acknowledged is there', async () => {
    // The others wait for a writer longer than the supervisor waits for a process.
    const variables = {
      ARROWGATE_SUPERVISION_TIMEOUT: '8s',
      ARROWGATE_COORDINATION_WAIT: '3m',
    };
    service = await Service.start({ flags, variables });
    const ledger = new InsertLedger('t');
    await ledger.create(service.url);
    const over = new AbortController();
    const writers = Promise.all(range(4).map(() => inserting(ledger, over.signal)));
    const stopped = await stopInWrite(service.data, await childrenOf(service.pid));

    const outcomes = await Promise.all(
      range(8).map(() => outcomeOf('POST /v1/table/t/count_rows')),
    );
    // The supervisor hands a process that does not answer one connection.
    expect(outcomes.filter((outcome) => outcome === 200).length).toBeGreaterThanOrEqual(7);
    await eventually(async () => {
      expect(await isRunning(stopped)).toBe(false);
      expect(await childrenOf(service.pid)).toHaveLength(2);
      expect(await outcomeOf('GET /readyz')).toBe(200);
    });
    expect(service.errors).toContain('a process does not answer; it is killed');
    const before = ledger.acknowledged;
    await eventually(() => expect(ledger.acknowledged).toBeGreaterThan(before));
    over.abort();
    await writers;
    await ledger.check(service.url);
    // The next start signs what the killed process recorded last.
    expect(await service.end()).toBe(0);
    await service.restart();
    expect(await service.end()).toBe(0);
    for (const command of ['catalog', 'audit']) {
      const { code, out, err } = await service.command(command, 'verify');
      expect([code, out, err]).toEqual([0, expect.anything(), expect.anything()]);
    }
  });

  it('continues when it is stopped for less than the supervisor waits', async () => {
    service = await Service.start({ flags, variables: { ARROWGATE_SUPERVISION_TIMEOUT: '3m' } });
    const processes = await childrenOf(service.pid);
    process.kill(processes[0]!, 'SIGSTOP');
    const outcomes = range(8).map(() => outcomeOf('GET /healthz'));
    process.kill(processes[0]!, 'SIGCONT');
    expect(await Promise.all(outcomes)).toEqual(range(8).map(() => 200));
    expect(await childrenOf(service.pid)).toEqual(processes);
    expect(await service.end()).toBe(0);
  });
});

describe('a supervisor that is stopped', () => {
  it.each([
    ['open', 200],
    ['closed', 503],
  ])('leaves requests of open connections to limits that are %s', async (failure, status) => {
    const limits = `limits:\n  - { name: all, rate: 1000/s, on_store_failure: ${failure} }\n`;
    service = await Service.start({ flags, limits });
    const agent = new Agent({ keepAlive: true });
    const create = { body: goodRows, agent };
    expect((await send(service.url, 'POST /v1/table/t/create', create)).status).toBe(200);
    process.kill(service.pid, 'SIGSTOP');
    expect(await outcomeOf('POST /v1/table/t/count_rows', agent)).toBe(status);
    process.kill(service.pid, 'SIGCONT');
    await eventually(async () =>
      expect(await outcomeOf('POST /v1/table/t/count_rows', agent)).toBe(200),
    );
    agent.destroy();
  });
});
