import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAll } from '../audit/records.ts';
import { send } from '../service/http.ts';
import type { Random } from '../service/random.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { childrenOf, isStopped, signalAll } from '../support/processes.ts';
import { canStop, flagsOf, killSteps, KillPlans, type KillPlan } from './kill-plan.ts';
import type { TableKind } from './table-kind.ts';
import { Writers } from './writers.ts';

/** Writers on each table. */
const WRITERS = 3;
/** A gateway that has not come to its step by then is killed where it is, in milliseconds. */
const PATIENCE_MILLIS = 1500;
/** Gateways that are killed at any moment live so long at most, in milliseconds. */
const MOMENTS_MILLIS = 400;

/** Staged manifests, and files that were not renamed. */
const STAGED = /\/_versions\/[^/]*\.manifest.+$|\/_refs\/.*\.tmp$/;

export interface LaneOptions {
  readonly redis: boolean;
  /** How many gateways serve the folder. */
  readonly gateways: number;
  readonly kinds: readonly TableKind[];
  readonly random: Random;
  /** The text of `arrowgate.yaml`; no such file when absent. */
  readonly config?: string;
  /**
   * Whether processes of the Lance library are killed as well, and compactions run beside the writers, some of
   * which are killed.
   */
  readonly library?: boolean;
}

/** A gateway of a lane, and the flags that its next start gets. */
interface Gateway {
  readonly service: Service;
  readonly nodeFlags: string[];
  plan: KillPlan | undefined;
}

/** One catalog with its gateways, tables and writers, through one kill after the other. */
export class Lane {
  readonly writers: readonly Writers[];
  /** How many kills there were. */
  kills = 0;
  /** How many stops there were. */
  stops = 0;
  /** The steps at which there was a kill or a stop. */
  readonly steps = new Set<string>();
  /** Where the last one was. */
  last = '';
  readonly #options: LaneOptions;
  readonly #redis: RedisServer | undefined;
  readonly #plans: KillPlans;
  readonly #gateways: Gateway[] = [];

  private constructor(options: LaneOptions, redis: RedisServer | undefined) {
    const { kinds, random, library = false } = options;
    this.#options = options;
    this.#redis = redis;
    const has = (what: string): boolean => kinds.some(({ name }) => name.startsWith(what));
    const steps = { redis: options.redis, branches: has('branches'), tags: has('tags'), library };
    this.#plans = new KillPlans(killSteps(steps), random);
    this.writers = kinds.map((kind, at) => new Writers(kind, `t${at}`, random));
  }

  static async open(options: LaneOptions): Promise<Lane> {
    const redis = options.redis ? await RedisServer.start() : undefined;
    const lane = new Lane(options, redis);
    try {
      await lane.#start();
    } catch (error) {
      await lane.close();
      throw error;
    }
    return lane;
  }

  /** The process that serves the lane first. */
  get service(): Service {
    return this.#gateways[0]!.service;
  }

