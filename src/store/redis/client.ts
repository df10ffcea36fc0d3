import { resolve } from 'node:path';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { LocalStorage } from '../../storage/local-storage.ts';
import { StoreError } from '../store-error.ts';
import type { RedisAddress } from './address.ts';

/** A connection to Redis: to one server, or to all of a cluster. */
export type RedisClient = Redis | Cluster;

/** Told whether Redis is available, whenever that changes. */
export type OnAvailability = (isAvailable: boolean) => void;

/** A command that is not answered by then has failed, in milliseconds. */
const COMMAND_MILLIS = 2000;
const CONNECT_MILLIS = 2000;
const DISCONNECT_MILLIS = 100;
const LONGEST_PAUSE = 1000;

/**
 * Connects, and continues doing so whenever the connection is lost. Nothing is
 * queued while there is none: a command then fails at once. No command is sent
 * twice by the client, since only the store knows which may be.
 * @param onAvailability Called when Redis becomes unavailable, and when it is available again.
 * @throws StoreError address when the file of certificates cannot be read.
 */
export async function connectRedis(
  address: RedisAddress,
  onAvailability: OnAvailability = () => undefined,
): Promise<RedisLink> {
  const client = clientOf(address, await authoritiesOf(address));
  // Without a listener an error of the connection would end the process; commands say it, too.
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
  // One that waits to try again has lost its connection; one that was closed here has ended.
  client.on('reconnecting', () => note(false));
}

function clientOf(address: RedisAddress, ca: Buffer | undefined): RedisClient {
  const { kind, hosts, database: db, master: name, tls } = address;
  const secured = tls ? { tls: ca === undefined ? {} : { ca } } : {};
  const common = { ...commonOptions(address), ...secured };
  if (kind === 'cluster') {
    return new Cluster([...hosts], {
      enableOfflineQueue: false,
      clusterRetryStrategy: pause,
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
    commandTimeout: COMMAND_MILLIS,
    connectTimeout: CONNECT_MILLIS,
    disconnectTimeout: DISCONNECT_MILLIS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // After a failover the old master takes no writes: look for the new one.
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

/** The code of an error that Redis answered: its first word. */
export function codeOf(error: unknown): string {
  return error instanceof Error ? (error.message.split(' ', 1)[0] ?? '') : '';
}

/** Whether an error is one that Redis answered. */
export function isAnswered(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** A connection to Redis that is left for a new one when an answer is overdue. */
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

  /** A server that was stopped keeps its connections and says nothing: a new one shows whether it is there. */
  leave(): void {
    if (!this.ready) return;
    this.#leaving = true;
    this.client.disconnect(true);
  }

  /** Waits until commands can be sent, or so long. */
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
