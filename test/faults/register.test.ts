import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { range, versionsOf } from '../service/insert-ledger.ts';
import { randomOf, type Random } from '../service/random.ts';
import { send } from '../service/http.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { engineKind } from './engine-kind.ts';
import { linearise, type RegisterCall, type Timed } from './version-register.ts';
import { casesOf } from '../support/cases.ts';

const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
const HISTORIES = casesOf(3, 6);
const CLIENTS = 4;
/** So few appends that no merge of small files makes a version of its own. */
const CALLS_EACH = 14;
const APPENDS_EACH = 6;

const services: Service[] = [];
let redis: RedisServer | undefined;
afterEach(async () => {
  for (const service of services.splice(0).toReversed()) await service.stop();
  await redis?.stop();
  redis = undefined;
});

/** The calls of several clients to one table, and when they were made. */
class History {
  readonly calls: Timed[] = [];
  readonly #table: string;
  readonly #random: Random;
  #group = 0;

  constructor(table: string, random: Random) {
    this.#table = table;
    this.#random = random;
  }

  /** One client: it continues with the next gateway when one is gone. */
  async client(urls: readonly string[], first: number): Promise<void> {
    let turn = first;
    let appends = 0;
    for (let call = 0; call < CALLS_EACH; call++) {
      const isAppend = appends < APPENDS_EACH && this.#random(2) === 0;
      if (isAppend) appends += 1;
      const ask = isAppend ? this.#append : this.#readers[this.#random(this.#readers.length)]!;
      if (!(await this.#timed(ask, urls[turn % urls.length]!))) turn += 1;
      else if (this.#random(3) === 0) turn += 1;
    }
  }

  /** Makes one call; says whether an answer came. A read without answer says nothing and is left out. */
  async #timed(ask: (url: string) => Promise<RegisterCall>, url: string): Promise<boolean> {
    const start = performance.now();
    try {
      const call = await ask(url);
      this.calls.push({ call, start, end: performance.now() });
      return true;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      if (ask === this.#append) {
        this.calls.push({ call: { kind: 'next', version: undefined }, start, end: Infinity });
      }
      return false;
    }
  }

  readonly #append = async (url: string): Promise<RegisterCall> => {
    const change = { kind: 'append', group: this.#group++ } as const;
    const answered = await engineKind.change(url, this.#table, change);
    if (answered.kind !== 'made') throw new Error(`an append was ${answered.kind}`);
    return { kind: 'next', version: answered.version };
  };

  readonly #readers: readonly ((url: string) => Promise<RegisterCall>)[] = [
    async (url) => {
      const { json } = await send(url, `POST /v1/table/${this.#table}/describe`, { body: {} });
      return { kind: 'newest', version: Number(json['version']) };
    },
    async (url) => ({ kind: 'list', versions: await versionsOf(url, this.#table) }),
    async (url) => {
      const version = 1 + this.#random(this.calls.length + 2);
      const line = `POST /v1/table/${this.#table}/version/describe`;
      const { status } = await send(url, line, { body: { version } });
      expect([200, 404]).toContain(status);
      return { kind: 'has', version, found: status === 200 };
    },
  ];
}

async function start(onRedis: boolean): Promise<void> {
  redis = onRedis ? await RedisServer.start() : undefined;
  const flags = redis === undefined ? [] : ['--redis', redis.url];
  const first = await Service.start({ flags });
  services.push(first, await Service.beside(first, { flags }));
}

/** One history; every second time one of the gateways is killed on the way. */
async function recorded(
  table: string,
  seed: number,
  killed: Service | undefined,
): Promise<History> {
  const random = randomOf(seed);
  const history = new History(table, random);
  await engineKind.create(services[0]!.url, table);
  const urls = services.map(({ url }) => url);
  const clients = range(CLIENTS).map((client) => history.client(urls, client));
  if (killed !== undefined) {
    await sleep(20 + random(60));
    await killed.end('SIGKILL');
  }
  await Promise.all(clients);
  await killed?.restart();
  return history;
}

describe('the register of versions', () => {
  it.each([
    ['the embedded store', false],
    ['Redis', true],
  ])(`is linearisable through two gateways on %s (seed ${SEED})`, async (_, onRedis) => {
    await start(onRedis);
    for (const number of range(HISTORIES)) {
      const killed = number % 2 === 0 ? undefined : services[number % services.length];
      const { calls } = await recorded(`t${number}`, SEED + number, killed);
      const written = calls.filter(({ call }) => call.kind === 'next').length;
      expect(written).toBeGreaterThan(CLIENTS);
      expect(linearise(calls, 1), JSON.stringify(calls)).toBeDefined();
    }
  });
});
