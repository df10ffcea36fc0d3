import type { Random } from '../service/random.ts';

/** A step of a gateway's work at which it is killed: see `steps.mjs`. */
export interface KillPlan {
  readonly step: string;
  readonly when: 'before' | 'within' | 'after';
  /** Ordinal among the steps of its kind, from 1. */
  readonly count: number;
  /** Whether steps count while it starts, or once writers are at work. */
  readonly since: 'start' | 'armed';
}

const MODULE = new URL('./steps.mjs', import.meta.url).href;

/** What a commit does that can be cut in the middle. */
const WRITES = ['write rows', 'write manifest', 'write journal', 'write audit'];

/** The other steps of a commit, in their order. */
const CALLS = [
  'make rows',
  'flush rows',
  'flush rows folder',
  'make manifest',
  'flush manifest',
  'flush manifest folder',
  'make journal',
  'flush journal',
  'rename manifest',
  'link manifest',
  'remove manifest',
  'make audit',
  'flush audit',
  'answer client',
];

/** What branches of a Lance table need beside their commits. */
const BRANCHES = ['rename branch note', 'remove branch note', 'remove branch folder'];

/** What tags of a Lance table need beside their commits. */
const TAGS = ['rename tag note', 'remove tag note', 'flush tag folder'];

/** Steps of the engine with the rows of its own tables. */
const BY_ENGINE = new Set([
  'write rows',
  'write manifest',
  'make rows',
  'make manifest',
  'flush rows folder',
]);

/** Of these a process does one. */
const ONCE = new Set(['make journal', 'make audit']);

/** What a gateway does when it starts: it writes down what a dead one has left in the store. */
const STARTS = ['flush audit', 'flush journal folder', 'flush journal', 'rename process'];

const REDIS = ['send redis', 'receive redis'];

/** A step without its ordinal. */
export type KillStep = Omit<KillPlan, 'count'>;

/** What a lane does, as far as the steps depend on it. */
interface LaneWork {
  readonly redis: boolean;
  readonly branches: boolean;
  readonly tags: boolean;
  /** Whether the library writes the rows of all tables. */
  readonly library: boolean;
}

/** Every step at which a gateway of a store is killed, in the order of a commit. */
export function killSteps({ redis, branches, tags, library }: LaneWork): readonly KillStep[] {
  const calls = [
    ...CALLS,
    ...(redis ? REDIS : []),
    ...(branches ? BRANCHES : []),
    ...(tags ? TAGS : []),
  ].filter((step) => !library || !BY_ENGINE.has(step));
  const writes = WRITES.filter((step) => !library || !BY_ENGINE.has(step));
  return [
    ...writes.flatMap((step) => stepsOf(step, ['before', 'within', 'after'], 'armed')),
    ...calls.flatMap((step) => stepsOf(step, ['before', 'after'], 'armed')),
    ...STARTS.flatMap((step) => stepsOf(step, ['after'], 'start')),
  ];
}

function stepsOf(
  step: string,
  moments: readonly KillPlan['when'][],
  since: KillPlan['since'],
): readonly KillStep[] {
  return moments.map((when) => ({ step, when, since }));
}

/** The steps one after the other in an order of chance, each time at another occurrence; between them none, for a kill at any moment. */
export class KillPlans {
  readonly #steps: readonly KillStep[];
  readonly #random: Random;
  #next = 0;

  constructor(steps: readonly KillStep[], random: Random) {
    this.#steps = shuffled(steps, random);
    this.#random = random;
  }

  /** The next plan; undefined for a kill at any moment. */
  next(): KillPlan | undefined {
    if (this.#random(4) === 0) return undefined;
    const step = this.#steps[this.#next++ % this.#steps.length]!;
    const once = step.since === 'start' || ONCE.has(step.step);
    return { ...step, count: once ? 1 : 1 + this.#random(6) };
  }
}

function shuffled<Value>(values: readonly Value[], random: Random): readonly Value[] {
  const keyed = values.map((value) => ({ value, key: random(2 ** 31) }));
  return keyed.toSorted((left, right) => left.key - right.key).map(({ value }) => value);
}

/** Whether a process may be stopped at a step and continue: half of a write would stay half. */
export function canStop(plan: KillPlan | undefined): boolean {
  return plan === undefined || (plan.since === 'armed' && plan.when !== 'within');
}

/** The flags of Node that make a gateway follow a plan. */
export function flagsOf(
  plan: KillPlan | undefined,
  redisPort: number,
  signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL',
): readonly string[] {
  if (plan === undefined) return [];
  const query = new URLSearchParams({
    ...plan,
    signal,
    count: String(plan.count),
    redis: String(redisPort),
  });
  return ['--import', `${MODULE}?${query.toString()}`];
}
