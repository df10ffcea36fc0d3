import cluster from 'node:cluster';
import type { Metrics, MetricValues } from '../../gateway/telemetry/metrics.ts';

/** How long a process may take to tell its metrics; one that is busy for longer is left out. */
export const PROCESS_METRICS_MILLIS = 2000;

/** Messages about metrics between the processes and their supervisor. */
type Message =
  | { readonly metrics: 'ask'; readonly request: number }
  | { readonly metrics: 'tell'; readonly round: number }
  | { readonly metrics: 'report'; readonly round: number; readonly values: MetricValues }
  | { readonly metrics: 'all'; readonly request: number; readonly all: readonly MetricValues[] };

/**
 * Aggregates the metrics of several processes, because a client cannot choose the process that answers.
 */
export function joinMetrics(metrics: Metrics): void {
  if (!cluster.isWorker) return;
  const waiting = new Map<number, (all: readonly MetricValues[]) => void>();
  let lastRequest = 0;
  process.on('message', (message: unknown) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'tell') void sendMetrics(metrics, message.round);
    if (message.metrics === 'all') waiting.get(message.request)?.(message.all);
  });
  metrics.together(
    () =>
      new Promise((resolve) => {
        const request = (lastRequest += 1);
        const done = (all: readonly MetricValues[]): void => {
          waiting.delete(request);
          clearTimeout(timer);
          resolve(all);
        };
        // The supervisor answers sooner, unless it is gone.
        const timer = setTimeout(() => {
          done([]);
        }, 2 * PROCESS_METRICS_MILLIS);
        waiting.set(request, done);
        sendToSupervisor({ metrics: 'ask', request });
      }),
  );
}

/** In the supervisor: collects the metrics of all processes when one requests them. */
export function relayMetrics(): void {
  const rounds = new Map<number, (values: MetricValues) => void>();
  let last = 0;
  cluster.on('message', (worker, message: unknown) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'report') rounds.get(message.round)?.(message.values);
    if (message.metrics !== 'ask') return;
    const { request } = message;
    const round = (last += 1);
    const others = Object.values(cluster.workers ?? {}).filter((each) => each?.isConnected());
    const all: MetricValues[] = [];
    const done = (): void => {
      if (!rounds.delete(round)) return;
      clearTimeout(timer);
      if (worker.isConnected()) worker.send({ metrics: 'all', request, all } satisfies Message);
    };
    const timer = setTimeout(done, PROCESS_METRICS_MILLIS);
    rounds.set(round, (values) => {
      all.push(values);
      if (all.length === others.length) done();
    });
    for (const each of others) each?.send({ metrics: 'tell', round } satisfies Message);
  });
}

async function sendMetrics(metrics: Metrics, round: number): Promise<void> {
  sendToSupervisor({ metrics: 'report', round, values: await metrics.values() });
}

function sendToSupervisor(message: Message): void {
  if (process.connected) process.send?.(message);
}

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message;
}