  /** Kills one gateway while writers are at work, starts it again and answers what is wrong then. */
  async round(): Promise<readonly string[]> {
    const { random, library = false } = this.#options;
    const victim = this.#gateways[random(this.#gateways.length)]!;
    if (library && random(2) === 0) return this.#libraryRound(victim, 'SIGKILL', 0);
    const stop = new AbortController();
    const working = this.#work(stop.signal);
    await this.#kill(victim);
    // Those of the other gateways continue while nobody tidies up after the dead one.
    if (this.#gateways.length > 1) await sleep(random(100));
    stop.abort();
    for (const writers of this.writers) await writers.cut();
    await working;
    const early = await this.#faultsOfOthers(victim);
    await this.#revive(victim);
    return [...early, ...(await this.#faults(victim, this.#gateways.length === 1))];
  }

  /**
   * Stops one gateway by SIGSTOP while writers are at work, lets it continue after a while, and answers
   * what is wrong then. The requests to the others have ended before it continues.
   */
  async stopRound(millis: number): Promise<readonly string[]> {
    const victim = this.#gateways[this.#options.random(this.#gateways.length)]!;
    const stop = new AbortController();
    const own = this.#workOn(victim, stop.signal);
    const others = this.#gateways
      .filter((gateway) => gateway !== victim)
      .map((gateway) => this.#workOn(gateway, stop.signal));
    await this.#halt(victim);
    await sleep(millis);
    stop.abort();
    await Promise.all(others);
    // It may come to its step once more, and stop itself again.
    const going = setInterval(() => signalAll([victim.service.pid], 'SIGCONT'), 100);
    const faults: string[] = [];
    let code: number | null;
    try {
      await own;
      faults.push(...(await this.#faultsOfOthers(victim)), ...(await this.#faults(victim, false)));
      code = await victim.service.end();
    } finally {
      clearInterval(going);
    }
    await this.#restart(victim);
    return code === 0 ? faults : [...faults, `a gateway ended with ${code} after a stop`];
  }

  /**
   * Stops the processes of the library of one gateway by SIGSTOP while writers are at work, for as long as nobody
   * ends them, and answers what is wrong then.
   */
  async libraryStopRound(millis: number): Promise<readonly string[]> {
    return this.#libraryRound(this.#gateways[0]!, 'SIGSTOP', millis);
  }

  /** Sends a signal to the processes of the library of a gateway, which goes on. */
  async #libraryRound(
    victim: Gateway,
    signal: 'SIGKILL' | 'SIGSTOP',
    millis: number,
  ): Promise<readonly string[]> {
    const { random } = this.#options;
    const stop = new AbortController();
    const working = this.#work(stop.signal);
    const compaction = this.#compact(victim);
    await sleep(20 + random(MOMENTS_MILLIS));
    const pids = await libraryProcesses(victim);
    signalAll(pids, signal);
    await sleep(millis + random(MOMENTS_MILLIS));
    stop.abort();
    await working;
    await compaction;
    this.last = `${signal} of the library`;
    this.kills += 1;
    const left = signal === 'SIGSTOP' ? await stoppedOf(pids) : [];
    const faults = left.map((pid) => `the stopped process ${pid} of the library is still there`);
    return [...faults, ...(await this.#faults(victim, false))];
  }

  /** Runs `catalog compact`, sometimes, and kills it, sometimes. */
  async #compact({ service }: Gateway): Promise<void> {
    const { random } = this.#options;
    if (random(2) === 0) return;
    const running = new AbortController();
    const flags = this.#redis === undefined ? [] : ['--redis', this.#redis.url];
    const ended = service.commandUntil(running.signal, 'catalog', 'compact', ...flags);
    if (random(2) === 0) {
      await sleep(random(3000));
      running.abort();
    }
    const { code, err } = await ended;
    // A table that writers change all the time is passed over.
    if (code === 1 && err.includes('was changed meanwhile')) return;
    if (code !== null && code !== 0) throw new Error(`catalog compact ended with ${code}: ${err}`);
  }

  /** What took effect without a record of an attempt at it. */
  async unrecorded(): Promise<readonly string[]> {
    const audit = await readAll(join(this.service.data, 'private', 'audit'));
    const found = this.writers.map((writers) => writers.unrecorded(this.service.url, audit));
    return (await Promise.all(found)).flat();
  }

  /** What `catalog verify` says when nothing runs; nothing when all is well. */
  async verify(): Promise<string> {
    for (const { service } of this.#gateways) await service.end();
    const flags = this.#redis === undefined ? [] : ['--redis', this.#redis.url];
    const { code, out, err } = await this.service.command('catalog', 'verify', ...flags);
    return code === 0 ? '' : `${out}${err}`;
  }

  /** Removes what nothing needs, and answers the staged manifests and tags, and folders of branches, that are left. */
  async staged(): Promise<readonly string[]> {
    const flags = this.#redis === undefined ? [] : ['--redis', this.#redis.url];
    const gc = ['catalog', 'gc', '--policies', this.service.policies, '--older-than', '0s'];
    const said: string[] = [];
    for (let times = 0; times < 2; times++) {
      const { code, err } = await this.service.command(...gc, ...flags);
      if (code !== 0) said.push(err);
    }
    const names = await readdir(this.service.data, { recursive: true });
    return [...said, ...names.filter((name) => STAGED.test(name))];
  }

  async close(): Promise<void> {
    for (const writers of this.writers) await writers.cut();
    for (const { service } of this.#gateways.toReversed()) await service.stop();
    await this.#redis?.stop();
  }

  async #start(): Promise<void> {
    for (let at = 0; at < this.#options.gateways; at++) {
      const nodeFlags: string[] = [];
      const { config } = this.#options;
      const flags = this.#redis === undefined ? [] : ['--redis', this.#redis.url];
      const first = this.#gateways[0]?.service;
      const service = await (first === undefined
        ? Service.start({ nodeFlags, flags, ...(config !== undefined && { config }) })
        : Service.beside(first, { nodeFlags, flags }));
      this.#gateways.push({ service, nodeFlags, plan: undefined });
    }
    for (const writers of this.writers) await writers.create(this.service.url);
  }

  async #work(stop: AbortSignal): Promise<void> {
    await Promise.all(this.#gateways.map((gateway) => this.#workOn(gateway, stop)));
  }

  async #workOn({ service: { url } }: Gateway, stop: AbortSignal): Promise<void> {
    const working = this.writers.flatMap((writers) =>
      Array.from({ length: WRITERS }, () => writers.work(url, stop)),
    );
    await Promise.all(working);
  }

  /** Waits until a gateway has stopped itself at its step; without one, or when it never comes there, stops it. */
  async #halt({ service, plan }: Gateway): Promise<void> {
    const { random } = this.#options;
    this.last = 'stopped at any moment';
    if (plan === undefined) {
      await sleep(20 + random(MOMENTS_MILLIS));
    } else {
      // It may stop itself before it answers.
      void send(service.url, 'GET /healthz?armed', { key: null }).catch(() => undefined);
      if (await stopsItself(service.pid)) this.#reached(plan);
    }
    process.kill(service.pid, 'SIGSTOP');
    this.stops += 1;
  }

  /** Starts a gateway that stops itself at another step. */
  async #restart(gateway: Gateway): Promise<void> {
    do gateway.plan = this.#plans.next();
    while (!canStop(gateway.plan));
    const flags = flagsOf(gateway.plan, this.#redis?.port ?? 0, 'SIGSTOP');
    gateway.nodeFlags.splice(0, Infinity, ...flags);
    await gateway.service.restart();
  }

  /** Waits until a gateway has come to its step; without one, or when it never comes there, kills it. */
  async #kill({ service, plan }: Gateway): Promise<void> {
    const { random } = this.#options;
    const ended = service.ended();
    this.last = 'at any moment';
    if (plan === undefined) await sleep(20 + random(MOMENTS_MILLIS));
    else {
      await send(service.url, 'GET /healthz?armed', { key: null }).catch(() => undefined);
      const late = new AbortController();
      const byItself = ended.then(() => true);
      const tooLate = sleep(PATIENCE_MILLIS, false, { signal: late.signal }).catch(() => false);
      if (await Promise.race([byItself, tooLate])) this.#reached(plan);
      late.abort();
    }
    await service.end('SIGKILL');
    this.kills += 1;
  }

  /** Starts a gateway again, perhaps several times: it may be killed while it starts. */
  async #revive(gateway: Gateway): Promise<void> {
    for (;;) {
      gateway.plan = this.#plans.next();
      gateway.nodeFlags.splice(0, Infinity, ...flagsOf(gateway.plan, this.#redis?.port ?? 0));
      try {
        await gateway.service.restart();
        // A step that did not come up while it started comes no more.
        if (gateway.plan?.since === 'start') gateway.plan = undefined;
        return;
      } catch (error) {
        if (gateway.plan?.since !== 'start') throw error;
        this.#reached(gateway.plan);
        this.kills += 1;
      }
    }
  }

  #reached({ step, when }: KillPlan): void {
    this.last = `${when} ${step}`;
    this.steps.add(this.last);
  }

  /** The others serve without the dead one being started again. */
  async #faultsOfOthers(victim: Gateway): Promise<readonly string[]> {
    const other = this.#gateways.find((gateway) => gateway !== victim);
    return other === undefined ? [] : this.#faults(other, false);
  }

  async #faults({ service }: Gateway, final: boolean): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const writers of this.writers) faults.push(...(await writers.faults(service.url, final)));
    return faults;
  }
}

/** Processes of the library that a gateway has. */
async function libraryProcesses({ service }: Gateway): Promise<readonly number[]> {
  return childrenOf(Number(service.said['pid'] ?? service.pid));
}

/** Those of some processes that are still stopped. */
async function stoppedOf(pids: readonly number[]): Promise<readonly number[]> {
  const stopped = await Promise.all(pids.map(isStopped));
  return pids.filter((_, at) => stopped[at]);
}

/** Whether a process comes to stop itself in time. */
async function stopsItself(pid: number): Promise<boolean> {
  for (const until = Date.now() + PATIENCE_MILLIS; Date.now() < until; await sleep(5)) {
    if (await isStopped(pid)) return true;
  }
  return false;
}
