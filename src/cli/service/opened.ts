import type { Logger } from 'pino';
import type { Certificate } from '../../gateway/http/certificate.ts';
import type { IdentifyHost } from '../../gateway/identity/host-identity.ts';
import type { Metrics } from '../../gateway/telemetry/metrics.ts';
import type { Config } from '../config/config-table.ts';
import type { Output } from '../output/output.ts';

/** Opened resources, which are closed in reverse order, each once. */
export class Opened {
  readonly #closers: (() => Promise<void> | void)[] = [];

  /** Remembers how to close something. */
  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  /** Closes everything; a close that fails does not keep the others from it. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed');
  }
}

/** The parts of a gateway. */
export interface Start {
  readonly config: Config;
  readonly log: Logger;
  readonly output: Output;
  readonly opened: Opened;
  readonly metrics: Metrics;
  readonly certificate: Certificate | undefined;
  /** Whether changes of the policy take effect; absent for yes. */
  readonly followsPolicy?: boolean;
  /** The program around the gateway, if it authenticates callers. */
  readonly identify?: IdentifyHost | undefined;
}
