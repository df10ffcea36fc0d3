import type { IncomingMessage } from 'node:http';
import { stringify } from 'yaml';
import { BUCKET_CREDENTIALS, type BucketServer } from '../../support/bucket-server.ts';
import { FaultyProxy, type Mishap } from '../../support/faulty-proxy.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { Service } from '../../support/service.ts';
import { SilentProxy } from '../../support/silent-proxy.ts';

const { id, secret } = BUCKET_CREDENTIALS;

/** A gateway on a data folder of its own, and its ways to the Redis and the bucket that it shares with others. */
export class BucketGateway {
  readonly service: Service;
  readonly bucket: FaultyProxy;
  readonly redis: SilentProxy;

  private constructor(service: Service, bucket: FaultyProxy, redis: SilentProxy) {
    this.service = service;
    this.bucket = bucket;
    this.redis = redis;
  }

  static async start(server: BucketServer, redis: RedisServer): Promise<BucketGateway> {
    const toBucket = await FaultyProxy.before(server.endpoint);
    const toRedis = await SilentProxy.before(redis.port);
    const store = {
      name: 'lake',
      url: `s3://${server.bucket}/shared`,
      endpoint: toBucket.url,
      path_style: true,
      credentials_env: 'LAKE',
    };
    const config = stringify({
      coordination: { redis: `redis://127.0.0.1:${toRedis.port}` },
      object_stores: [store],
      journal: 'lake:/catalog',
      locations: { managed: 'lake:/lance' },
      tables: { format: 'lance' },
    });
    const variables = { LAKE_ACCESS_KEY_ID: id, LAKE_SECRET_ACCESS_KEY: secret };
    return new BucketGateway(await Service.start({ config, variables }), toBucket, toRedis);
  }

  /** Nothing comes to Redis any more, nor any answer from it. */
  cutFromRedis(): void {
    this.redis.shut = true;
    this.redis.silence();
  }

  /** The same happens to every request to the bucket from now on. */
  cutFromBucket(mishap: Mishap): void {
    this.bucket.fate = () => mishap;
  }

  /** Whatever was cut off is reached again. */
  heal(): void {
    this.redis.shut = false;
    this.bucket.fate = () => undefined;
    this.bucket.release();
  }

  /** Calls back once, when a request comes that a step is about; its return value is what happens to the request. */
  atStep(isMeant: (request: IncomingMessage) => boolean, then: () => Mishap | undefined): void {
    this.bucket.fate = (request) => {
      if (!isMeant(request)) return undefined;
      this.bucket.fate = () => undefined;
      return then();
    };
  }

  async stop(): Promise<void> {
    this.heal();
    await this.service.end('SIGKILL');
    await this.service.stop();
    await this.redis.close();
    await this.bucket.close();
  }
}
