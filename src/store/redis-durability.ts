import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-client.ts';

/** A setting of Redis, the values that keep what was acknowledged, and what any other means. */
const settings: readonly {
  readonly name: string;
  readonly good: readonly string[];
  readonly means: (value: string) => string;
}[] = [
  {
    name: 'appendonly',
    good: ['yes'],
    means: () => 'it keeps no append-only file (appendonly no)',
  },
  {
    name: 'appendfsync',
    good: ['always'],
    means: (value) => `it answers before the append-only file is on disk (appendfsync ${value})`,
  },
  {
    name: 'maxmemory-policy',
    good: ['noeviction'],
    means: (value) => `it may throw keys away (maxmemory-policy ${value})`,
  },
];

/**
 * Why this Redis may lose what it acknowledged; undefined when it does not.
 * One that does not tell its settings is not trusted.
 */
export async function weaknessOf(client: RedisClient): Promise<string | undefined> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  if (nodes.length === 0) return 'Redis does not answer';
  const found = await Promise.all(nodes.map(weaknessOfNode));
  const first = found.find((each) => each !== undefined);
  return first === undefined ? undefined : `Redis may lose acknowledged changes: ${first}`;
}

async function weaknessOfNode(node: Redis): Promise<string | undefined> {
  try {
    for (const { name, good, means } of settings) {
      const value = await settingOf(node, name);
      if (value === undefined) return `it does not tell its setting ${name}`;
      if (!good.includes(value)) return means(value);
    }
    return undefined;
  } catch {
    return 'it does not tell its settings';
  }
}

async function settingOf(node: Redis, name: string): Promise<string | undefined> {
  const answer = await node.config('GET', name);
  return Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : undefined;
}
