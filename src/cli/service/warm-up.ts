import { randomBytes } from 'node:crypto';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino, type Logger } from 'pino';
import type { Drain } from '../../gateway/drain.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { listen } from '../../gateway/server.ts';
import { Metrics } from '../../gateway/telemetry/metrics.ts';
import { descriptorLimit } from '../../storage/descriptors.ts';
import { ProcessScratch, removeScratch } from '../../store/process-scratch.ts';
import { parseConfig } from '../config/config.ts';
import { programVersion } from '../output/version.ts';
import { Opened, type Start } from './opened.ts';
import { WarmUpClient } from './warm-up-client.ts';
import { warmUpRequests } from './warm-up-requests.ts';

const POLICIES = fileURLToPath(new URL('../../../policies/', import.meta.url));
const POLICY_FILES = ['model.conf', 'policy.csv'];
const KEY_BYTES = 32;
/** Idle time before the warm-up begins, in ms. */
const BEGIN_MILLIS = 40;
/** Idle time before it continues after a client's request, in ms: longer than a client thinks about an answer. */
const QUIET_MILLIS = 250;
/** Time limit of the warm-up, in ms: the requests of clients have warmed the process by then. */
const MOST_MILLIS = 30_000;
/** A process that may open fewer files is not warmed up: the second catalog needs some forty descriptors. */
const FEWEST_DESCRIPTORS = 256;
const HEADER_BYTES = 16 * 1024;
const DRAIN_MILLIS = 1000;

interface WarmUpOptions {
  /** Requests of clients, which go first. */
  readonly traffic: Pick<Drain, 'size' | 'begun'>;
  /** Opens a gateway, as the service does. */
  readonly compose: (start: Start) => Promise<Gateway>;
  readonly log: Logger;
}

/**
 * Runs the code of a process that has just started, so that V8 compiles it before clients need it. A second gateway
 * answers requests over a Unix socket. Its catalog, policy, audit log and metrics are its own, in a temporary folder,
 * which is removed. Requests of clients go first: the warm-up pauses until they end. A failure is logged and
 * ends the warm-up.
 */
export class WarmUp {
  readonly #options: WarmUpOptions;
  readonly #end = new AbortController();
  readonly #done: Promise<void>;
  /** Number of requests of clients at the last look. */
  #seen = -1;

  constructor(options: WarmUpOptions) {
    this.#options = options;
    this.#done = descriptorLimit < FEWEST_DESCRIPTORS ? Promise.resolve() : this.#run();
  }

  /** Ends it. Resolves once nothing of it is left. Never rejects. */
  stop(): Promise<void> {
    this.#end.abort();
    return this.#done;
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    const start = performance.now();
    try {
      const requests = await this.#inFolder();
      const millis = Math.round(performance.now() - start);
      log.debug({ requests, millis }, 'the process is warmed up');
    } catch (error) {
      if (!this.#end.signal.aborted) log.info({ err: error }, 'the warm-up ended early');
    }
  }

  async #inFolder(): Promise<number> {
    const signal = AbortSignal.any([this.#end.signal, AbortSignal.timeout(MOST_MILLIS)]);
    await this.#quiet(signal);
    const scratch = new ProcessScratch('arrowgate-warm-up');
    await scratch.opened();
    const folder = scratch.make();
    const opened = new Opened();
    opened.add(() => removeScratch(folder));
    try {
      return await this.#ask(await this.#serve(folder, opened), opened, signal);
    } finally {
      await opened.close();
    }
  }

  /** Opens the second gateway. */
  async #serve(folder: string, opened: Opened): Promise<Served> {
    const policies = join(folder, 'policies');
    await mkdir(policies);
    for (const name of POLICY_FILES) await copyFile(join(POLICIES, name), join(policies, name));
    const key = randomBytes(KEY_BYTES).toString('base64url');
    const gateway = await this.#options.compose({
      config: { ...parseConfig('the warm-up', configText(folder, policies)), admin_key: key },
      log: pino({ level: 'silent' }),
      output: { watched: false, line: nothing, bytes: async () => false, note: nothing },
      opened,
      metrics: new Metrics(programVersion(), false),
      certificate: undefined,
      followsPolicy: false,
    });
    const socket = join(folder, 'socket');
    const limits = {
      headerBytes: HEADER_BYTES,
      idleMillis: MOST_MILLIS,
      drainMillis: DRAIN_MILLIS,
    };
    const server = await listen(gateway, { ...limits, host: '', port: 0, socket });
    opened.add(() => server.stop());
    return { socket, key };
  }

  async #ask({ socket, key }: Served, opened: Opened, signal: AbortSignal): Promise<number> {
    const client = new WarmUpClient(socket, key, signal);
    opened.add(() => client.close());
    let asked = 0;
    for (const request of warmUpRequests()) {
      await this.#quiet(signal);
      await client.ask(request);
      asked += 1;
    }
    return asked;
  }

  /** Resolves when the process has been idle for a moment; at once if no request of a client came since the last call. */
  async #quiet(signal: AbortSignal): Promise<void> {
    const { traffic } = this.#options;
    while (traffic.size > 0 || traffic.begun !== this.#seen) {
      this.#seen = traffic.begun;
      const millis = traffic.begun === 0 ? BEGIN_MILLIS : QUIET_MILLIS;
      await sleep(millis, undefined, { signal, ref: false });
    }
    signal.throwIfAborted();
  }
}

/** The second gateway. */
interface Served {
  /** Path of the socket. */
  readonly socket: string;
  /** An administrator's key. */
  readonly key: string;
}

const nothing = (): void => undefined;

/** A configuration without work in the background, without threads and without other processes. */
function configText(folder: string, policies: string): string {
  return JSON.stringify({
    data: join(folder, 'data'),
    policies,
    workers: 0,
    lance: { engine: 'off' },
    compaction: { fragments: null },
    scrub: { rate: null },
  });
}
