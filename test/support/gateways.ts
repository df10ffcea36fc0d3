import { RedisServer } from './redis-server.ts';
import { Service } from './service.ts';

export const sharedStores = ['embedded', 'redis'] as const;

/** Two gateways on one data folder, as two machines or two services of one would be. */
export interface Gateways {
  readonly a: Service;
  readonly b: Service;
  /** The Redis that they share, where they do. */
  readonly redis: RedisServer | undefined;
  stop(): Promise<void>;
}

/** Starts two gateways on one fresh data folder. */
export async function startGateways(store: (typeof sharedStores)[number]): Promise<Gateways> {
  const redis = store === 'redis' ? await RedisServer.start() : undefined;
  const flags = redis === undefined ? [] : ['--redis', redis.url];
  const a = await Service.start({ flags });
  const b = await Service.start({
    flags: [...flags, '--data', a.data, '--policies', a.policies],
  });
  const stop = async (): Promise<void> => {
    await b.stop();
    await a.stop();
    await redis?.stop();
  };
  return { a, b, redis, stop };
}
