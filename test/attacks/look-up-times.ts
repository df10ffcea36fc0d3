import { Agent } from 'node:http';
import { expect } from 'vitest';
import { send } from '../service/http.ts';
import { absentKey, hiddenKey, KEYS, type Format, type TwoWorlds } from './two-worlds.ts';

/** A request that looks for one key. */
export interface LookUp {
  readonly name: string;
  readonly format: Format;
  readonly action: string;
  readonly body: (key: number) => object;
  /** Whether it takes tens of milliseconds. */
  readonly isSlow: boolean;
}

const byFilter = (filter: (key: number) => string) => (key: number) => ({
  vector: [],
  filter: filter(key),
});

const lookUpsOf = (format: Format, kind: string): readonly LookUp[] =>
  readsOf(kind).map((read) => ({ ...read, format, isSlow: format === 'lance' }));

const readsOf = (kind: string): readonly Pick<LookUp, 'name' | 'action' | 'body'>[] => [
  { name: `${kind}, query`, action: 'query', body: byFilter((key) => `id = ${key}`) },
  {
    name: `${kind}, query of an expression`,
    action: 'query',
    body: byFilter((key) => `id + 0 = ${key} AND 100 / amount > 0`),
  },
  {
    name: `${kind}, count`,
    action: 'count_rows',
    body: (key) => ({ predicate: `id = ${key}` }),
  },
  {
    name: `${kind}, plan`,
    action: 'explain_plan',
    body: (key) => ({ query: { vector: [], filter: `id = ${key}` } }),
  },
];

export const lookUps: readonly LookUp[] = [
  ...lookUpsOf('arrow', 'engine'),
  {
    name: 'engine, delete',
    format: 'arrow',
    isSlow: true,
    action: 'delete',
    body: (key) => ({ predicate: `id = ${key}` }),
  },
  {
    name: 'engine, update',
    format: 'arrow',
    isSlow: true,
    action: 'update',
    body: (key) => ({ predicate: `id = ${key}`, updates: [['amount', '5']] }),
  },
  ...lookUpsOf('lance', 'Lance'),
];

/** Medians of look-ups of hidden and of absent keys in ms, by rounds, and the middle one of their ratios. */
export interface Ratio {
  readonly name: string;
  readonly hidden: readonly number[];
  readonly absent: readonly number[];
  readonly ratio: number;
}

/** Times look-ups of hidden and absent keys in turn, one client on one connection. All find the same. */
export async function timedLookUps(
  worlds: TwoWorlds,
  lookUp: LookUp,
  rounds: number,
  times: number,
): Promise<Ratio> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const medians = { hidden: [] as number[], absent: [] as number[] };
  const once = onceOf(worlds, lookUp, agent);
  // Nothing is in memory before.
  for (let at = 0; at < 5; at++) await once(absentKey(at));
  for (let round = 0; round < rounds; round++) {
    const [hidden, absent]: [number[], number[]] = [[], []];
    for (let time = 0; time < times; time++) {
      const at = (round * times + time * 37) % KEYS;
      const pairs = [
        [hidden, hiddenKey(at)],
        [absent, absentKey(at)],
      ] as const;
      for (const [into, key] of time % 2 === 0 ? pairs : pairs.toReversed()) {
        into.push(await once(key));
      }
    }
    medians.hidden.push(median(hidden));
    medians.absent.push(median(absent));
  }
  agent.destroy();
  const ratios = medians.hidden.map((value, round) => value / medians.absent[round]!);
  return { name: lookUp.name, ...medians, ratio: median(ratios) };
}

/** A look-up, and how long it took in ms. Every answer has the same status. */
function onceOf({ service, key: caller }: TwoWorlds, lookUp: LookUp, agent: Agent) {
  const { format, action, body } = lookUp;
  const line = `POST /v1/table/${format}0/${action}`;
  return async (key: number): Promise<number> => {
    const sent = { key: caller, agent, body: body(key) };
    const began = performance.now();
    const { status } = await send(service.url, line, sent);
    const millis = performance.now() - began;
    expect(status).toBe(200);
    return millis;
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}
