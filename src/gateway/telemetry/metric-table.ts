/** How often, and how long: a histogram of seconds. */
export class MetricTally {
  readonly #counts = new Float64Array(buckets.length + 1);
  #sum = 0;

  add(seconds: number): void {
    this.#sum += seconds;
    let at = 0;
    while (at < buckets.length && seconds > buckets[at]!) at += 1;
    this.#counts[at]! += 1;
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    return this.#counts.reduce((total, count) => total + count, 0);
  }

  /** How many were at most as long as each bound, in the order of the bounds. */
  get atMost(): readonly number[] {
    let total = 0;
    return buckets.map((_, at) => (total += this.#counts[at]!));
  }
}

export interface MetricRow {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  /** How the values of several processes are aggregated. */
  readonly across: 'sum' | 'max' | 'min';
}

const ofRequest = ['operation', 'decision', 'backend', 'status'];

function counter(name: string, labels: readonly string[], help: string): MetricRow {
  return { name: `arrowgate_${name}`, type: 'counter', labels, help, across: 'sum' };
}

function gauge(
  name: string,
  labels: readonly string[],
  help: string,
  across: MetricRow['across'] = 'sum',
): MetricRow {
  return { name: `arrowgate_${name}`, type: 'gauge', labels, help, across };
}

function histogram(name: string, labels: readonly string[], help: string): MetricRow {
  return { name: `arrowgate_${name}`, type: 'histogram', labels, help, across: 'sum' };
}

/**
 * The gateway's own metrics. Labels have few values: operations are those of the
 * operation table, backends those of the configuration, the status is its class
 * (`2xx`), and no subject and no object is ever one.
 */
export const metricTable = {
  requests: counter('requests_total', ofRequest, 'Requests to the protocol that have ended.'),
  duration: histogram(
    'request_duration_seconds',
    ofRequest,
    'Time from the arrival of a request to the end of its answer.',
  ),
  bytesIn: counter('request_bytes_total', ['operation'], 'Bytes of the bodies of requests.'),
  bytesOut: counter('response_bytes_total', ['operation'], 'Bytes of the bodies of answers.'),
  inFlight: gauge('requests_in_flight', [], 'Requests that are being answered now.'),
  auditWrites: counter('audit_writes_total', ['result'], 'Audit records, by ok or failed.'),
  auditFlush: histogram(
    'audit_flush_seconds',
    [],
    'Time until an audit record that is waited for was on stable storage.',
  ),
  policyReloads: counter(
    'policy_reloads_total',
    ['result'],
    'New states of the policy files, by ok or refused.',
  ),
  canaries: counter(
    'canary_requests_total',
    ['freeze'],
    'Requests that name a canary of restrictions.yaml, by whether it freezes API keys: yes or no.',
  ),
  shadowDifferences: counter(
    'shadow_differences_total',
    ['decision'],
    'Requests that the shadow policy decides differently, by what it says.',
  ),
  policyDigests: gauge(
    'policy_digests',
    [],
    'Different policies among the running gateways of the catalog: 1 if all agree.',
    'max',
  ),
  policyInfo: gauge('policy_info', ['digest'], 'The policy in force: always 1.', 'max'),
  ready: gauge(
    'ready',
    ['part'],
    'Health of a part of the gateway: 1, or 0. /readyz has the reason.',
    'min',
  ),
  certificateExpiry: gauge(
    'certificate_expiry_seconds',
    [],
    'When the certificate of the listener ends, in seconds since 1970; absent without TLS.',
    'min',
  ),
  keyFaults: counter(
    'key_faults_total',
    ['kind'],
    'Faults of API keys in Redis, each time one is found: forged, missing or older than what was acknowledged.',
  ),
  keyExpiry: gauge(
    'key_expiry_seconds',
    [],
    'When the next API key expires, in seconds since 1970; absent if none will.',
    'min',
  ),
  cacheBytes: gauge('cache_bytes', [], 'Memory that is spent on what is read often.'),
  cacheCapacity: gauge('cache_capacity_bytes', [], 'Memory for what is read often (cache.bytes).'),
  commits: counter('table_versions_total', [], 'Versions of tables that the engine committed.'),
  compactions: counter('compactions_total', [], 'Runs of small files that were merged.'),
  lookups: counter('index_lookups_total', [], 'Times that an index found the rows of a file.'),
  damagedFiles: counter(
    'damaged_files_total',
    ['kind'],
    'Files of tables that a read found damaged, each counted once: data, deletions, indices, manifest.',
  ),
  scrubFinished: gauge(
    'scrub_finished_seconds',
    [],
    'When all files were last compared with their checksums in the background, in seconds since 1970; 0 for never.',
    'max',
  ),
  workers: gauge('workers', [], 'Threads for heavy work that there may be.'),
  workerTasks: gauge('worker_tasks', [], 'Tasks that threads work on or that wait for them.'),
  clockSkew: gauge(
    'clock_skew_seconds',
    [],
    'Difference of the clocks of this machine and of Redis; 0 with the embedded store.',
    'max',
  ),
  storeDamage: counter(
    'store_damage_total',
    ['kind'],
    'Damaged parts of the store, each counted once: by value, keys (a group of keys) or part.',
  ),
  writeTimeouts: counter(
    'store_write_timeouts_total',
    [],
    'Changes that were refused because another process did not let them write to the embedded store.',
  ),
  writeWait: gauge(
    'store_write_wait_seconds',
    [],
    'Duration of the present wait for another process that writes to the embedded store; 0 if there is none.',
    'max',
  ),
  spans: counter('spans_total', ['result'], 'Spans of traces, by exported or lost.'),
  info: gauge('info', ['version'], 'The running program: always 1.', 'max'),
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricTable;

/** Upper bounds of the buckets of every histogram, in seconds. */
export const buckets: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];
