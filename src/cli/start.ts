import type { Logger } from 'pino';
import type { Certificate } from '../gateway/certificate.ts';
import type { Metrics } from '../gateway/metrics.ts';
import type { Config } from './config-table.ts';
import type { Output } from './output.ts';
import type { Opened } from './opened.ts';

/** What a gateway is put together from. */
export interface Start {
  readonly config: Config;
  readonly log: Logger;
  readonly output: Output;
  readonly opened: Opened;
  readonly metrics: Metrics;
  readonly certificate: Certificate | undefined;
}
