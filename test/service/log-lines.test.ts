import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service, type ServiceOptions } from '../support/service.ts';
import { send } from './http.ts';

const freshFolder = testFolders();
const stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function started(options: ServiceOptions): Promise<Service> {
  const service = await Service.start(options);
  stops.push(() => service.stop());
  return service;
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
const TEXT_LINE = /^\d{4}-\d\d-\d\dT[\d:.]+Z (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) /;
const text = 'log: { format: text }\n';

describe('Redis', () => {
  it('away and back is one line each, however long it is away', async () => {
    const redis = await RedisServer.start();
    stops.push(() => redis.stop());
    const service = await started({ flags: ['--redis', redis.url], config: text });
    const about = () => linesOf(service.errors).filter((line) => line.includes('Redis is '));
    await redis.kill();
    await eventually(async () => expect(about()).toHaveLength(1));
    for (let tries = 0; tries < 20; tries++) await send(service.url, 'GET /v1/namespace/$/list');
    await redis.restart();
    await eventually(async () => {
      expect((await send(service.url, 'GET /v1/namespace/$/list')).status).toBe(200);
      expect(about()).toHaveLength(2);
    });
    const expected = [
      'WARN Redis is unavailable: requests that need the catalog answer 503',
      'INFO Redis is available again',
    ];
    const said = () => about().map((line) => line.replace(/^\S+ /, ''));
    expect(said()).toEqual(expected);
    await service.end();
    expect(said()).toEqual(expected);
    for (const line of linesOf(service.errors)) expect(line).toMatch(TEXT_LINE);
  });
});

describe('log.format: text', () => {
  it.each([1, 2])(
    'is the form of every line of %i processes, warnings of Node too',
    async (processes) => {
      const begin = join(await freshFolder(), 'begin');
      const service = await started({
        config: text,
        flags: ['--processes', String(processes)],
        nodeFlags: [
          '--import',
          `data:text/javascript,import{watchFile}from"node:fs";watchFile("${begin}",{interval:50},({size})=>size>0&&process.emitWarning("ahem")).unref()`,
        ],
      });
      // A start that takes long would be warned before it has its log.
      await writeFile(begin, 'now');
      await eventually(async () => expect(service.errors).toContain('ahem'));
      await service.end();
      for (const line of linesOf(service.errors)) expect(line).toMatch(TEXT_LINE);
    },
  );

  it('is the form of an exception that nobody handled, which ends the process', async () => {
    const service = await started({
      config: text,
      nodeFlags: [
        '--import',
        'data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("oops")})',
      ],
    });
    process.kill(service.pid, 'SIGUSR2');
    expect(await service.ended()).toBe(1);
    const lines = linesOf(service.errors);
    expect(lines.at(-1)).toMatch(/FATAL the process ends: .*oops/);
    for (const line of lines) expect(line).toMatch(TEXT_LINE);
  });

  it('is the form of the reason why a start failed', async () => {
    const config = `${text}listen: { tls: { cert: no, key: no } }\n`;
    const failed = Service.start({ config });
    await expect(failed).rejects.toThrow(/^the service did not start: \S+Z FATAL arrowgate: /);
  });
});

describe('the health check of the container', () => {
  async function check(service: Service | undefined): Promise<unknown> {
    const port = service === undefined ? '1' : new URL(service.url).port;
    const script = new URL('../../deploy/healthcheck.mjs', import.meta.url).pathname;
    const env = { ...process.env, ARROWGATE_PORT: port, ARROWGATE_HOST: '0.0.0.0' };
    return (await once(spawn(process.execPath, [script], { env }), 'exit'))[0];
  }

  it('follows TLS', async () => {
    const made = await makeCertificate(await freshFolder(), 'made', { commonName: 'made' });
    const config = `listen: { tls: { cert: ${made.cert}, key: ${made.key} } }\n`;
    expect(await check(await started({ config }))).toBe(0);
    expect(await check(await started({}))).toBe(0);
    expect(await check(undefined)).toBe(1);
  });
});

describe('the examples of policies', () => {
  const policies = new URL('../../policies', import.meta.url).pathname;

  it('load as they are copied', async () => {
    const names = await readdir(join(policies, 'examples'));
    expect(names.length).toBeGreaterThan(2);
    const service = await started({});
    for (const name of names) {
      const folder = join(await freshFolder(), 'policies');
      await mkdir(folder);
      await cp(policies, folder, { recursive: true });
      await cp(join(policies, 'examples', name), join(folder, name));
      const { code, out, err } = await service.command('policy', 'check', '--policies', folder);
      expect(`${name}: ${code} ${code === 0 ? '' : out + err}`).toBe(`${name}: 0 `);
    }
  });
});
