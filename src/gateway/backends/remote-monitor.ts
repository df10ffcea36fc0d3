import type { Logger } from 'pino';
import type { CircuitBreaker } from '../../storage/circuit-breaker.ts';
import type { Probe, TrustProbe } from './trust-probe.ts';

/** Pauses between health checks of an available and an unavailable backend, in ms. */
const WELL_MILLIS = 10_000;
const AWAY_MILLIS = 2_000;

interface MonitorOptions {
  readonly name: string;
  readonly probe: TrustProbe;
  readonly breaker: CircuitBreaker;
  readonly log: Logger;
  /** Whether the gateway has a credential of its own there. */
  readonly credential: boolean;
}

/**
 * Checks a backend regularly: whether it answers, and whether it refuses contradicting bodies, as
 * a backend without a permit must. Until the first check it counts as unavailable and untrusted.
 */
export class RemoteMonitor {
  readonly #options: MonitorOptions;
  #fault: string | undefined = 'was not probed yet';
  #distrust: string | undefined = 'it was not probed yet';
  #logged: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: MonitorOptions) {
    this.#options = options;
  }

  /** Why it cannot answer; undefined while it can. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Why its checks of bodies are not trusted; undefined if they are. */
  get distrust(): string | undefined {
    return this.#distrust;
  }

  /** Starts the checks. Resolves after the first one. */
  async start(): Promise<void> {
    await this.#check();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    const was = this.#fault;
    const mismatch = await this.#options.probe.mismatch();
    this.#fault = faultOf(mismatch);
    if (typeof mismatch.status === 'string') this.#options.breaker.note(false);
    else if (this.#fault === undefined) await this.#judge(mismatch, was !== undefined);
    this.#log();
    if (this.#stopped) return;
    const pause = this.#fault === undefined ? WELL_MILLIS : AWAY_MILLIS;
    this.#timer = setTimeout(() => void this.#check(), pause);
    this.#timer.unref();
  }

  async #judge(mismatch: Probe, returned: boolean): Promise<void> {
    this.#options.breaker.note(true);
    const distrust = mismatchFault(mismatch);
    // Made-up credentials are sent once: the backend may count failures.
    if (distrust === undefined && (returned || this.#distrust !== undefined)) {
      this.#distrust = await this.#identityFault();
    } else {
      this.#distrust = distrust;
    }
  }

  async #identityFault(): Promise<string | undefined> {
    const { probe, credential } = this.#options;
    const other = await probe.otherIdentity();
    if (other.status === 401) return 'it prefers an identity in the body to that in the headers';
    const alone = credential ? await probe.bodyIdentity() : { status: 401 };
    return alone.status === 401 || alone.status === 400
      ? undefined
      : `it answered ${alone.status} to a request whose only credential was in the body`;
  }

  /** Logs changes. */
  #log(): void {
    const { name, log } = this.#options;
    const { fault, distrust } = this;
    const now = fault ?? distrust;
    if (now === this.#logged && now !== undefined) return;
    const first = this.#logged === undefined;
    this.#logged = now;
    if (fault !== undefined) log.warn({ backend: name, fault }, 'a backend is unavailable');
    else if (distrust !== undefined) {
      log.warn({ backend: name, distrust }, 'a backend gets only operations that need no trust');
    } else if (first) return;
    else log.info({ backend: name }, 'a backend is available and trusted');
  }
}

function faultOf({ status }: Probe): string | undefined {
  if (typeof status === 'string') return status;
  if (status === 401) return "does not accept the gateway's own credential";
  return status >= 500 ? `answers ${status}` : undefined;
}

function mismatchFault({ status }: Probe): string | undefined {
  if (status === 400) return undefined;
  return status === 403
    ? 'its credential may not describe the tables that it serves, so it was not probed'
    : `it answered ${status} to a body that names another table than the route`;
}
