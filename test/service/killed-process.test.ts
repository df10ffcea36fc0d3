import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rmdir } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { childrenOf } from '../support/processes.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';

let service: Service;

afterEach(() => service?.stop());

interface Verified {
  readonly findings: readonly { readonly kind: string }[];
  readonly heads: readonly {
    readonly instance: string;
    readonly count: number;
    readonly signed: number;
  }[];
}

async function verified(): Promise<Verified> {
  const { out } = await service.command('audit', 'verify', '--json');
  return JSON.parse(out) as Verified;
}

/** Stops the processes while one of them has records that are not signed. @returns Its number. */
async function stoppedUnsigned(processes: readonly number[]): Promise<number> {
  return eventually(async () => {
    for (const pid of processes) process.kill(pid, 'SIGCONT');
    for (const _ of [1, 2, 3, 4]) await send(service.url, 'GET /v1/table', { agent: new Agent() });
    // They are in the file after some 30 ms, and signed within a second.
    await sleep(200);
    for (const pid of processes) process.kill(pid, 'SIGSTOP');
    const unsigned = (await verified()).heads.find(({ count, signed }) => count > signed);
    const mark = join(service.data, 'private/audit-processes', `${unsigned!.instance}.json`);
    return (JSON.parse(await readFile(mark, 'utf8')) as { pid: number }).pid;
  });
}

it('the log of a killed process is signed while the others serve, also if its successor could not', async () => {
  service = await Service.start({
    flags: ['--processes', '2'],
    config: 'audit:\n  anchor_file: anchor.jsonl\n',
    variables: { ARROWGATE_SUPERVISION_TIMEOUT: '4m' },
  });
  const anchor = join(service.folder, 'anchor.jsonl');
  const before = await childrenOf(service.pid);
  await eventually(async () => {
    await send(service.url, 'GET /v1/table', {});
    expect(existsSync(anchor)).toBe(true);
  });
  const killed = await stoppedUnsigned(before);
  // Nothing can be signed while a folder is in the place of the anchor file.
  await rename(anchor, `${anchor}.kept`);
  await mkdir(anchor);
  process.kill(killed, 'SIGKILL');
  for (const pid of before) if (pid !== killed) process.kill(pid, 'SIGCONT');
  await eventually(() =>
    expect(service.errors).toContain('records of killed processes could not be signed'),
  );
  await rmdir(anchor);
  await rename(`${anchor}.kept`, anchor);
  await eventually(() =>
    expect(service.errors).toContain('records of killed processes were signed'),
  );
  await eventually(async () => expect((await verified()).findings).toEqual([]));
  expect((await childrenOf(service.pid)).includes(killed)).toBe(false);
  expect(await service.end()).toBe(0);
});
