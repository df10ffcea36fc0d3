import { resolve } from 'node:path';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { LocalStorage } from '../../storage/local-storage.ts';
import { StoreError } from '../store-error.ts';
import type { RedisAddress } from './address.ts';

/** A connection to Redis: to one server, or to all of a cluster. */
export type RedisClient = Redis | Cluster;

/** Called with the availability of Redis when it changes. */
export type OnAvailability = (isAvailable: boolean) => void;

/** Timeout of a command, in ms. */
export const REDIS_COMMAND_MILLIS = 2000;
export const REDIS_CONNECT_MILLIS = 2000;
const DISCONNECT_MILLIS = 100;
const LONGEST_PAUSE = 1000;
/**
 * Shortest pause before a cluster is connected again, in ms. A connection that ends while the names
 * of a cluster are looked up would end its client for good, so the old ones must have ended by then.
 */
const CLUSTER_PAUSE = 3 * DISCONNECT_MILLIS;

/**
 * Connects, and reconnects whenever the connection is lost. Without a connection commands
 * fail at once; nothing is queued. The client sends no command twice, because only the
 * store knows which commands may be repeated.
 * @param onAvailability Called when Redis becomes unavailable, and when it is available again.
 * @throws StoreError address when the file of certificates cannot be read.
 */
export async function connectRedis(
  address: RedisAddress,
  onAvailability: OnAvailability = () => undefined,
): Promise<RedisLink> {
  const client = clientOf(address, await authoritiesOf(address));
  // Without a listener a connection error would end the process; commands report it as well.
  client.on('error', () => undefined);
  follow(client, onAvailability);
  return new RedisLink(client);
}

/** Reports each change once, however often the client tries to connect. */
function follow(client: RedisClient, onAvailability: OnAvailability): void {
  let isAvailable = true;
  const note = (now: boolean): void => {
    if (now !== isAvailable) onAvailability(now);
    isAvailable = now;
  };
  client.on('ready', () => note(true));
  // This event means that the connection was lost; a connection closed here ends instead.
  client.on('reconnecting', () => note(false));
}

function clientOf(address: RedisAddress, ca: Buffer | undefined): RedisClient {
  const { kind, hosts, database: db, master: name, tls } = address;
  const secured = tls ? { tls: ca === undefined ? {} : { ca } } : {};
  const common = { ...commonOptions(address), ...secured };
  if (kind === 'cluster') {
    return new Cluster([...hosts], {
      enableOfflineQueue: false,
      clusterRetryStrategy: (times) => Math.max(CLUSTER_PAUSE, pause(times)),
      redisOptions: common,
    });
  }
  const options = { ...common, db, retryStrategy: pause, enableOfflineQueue: false };
  if (kind === 'single') return new Redis({ ...options, ...hosts[0] });
  const sentinelTls = tls ? { sentinelTLS: secured.tls ?? {}, enableTLSForSentinelMode: true } : {};
  return new Redis({
    ...options,
    ...sentinelTls,
    name,
    sentinels: [...hosts],
    sentinelRetryStrategy: pause,
  });
}

function commonOptions({ username, password }: RedisAddress) {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    commandTimeout: REDIS_COMMAND_MILLIS,
    connectTimeout: REDIS_CONNECT_MILLIS,
    disconnectTimeout: DISCONNECT_MILLIS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // After a failover the old master refuses writes: reconnect to the new one.
    reconnectOnError: (error) => codeOf(error) === 'READONLY',
  } satisfies RedisOptions;
}

async function authoritiesOf({ authorities: path }: RedisAddress): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await new LocalStorage().read(resolve(path), 'all');
  } catch {
    throw new StoreError('address', `the file of Redis's certificates cannot be read: ${path}`);
  }
}

function pause(times: number): number {
  return Math.min(50 * times, LONGEST_PAUSE);
}

/** Code of an error reply of Redis: its first word. */
export function codeOf(error: unknown): string {
  return error instanceof Error ? (error.message.split(' ', 1)[0] ?? '') : '';
}

/** Whether an error is an error reply of Redis. */
export function isAnswered(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** A connection to Redis that is replaced when an answer is overdue. */
export class RedisLink {
  readonly client: RedisClient;
  #leaving = false;

  constructor(client: RedisClient) {
    this.client = client;
    client.on('close', () => {
      this.#leaving = false;
    });
  }

  /** Whether commands can be sent now. */
  get ready(): boolean {
    return this.client.status === 'ready' && !this.#leaving;
  }

  /** Replaces the connection: a stopped server keeps connections open, only a new one shows whether it answers. */
  leave(): void {
    if (!this.ready) return;
    this.#leaving = true;
    this.client.disconnect(true);
  }

  /** Waits until commands can be sent, up to a timeout. @returns Whether they can. */
  async untilReady(millis: number): Promise<boolean> {
    if (this.ready) return true;
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.client.off('ready', settle);
        resolve(this.ready);
      };
      const timer = setTimeout(settle, millis);
      this.client.once('ready', settle);
    });
  }
}
