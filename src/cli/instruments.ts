import type { Logger } from 'pino';
import type { Engine } from '../engine/engine.ts';
import type { EngineReadings } from '../engine/readings.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { MetricName } from '../gateway/metric-table.ts';
import type { Metrics } from '../gateway/metrics.ts';
import { readinessSamples } from '../gateway/readiness.ts';
import type { Traces } from '../gateway/traces.ts';
import type { Config } from './config-table.ts';
import { programVersion } from './version.ts';

const readings: Readonly<Partial<Record<MetricName, keyof EngineReadings>>> = {
  cacheBytes: 'cacheBytes',
  cacheCapacity: 'cacheCapacity',
  commits: 'commits',
  compactions: 'compactions',
  lookups: 'lookups',
  workers: 'workers',
  workerTasks: 'tasks',
};

/** Has everything read that is only read when somebody asks for the metrics. */
export function readInstruments(metrics: Metrics, gateway: Gateway, engine: Engine): void {
  metrics.source('inFlight', () => [{ value: gateway.drain.size }]);
  metrics.source('policyInfo', () => [
    { labels: { digest: gateway.policy.current().digest }, value: 1 },
  ]);
  metrics.source('ready', () => readinessSamples(gateway));
  for (const [name, reading] of Object.entries(readings)) {
    metrics.source(name as MetricName, () => {
      const value = engine.readings()?.[reading];
      return value === undefined ? [] : [{ value }];
    });
  }
}

/** Traces to the collector of the configuration; what sends them is loaded for nobody else. */
export async function openTraces(
  config: Config,
  metrics: Metrics,
  log: Logger,
): Promise<Traces | undefined> {
  const endpoint = config['telemetry.otlp_endpoint'];
  if (endpoint === null) return undefined;
  const { otlpTraces } = await import('../gateway/otlp-traces.ts');
  let lost = false;
  return otlpTraces({
    endpoint,
    version: programVersion(),
    counted: (result, spans) => {
      metrics.count('spans', result, spans);
      if (result === 'lost' && !lost) log.warn('the collector of traces takes none; they are lost');
      lost = result === 'lost';
    },
  });
}
