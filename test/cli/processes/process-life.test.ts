import { fork, type SendHandle } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { HandedConnections } from '../../../src/cli/processes/process-life.ts';
import { Child } from '../../support/child.ts';

/** A client's end of a connection, and the other as `cluster` holds it. */
async function connection() {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [{ _handle: handle }] = (await once(server, 'connection')) as [
    Socket & { readonly _handle: SendHandle },
  ];
  server.close();
  return { client, handle };
}

it('A supervisor goes on when it tells something to a process that has just died', async () => {
  const child = new Child(new URL('dead-process-child.ts', import.meta.url), []);
  await child.end();
  expect(child.lines).toEqual(['SIGKILL']);
});

it('A process tells its supervisor that it answers, since the first question may come before it can', async () => {
  const child = new Child(new URL('heartbeat-child.ts', import.meta.url), []);
  await child.end();
  expect(child.lines).toEqual(['answer']);
});

it('A connection is closed that is handed on to a process whose end is known, but not that of its channel', async () => {
  const child = fork('-e', [''], { execPath: process.execPath, execArgv: [] });
  child.on('error', () => undefined);
  const handed = new HandedConnections(child);
  const { client, handle } = await connection();
  const closed = once(client, 'close');
  handed.close();
  child.send({}, handle);
  client.resume();
  await closed;
  expect(client.destroyed).toBe(true);
  child.kill('SIGKILL');
});
