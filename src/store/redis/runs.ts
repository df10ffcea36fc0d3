import { StoreError } from '../store-error.ts';
import type { Gate } from '../gate.ts';
import type { Argument } from './commit.ts';
import { codeOf, type RedisClient } from './client.ts';
import { digestFor, sourcesFor, STATE, type RedisScript } from './scripts.ts';

/** Maximum number of attempts to find a server whose run does not change meanwhile. */
const ATTEMPTS = 5;

/** The guard refused the server; `cause` is its error. */
export class GuardRefusal extends Error {
  constructor(cause: unknown) {
    super('the store is refused', { cause });
    this.name = 'Refusal';
  }
}

/**
 * Runs scripts on a checked run of a server. Each run has its own scripts, so a server that
 * took over or restarted does not execute scripts for another run.
 */
export class RedisRuns {
  readonly #client: RedisClient;
  readonly #keys: readonly string[];
  readonly #gate: Gate;
  readonly #digests = new Map<RedisScript, string>();
  #run: string | undefined;
  #finding: Promise<void> | undefined;
  #fixed = false;

  constructor(client: RedisClient, keys: readonly string[], gate: Gate) {
    this.#client = client;
    this.#keys = keys;
    this.#gate = gate;
  }

  /** Requires a new check, because the server may have been replaced while the connection was lost. */
  leave(): void {
    if (this.#run !== undefined) this.#left(this.#run);
  }

  /** A view of the same run that does not follow to another run. */
  pinned(gate: Gate): RedisRuns {
    const view = new RedisRuns(this.#client, this.#keys, gate);
    view.#run = this.#run;
    view.#fixed = true;
    return view;
  }

  /** Runs a script on a checked run. */
  async call(script: RedisScript, sent: readonly Argument[]): Promise<unknown> {
    for (;;) {
      const run = await this.#looked();
      try {
        return await this.#evaluate(script, run, sent);
      } catch (error) {
        if (codeOf(error) !== 'NOSCRIPT') throw error;
        this.#left(run);
      }
    }
  }

  /** The current run after its check. */
  async #looked(): Promise<string> {
    if (this.#run === undefined) await (this.#finding ??= this.#find());
    while (!this.#gate.isOpen) await this.#look();
    // The run may have changed during the check.
    return this.#run ?? this.#looked();
  }

  async #look(): Promise<void> {
    try {
      await this.#gate.pass();
    } catch (error) {
      throw new GuardRefusal(error);
    }
  }

  #left(run: string): void {
    if (this.#fixed) throw new StoreError('unavailable', 'Redis has changed its server');
    if (this.#run !== run) return;
    this.#run = undefined;
    this.#digests.clear();
    this.#gate.shut();
  }

  async #find(): Promise<void> {
    try {
      this.#run = await this.#found();
    } finally {
      this.#finding = undefined;
    }
  }

  /** Loads the scripts into the server. @returns Its run. */
  async #found(): Promise<string> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const run = runOf(await this.#evalSource(STATE.source, ['']));
      await Promise.all(sourcesFor(run).map((source) => this.#evalSource(source, [])));
      if (runOf(await this.#evaluate(STATE, run, [''])) === run) return run;
    }
    throw new StoreError('unavailable', 'Redis changes its servers all the time');
  }

  #evalSource(source: string, sent: readonly Argument[]): Promise<unknown> {
    return this.#client.callBuffer('EVAL', [source, this.#keys.length, ...this.#keys, ...sent]);
  }

  #evaluate(script: RedisScript, run: string, sent: readonly Argument[]): Promise<unknown> {
    const digest = this.#digest(script, run);
    return this.#client.callBuffer('EVALSHA', [digest, this.#keys.length, ...this.#keys, ...sent]);
  }

  #digest(script: RedisScript, run: string): string {
    const cached = this.#digests.get(script);
    if (cached !== undefined) return cached;
    const digest = digestFor(script, run);
    if (run === this.#run) this.#digests.set(script, digest);
    return digest;
  }
}

function runOf(state: unknown): string {
  const run: unknown = Array.isArray(state) ? state[1] : undefined;
  return Buffer.isBuffer(run) ? run.toString() : '';
}
