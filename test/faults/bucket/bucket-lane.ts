import { setTimeout as sleep } from 'node:timers/promises';
import { range } from '../../service/insert-ledger.ts';
import { send } from '../../service/http.ts';
import type { Random } from '../../service/random.ts';
import { BucketServer } from '../../support/bucket-server.ts';
import { eventually } from '../../support/eventually.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { bucketFiles } from '../../support/client-files.ts';
import { libraryRowsKind } from '../library-rows-kind.ts';
import { managedBatchKindOn } from '../managed-batch-kind.ts';
import { managedKindOn } from '../managed-kind.ts';
import { Writers } from '../writers.ts';
import { BucketGateway } from './bucket-gateway.ts';
import { troubles, type TroubleMaker } from './bucket-troubles.ts';

/** Writers of each table on each gateway. */
const WRITERS = 2;

/** Two gateways that share nothing but Redis and a bucket, through one trouble after the other. */
export class BucketLane {
  readonly gateways: readonly BucketGateway[];
  readonly writers: readonly Writers[];
  readonly redis: RedisServer;
  kills = 0;
  /** Requests to the bucket that met a fault, and partitions. */
  faults = 0;
  rounds = 0;
  /** What happened last. */
  last = '';
  readonly #server: BucketServer;
  readonly #random: Random;

  private constructor(
    server: BucketServer,
    redis: RedisServer,
    gateways: readonly BucketGateway[],
    random: Random,
  ) {
    this.#server = server;
    this.redis = redis;
    this.gateways = gateways;
    this.#random = random;
    const files = bucketFiles(server);
    const kinds = [libraryRowsKind, managedKindOn(files), managedBatchKindOn(files)];
    this.writers = kinds.map((kind, at) => new Writers(kind, `t${at}`, random));
  }

  static async open(random: Random): Promise<BucketLane> {
    const server = await BucketServer.start('seaweedfs');
    const redis = await RedisServer.start();
    const first = await BucketGateway.start(server, redis);
    const second = await BucketGateway.start(server, redis);
    const lane = new BucketLane(server, redis, [first, second], random);
    for (const writers of lane.writers) await writers.create(first.service.url);
    return lane;
  }

  /** The most changes that were acknowledged to the writers of one table. */
  get acknowledged(): number {
    return Math.min(...this.writers.map(({ accounts }) => accounts.acknowledged));
  }

  /** Lets one gateway meet a trouble while writers are at work on both; gives what is wrong then. */
  async round(maker?: TroubleMaker): Promise<readonly string[]> {
    const victim = this.gateways[this.#random(this.gateways.length)];
    const meets = maker ?? troubles[this.rounds % troubles.length];
    if (victim === undefined || meets === undefined) throw new Error('there is no trouble');
    this.rounds += 1;
    const working = this.work();
    const trouble = await meets(victim, this.#random);
    this.last = trouble.text;
    this.faults += trouble.faults;
    await sleep(this.#random(200));
    victim.heal();
    await working.stop();
    if (trouble.isKilled) {
      this.kills += 1;
      const others = this.gateways.filter((gateway) => gateway !== victim);
      for (const other of others) await this.#settled(other);
      await victim.service.restart();
    }
    return this.faultsOfAll(false);
  }

  /** Lets writers work on all gateways until they are stopped. */
  work(): { readonly stop: () => Promise<void> } {
    const stop = new AbortController();
    const working = this.gateways.flatMap(({ service }) =>
      this.writers.flatMap((writers) =>
        range(WRITERS).map(() => writers.work(service.url, stop.signal)),
      ),
    );
    const ended = Promise.all(working);
    // It is awaited after the trouble.
    ended.catch(() => undefined);
    return {
      async stop() {
        stop.abort();
        await ended;
      },
    };
  }

  /** What is wrong with the tables, as each gateway shows them. No writer may be at work. */
  async faultsOfAll(final: boolean): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const gateway of this.gateways) {
      await this.#settled(gateway);
      for (const writers of this.writers) {
        faults.push(...(await writers.faults(gateway.service.url, final)));
      }
    }
    return faults;
  }

  /** Waits until a gateway answers for all tables. */
  async #settled({ service: { url } }: BucketGateway): Promise<void> {
    await eventually(async () => {
      for (const [at] of this.writers.entries()) {
        for (const path of [`t${at}/version/list?limit=1`, `t${at}/describe`]) {
          const { status, text } = await send(url, `POST /v1/table/${path}`, { body: {} });
          if (status !== 200) throw new Error(`${path} was answered ${status} ${text}`);
        }
      }
      const { status, text } = await send(url, 'POST /v1/table/t0/count_rows', { body: {} });
      if (status !== 200) throw new Error(`t0 cannot be read: ${status} ${text}`);
    });
  }

  /** What `catalog verify` says on each gateway when nothing runs; nothing when all is well. */
  async verify(): Promise<string> {
    const said: string[] = [];
    for (const { service } of this.gateways) await service.end();
    for (const { service } of this.gateways) {
      const { code, out, err } = await service.command('catalog', 'verify');
      if (code !== 0) said.push(`${out}${err}`);
    }
    return said.join('');
  }

  async close(): Promise<void> {
    for (const gateway of this.gateways) await gateway.stop();
    await this.redis.stop();
    await this.#server.stop();
  }
}
