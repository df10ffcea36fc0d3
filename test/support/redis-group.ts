import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from './eventually.ts';
import { DURABLE, RedisServer } from './redis-server.ts';

/** How long a member may be silent before the others replace it, in ms. */
const SILENCE = 1000;
const SENTINELS = 3;
/** How long the members of a cluster may take to find each other, in ms. */
const JOIN_MILLIS = 120_000;

/** Servers of Redis of which a replica replaces a master that died. */
export interface RedisGroup {
  readonly url: string;
  /**
   * Cuts the replica off from the master of the catalog's keys, kills the master after some work, and
   * waits until the replica is master.
   * @returns Bytes of changes that the replica never received.
   */
  failOver(work: () => Promise<void>): Promise<number>;
  /**
   * Stops the master of the catalog's keys in the middle of what it does, once its replica has what was written before.
   * @returns Lets it go on.
   */
  standStill(): Promise<() => void>;
  stop(): Promise<void>;
}

/** A master with a replica, watched by three sentinels. */
export async function startSentinels(): Promise<RedisGroup> {
  const master = await RedisServer.start(DURABLE);
  const replica = await RedisServer.start([...DURABLE, '--replicaof', `127.0.0.1 ${master.port}`]);
  await following(replica);
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-sentinels-'));
  const sentinels: RedisServer[] = [];
  for (let at = 0; at < SENTINELS; at++) {
    const file = join(folder, `${at}.conf`);
    await writeFile(file, sentinelLines(master.port));
    sentinels.push(await RedisServer.start([file, '--sentinel']));
  }
  // A replica that no sentinel has heard of cannot be chosen, and a lone sentinel chooses none.
  for (const sentinel of sentinels) {
    await eventually(async () => {
      expectPart(await sentinel.command('SENTINEL', 'CKQUORUM', 'main'), 'OK 3 usable');
      expectPart(await sentinel.command('SENTINEL', 'REPLICAS', 'main'), String(replica.port));
    });
  }
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis+sentinel://${hosts}/main`,
    failOver: (work) => replaced(master, replica, work),
    standStill: () => stoodStill(master),
    async stop() {
      for (const each of [...sentinels, replica, master]) await each.stop();
      await rm(folder, { recursive: true });
    },
  };
}

function sentinelLines(port: number): string {
  return `sentinel monitor main 127.0.0.1 ${port} 2
sentinel down-after-milliseconds main ${SILENCE}
sentinel failover-timeout main 5000
`;
}

/** A cluster of three masters, each with a replica. */
export async function startCluster(): Promise<RedisGroup> {
  const flags = [
    '--cluster-enabled',
    'yes',
    '--cluster-announce-ip',
    '127.0.0.1',
    // A replica that was cut off for long may become master all the same.
    '--cluster-replica-validity-factor',
    '0',
  ];
  const nodes = await Promise.all(
    Array.from({ length: 6 }, () => RedisServer.start([...DURABLE, ...flags])),
  );
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const words = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'];
  await promisify(execFile)('redis-cli', words, { timeout: JOIN_MILLIS });
  for (const node of nodes) {
    await eventually(async () =>
      expectPart(await node.command('CLUSTER', 'INFO'), 'cluster_state:ok'),
    );
    // Only now: nodes that meet forget one that is silent for longer than this timeout.
    await node.command('CONFIG', 'SET', 'cluster-node-timeout', String(SILENCE));
  }
  return {
    url: `redis+cluster://${addresses.join(',')}`,
    async failOver(work) {
      const { master, replica } = await holders(nodes);
      await following(replica);
      return replaced(master, replica, work);
    },
    standStill: async () => stoodStill((await holders(nodes)).master),
    async stop() {
      for (const node of nodes) await node.stop();
    },
  };
}

/** The master that has keys, and its replica: all keys of a catalog are in one slot. */
async function holders(nodes: readonly RedisServer[]) {
  const facts = await Promise.all(
    nodes.map(async (node) => ({
      node,
      keys: Number(await node.command('DBSIZE')),
      role: (await node.command('ROLE')) as readonly unknown[],
    })),
  );
  const master = facts.find(({ role, keys }) => role[0] === 'master' && keys > 0);
  const replica = facts.find(({ role }) => role[0] === 'slave' && role[2] === master?.node.port);
  if (master === undefined || replica === undefined) throw new Error('no master holds the keys');
  return { master: master.node, replica: replica.node };
}

async function replaced(
  master: RedisServer,
  replica: RedisServer,
  work: () => Promise<void>,
): Promise<number> {
  replica.pause();
  await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
  const received = await offsetOf(master);
  await work();
  const lost = (await offsetOf(master)) - received;
  await master.kill();
  replica.resume();
  await eventually(async () => expectPart(await replica.command('ROLE'), 'master'));
  return lost;
}

async function stoodStill(master: RedisServer): Promise<() => void> {
  await eventually(async () => {
    const [, offset, replicas] = (await master.command('ROLE')) as readonly unknown[];
    expectPart(replicas, `"${Number(offset)}"`);
  });
  master.pause();
  return () => master.resume();
}

/** How many bytes of changes a master has written for its replicas. */
async function offsetOf(master: RedisServer): Promise<number> {
  const [, offset] = (await master.command('ROLE')) as readonly unknown[];
  return Number(offset);
}

async function following(replica: RedisServer): Promise<void> {
  await eventually(async () => expectPart(await replica.command('ROLE'), 'connected'));
}

function expectPart(answer: unknown, part: string): void {
  const text = JSON.stringify(answer);
  if (!text.includes(part)) throw new Error(`${part} is not in ${text}`);
}
