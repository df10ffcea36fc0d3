import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import {
  buckets,
  metricTable,
  MetricTally,
  type MetricName,
  type MetricRow,
} from './metric-table.ts';

type Labels = Readonly<Record<string, string>>;

/** A value of a metric, read at each scrape. */
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** Reads values at a scrape. */
type MetricSource = () => readonly Sample[] | Promise<readonly Sample[]>;

/** A request that has ended, as the metrics know it: by names of which there are few. */
interface Ended {
  /** Name of the operation table; null for a request that named none. */
  readonly operation: string | null;
  readonly decision: string;
  readonly backend: string;
  readonly status: number;
  readonly seconds: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

interface Requests {
  readonly labels: Labels;
  readonly tally: MetricTally;
  bytesIn: number;
  bytesOut: number;
}

/** Every metric of one process, as another can add them to its own. */
export type MetricValues = readonly object[];

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** Counts what the gateway does. To count a request is one look into a map. */
export class Metrics {
  readonly #process = new Registry();
  readonly #requests = new Map<string, Requests>();
  /** The last counted kind of request: the next one is mostly of the same kind. */
  #last: { readonly of: Ended; readonly entry: Requests } | undefined;
  readonly #counts = new Map<MetricName, Map<string, number>>();
  readonly #flushes = new MetricTally();
  readonly #sources = new Map<MetricName, MetricSource>();
  #others: () => Promise<readonly MetricValues[]> = async () => [await this.values()];

  /** @param ofProcess Whether Node's own metrics are among them; they are measured until the process ends. */
  constructor(version: string, ofProcess = true) {
    if (ofProcess) collectDefaultMetrics({ register: this.#process });
    this.source('info', () => [{ labels: { version }, value: 1 }]);
  }

  /** Counts a request that has ended. */
  ended(request: Ended): void {
    const entry = this.#entry(request);
    entry.tally.add(request.seconds);
    entry.bytesIn += request.bytesIn;
    entry.bytesOut += request.bytesOut;
  }

  /** Counts something that happened, by the value of the metric's label. */
  count(name: MetricName, value: string, times = 1): void {
    let counts = this.#counts.get(name);
    if (counts === undefined) this.#counts.set(name, (counts = new Map<string, number>()));
    counts.set(value, (counts.get(value) ?? 0) + times);
  }

  /** Counts an audit record that was waited for. */
  flushed(seconds: number): void {
    this.#flushes.add(seconds);
  }

  /** Registers a metric that is read at each scrape. */
  source(name: MetricName, source: MetricSource): void {
    this.#sources.set(name, source);
  }

  /** Reports the values of all processes that serve together, instead of only this one. */
  together(all: () => Promise<readonly MetricValues[]>): void {
    this.#others = all;
  }

  /** The text of Prometheus. */
  async text(): Promise<string> {
    const all = await this.#others();
    return AggregatorRegistry.aggregate(all.map((values) => [...values])).metrics();
  }

  /** The values of this process. */
  async values(): Promise<MetricValues> {
    const own = await Promise.all(
      Object.keys(metricTable).map(async (name) => {
        const metric = name as MetricName;
        return family(metricTable[metric], await this.#samples(metric));
      }),
    );
    const ofProcess = await this.#process.getMetricsAsJSON();
    return [...own, ...ofProcess.map(sharedMetric)];
  }

  #entry(request: Ended): Requests {
    const last = this.#last;
    if (last !== undefined && isAlike(last.of, request)) return last.entry;
    const entry = this.#found(request);
    this.#last = { of: request, entry };
    return entry;
  }

  #found({ operation, decision, backend, status }: Ended): Requests {
    const kind = `${Math.floor(status / 100)}xx`;
    const key = `${operation} ${decision} ${kind} ${backend}`;
    const cached = this.#requests.get(key);
    if (cached !== undefined) return cached;
    const labels = { operation: operation ?? 'none', decision, backend, status: kind };
    const entry = { labels, tally: new MetricTally(), bytesIn: 0, bytesOut: 0 };
    this.#requests.set(key, entry);
    return entry;
  }

  async #samples(name: MetricName): Promise<readonly Placed[]> {
    const requests = [...this.#requests.values()];
    if (name === 'requests') {
      return requests.map(({ labels, tally }) => ({ labels, value: tally.count }));
    }
    if (name === 'duration') return requests.flatMap(({ labels, tally }) => spread(labels, tally));
    if (name === 'bytesIn' || name === 'bytesOut') {
      return requests.map((entry) => ({
        labels: { operation: entry.labels['operation'] ?? '' },
        value: entry[name],
      }));
    }
    if (name === 'auditFlush') return spread({}, this.#flushes);
    const source = this.#sources.get(name);
    if (source !== undefined) return source();
    const [label = ''] = metricTable[name].labels;
    const counts = this.#counts.get(name) ?? new Map<string, number>();
    return [...counts].map(([value, count]) => ({ labels: { [label]: value }, value: count }));
  }
}

/** Whether two requests are certainly counted together. */
function isAlike(one: Ended, other: Ended): boolean {
  return (
    one.operation === other.operation &&
    one.status === other.status &&
    one.decision === other.decision &&
    one.backend === other.backend
  );
}

/** A sample that may have a name of its own, as the parts of a histogram have. */
interface Placed extends Sample {
  readonly part?: string;
}

/** The lines of a histogram. */
function spread(labels: Labels, tally: MetricTally): readonly Placed[] {
  const { atMost, count, sum } = tally;
  return [
    ...buckets.map((bound, at) => ({
      part: '_bucket',
      labels: { ...labels, le: String(bound) },
      value: atMost[at]!,
    })),
    { part: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { part: '_sum', labels, value: sum },
    { part: '_count', labels, value: count },
  ];
}

/** The library omits values that cannot be added, such as start times: the first is used. */
function sharedMetric(metric: { readonly aggregator: string }): object {
  return metric.aggregator === 'omit' ? { ...metric, aggregator: 'min' } : metric;
}

/** A metric in the form in which the library adds up those of several processes. */
function family({ name, type, help, across }: MetricRow, samples: readonly Placed[]): object {
  const values = samples.map(({ part, labels = {}, value }) => ({
    ...(part === undefined ? {} : { metricName: name + part }),
    labels,
    value,
  }));
  return { name, type, help, aggregator: across, values };
}
