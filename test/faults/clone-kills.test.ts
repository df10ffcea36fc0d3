import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, Table, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, describe, expect, it } from 'vitest';
import { send, sendGranted } from '../service/http.ts';
import { Service } from '../support/service.ts';
import { flagsOf, type KillPlan } from './kill-plan.ts';

/** At which step of a clone the service is killed, and of which kind the clone is. */
interface Kill extends Pick<KillPlan, 'step' | 'when' | 'count'> {
  readonly shallow: boolean;
}

const kills: readonly Kill[] = [
  { shallow: true, step: 'link rows', when: 'after', count: 1 },
  { shallow: false, step: 'copy rows', when: 'after', count: 1 },
  { shallow: true, step: 'flush rows folder', when: 'before', count: 1 },
  { shallow: true, step: 'flush manifest', when: 'after', count: 1 },
  { shallow: true, step: 'flush journal', when: 'before', count: 1 },
  { shallow: false, step: 'rename manifest', when: 'after', count: 1 },
];

const nodeFlags: string[] = [];
let service: Service;
afterEach(() => service.stop());

const answer = (line: string, body: object | Uint8Array = {}) =>
  sendGranted(service.url, line, { body });

const rows = (...values: readonly bigint[]): Uint8Array =>
  tableToIPC(new Table({ n: vectorFromArray(values, new Int64()) }), 'stream');

/** The rows of a table; undefined where it is not there. */
async function rowsOf(name: string): Promise<string | undefined> {
  const body = { k: 100, vector: [] };
  const reply = await send(service.url, `POST /v1/table/${name}/query`, { body });
  if (reply.status === 404) return undefined;
  expect(reply.status, reply.text).toBe(200);
  return tableFromIPC(reply.bytes).getChild('n')!.toArray().join();
}

async function source(): Promise<string> {
  const { json } = await answer('POST /v1/table/t/describe?with_table_uri=true');
  return String(json['table_uri']);
}

/** Makes a clone, and has the service killed meanwhile. */
async function killed(at: number, next: Kill | undefined): Promise<void> {
  const body = { source_location: await source(), is_shallow: kills[at]!.shallow };
  await send(service.url, 'GET /healthz?armed', { key: null });
  const ended = service.ended();
  await send(service.url, `POST /v1/table/clone${at}/clone`, { body }).catch(() => undefined);
  await ended;
  nodeFlags.splice(0, Infinity, ...flags(next));
  await service.restart();
}

function flags(kill: Kill | undefined): readonly string[] {
  return flagsOf(kill && { ...kill, since: 'armed' }, 0);
}

const RIGHT = '1,3,4,5';

describe('a service that is killed while a table is cloned', () => {
  it('has all of the clone or nothing, and loses nothing of what was cloned', async () => {
    nodeFlags.push(...flags(kills[0]));
    service = await Service.start({ nodeFlags, config: 'drop:\n  retention: 1ms\n' });
    await answer('POST /v1/table/t/create', rows(1n, 2n, 3n));
    await answer('POST /v1/table/t/delete', { predicate: 'n = 2' });
    await answer('POST /v1/table/t/insert', rows(4n, 5n));
    const made: string[] = [];
    for (const [at, kill] of kills.entries()) {
      const name = `clone${at}`;
      await killed(at, kills[at + 1]);
      const found = await rowsOf(name);
      expect([undefined, RIGHT], `${kill.when} ${kill.step}`).toContain(found);
      if (found !== undefined) made.push(name);
      else await answer(`POST /v1/table/${name}/clone`, { source_location: await source() });
      expect(await rowsOf(name)).toBe(RIGHT);
      expect(await rowsOf('t')).toBe(RIGHT);
    }
    // Before the journal has its line a clone is there for nobody; behind that it stays.
    expect(made).toContain('clone5');
    expect(made.filter((name) => name < 'clone4')).toEqual([]);
    await answer('POST /v1/table/t/drop');
    await service.end();
    const collected = await service.command('catalog', 'gc', '--older-than', '0s');
    expect(collected).toMatchObject({ code: 0, err: '' });
    expect(await readdir(join(service.data, 'tables'))).toHaveLength(kills.length);
    const { code, out } = await service.command('catalog', 'verify');
    expect(code, out).toBe(0);
    await service.restart();
    for (const at of kills.keys()) expect(await rowsOf(`clone${at}`)).toBe(RIGHT);
  });
});
