import { LAST_ARCHIVE_MILLIS } from '../src/audit/archive/background-archiving.ts';
import { RECORDS_EXPORT_MILLIS, RECORDS_FLUSH_MILLIS } from '../src/audit/exporter.ts';
import { backendTimeouts } from '../src/cli/config/config-backends.ts';
import { settings, type ConfigPath } from '../src/cli/config/config-table.ts';
import { KEY_MOVE_MILLIS } from '../src/cli/keys/keys-move.ts';
import { COUNT_MILLIS } from '../src/cli/processes/process-quota.ts';
import { RECALL_MILLIS } from '../src/cli/processes/shared-counters.ts';
import { PROCESS_METRICS_MILLIS } from '../src/cli/processes/shared-metrics.ts';
import { PROCESS_END_MILLIS } from '../src/cli/processes/supervisor.ts';
import { SETTLE_MILLIS } from '../src/cli/service/read-only.ts';
import { STORE_TRIAL_MILLIS } from '../src/cli/service/object-stores.ts';
import { FIRST_LOOK_MILLIS } from '../src/cli/service/open-backends.ts';
import { STORE_COMPARISON_MILLIS } from '../src/cli/service/store-integrity.ts';
import {
  MOMENT_ATTEMPTS,
  MOMENT_PAUSE_MILLIS,
} from '../src/engine/catalog/journal/journal-moment.ts';
import { CHECK_PAST_MILLIS } from '../src/console/catalog-calls.ts';
import { DESK_TASK_MILLIS } from '../src/console/policy/desk.ts';
import { INTEGRITY_MILLIS } from '../src/console/integrity.ts';
import { FOLLOW_MILLIS } from '../src/console/trail/follow.ts';
import { TRAIL_TASK_MILLIS } from '../src/console/trail/trail.ts';
import { COMMIT_ATTEMPTS } from '../src/engine/catalog/records/commit-loop.ts';
import { DESCRIPTOR_WAIT_MILLIS } from '../src/engine/format/memory/open-files.ts';
import { MEMORY_WAIT_MILLIS } from '../src/engine/format/memory/request-memory.ts';
import { VERDICT_SLACK_MILLIS } from '../src/engine/rules/shared-verdicts.ts';
import { JOB_LEASE_MILLIS } from '../src/engine/upkeep/jobs/job-runner.ts';
import { REFRESH_MILLIS } from '../src/engine/versions/leases/presence.ts';
import {
  HANDSHAKE_MILLIS,
  HEADERS_MILLIS,
  KEEP_ALIVE_MILLIS,
} from '../src/gateway/http/http-server.ts';
import { defaultLinger } from '../src/gateway/http/linger.ts';
import { KEY_LOCK_PAUSE_MILLIS, KEY_LOCK_TRIES } from '../src/gateway/identity/key-file.ts';
import { KEY_READING_MILLIS } from '../src/gateway/identity/key-ring.ts';
import { remoteTimes } from '../src/gateway/identity/remote-key-set.ts';
import { SPANS_EXPORT_MILLIS, SPANS_FLUSH_MILLIS } from '../src/gateway/otlp-traces.ts';
import { CUT_GRACE_MILLIS, LATE_BODY_MILLIS } from '../src/gateway/server.ts';
import { LIBRARY_WAIT_MILLIS } from '../src/lance/library-pool.ts';
import {
  LIBRARY_CANCEL_MILLIS,
  LIBRARY_SILENCE_MILLIS,
  LIBRARY_START_MILLIS,
} from '../src/lance/library-process.ts';
import { STORE_LOOK_MILLIS } from '../src/lance/store-looks.ts';
import { POLICY_READING_MILLIS } from '../src/policy/policy-reader.ts';
import { WEBHOOK_TIMEOUT } from '../src/policy/settings/commits.ts';
import { bucketLimits } from '../src/storage/bucket/bucket-calls.ts';
import { stsLimits } from '../src/storage/vending/sts-client.ts';
import { COMMIT_MILLIS } from '../src/store/embedded/store.ts';
import { REDIS_COMMAND_MILLIS, REDIS_CONNECT_MILLIS } from '../src/store/redis/client.ts';
import { QUOTA_ANSWER_MILLIS, SLOT_LEASE_MILLIS } from '../src/store/redis/quota.ts';
import { REDIS_COMMIT_MILLIS, REDIS_FIRST_MILLIS } from '../src/store/redis/store.ts';

/** One thing that the program waits for. */
export interface Wait {
  readonly what: string;
  /** The longest wait, as a reader sees it. */
  readonly bound: string;
  /** The key that sets the bound; absent if it is fixed. */
  readonly key?: string;
  /** What happens at the end. */
  readonly end: string;
  /** The files of `src/` that wait. */
  readonly files: readonly string[];
  /** The file of `test/` that provokes the end; absent if it cannot be provoked. */
  readonly test?: string;
}

/** A bound that a key of the configuration sets. */
function byKey(key: ConfigPath): Pick<Wait, 'bound' | 'key'> {
  return { bound: settings[key].shown, key };
}

function fixed(millis: number): Pick<Wait, 'bound'> {
  return { bound: millis % 1000 === 0 ? `${millis / 1000} s` : `${millis} ms` };
}

const refused = '503 code 17; nothing was changed';

/** Everything that the program waits for. Another process, machine or person may keep it waiting. */
export const waits: readonly Wait[] = [
  {
    what: 'reading of the policy files on a thread',
    ...fixed(POLICY_READING_MILLIS),
    end: 'the last good policy stays in force, `/readyz` says `degraded`; read again a second later',
    files: ['protocol/thread-run.ts'],
    test: 'protocol/thread-run.test.ts',
  },
  {
    what: 'reading of a large keys file on a thread',
    ...fixed(KEY_READING_MILLIS),
    end: 'the last good keys stay in force; read again',
    files: ['protocol/thread-run.ts'],
    test: 'protocol/thread-run.test.ts',
  },
  {
    what: 'search of the audit log for the console, on a thread',
    ...fixed(TRAIL_TASK_MILLIS),
    end: '400 code 13: choose a shorter period',
    files: ['console/trail/trail.ts'],
    test: 'console/trail.test.ts',
  },
  {
    what: 'work on the policy for the console, on a thread',
    ...fixed(DESK_TASK_MILLIS),
    end: '400 code 13: choose a shorter period',
    files: ['console/policy/desk.ts', 'console/policy-calls.ts'],
    test: 'console/policy-desk.test.ts',
  },
  {
    what: 'judging the past commits of a table for the console',
    ...fixed(CHECK_PAST_MILLIS),
    end: '400 code 13: use `arrowgate commits check`',
    files: ['console/catalog-calls.ts'],
  },
  {
    what: 'verification or evidence of the console',
    ...fixed(INTEGRITY_MILLIS),
    end: 'its thread ends; the answer says that it was broken off',
    files: ['console/integrity.ts'],
  },
  {
    what: 'following the audit log in the console',
    ...fixed(FOLLOW_MILLIS),
    end: 'the answer ends; the page follows again',
    files: ['console/trail/follow.ts'],
  },
  {
    what: 'file that can be opened, while the process has no descriptor left',
    ...fixed(DESCRIPTOR_WAIT_MILLIS),
    end: '503 code 17; nothing was changed',
    files: ['engine/format/memory/open-files.ts'],
    test: 'engine/format/memory/open-files.test.ts',
  },
  {
    what: 'turn of this process to write to the embedded store; opening it for writing',
    ...byKey('coordination.wait'),
    end: `${refused}, the process that has the turn is named; a start ends with exit code 2`,
    files: ['store/embedded/write-turn.ts', 'store/embedded/store.ts'],
    test: 'service/stopped-writer.test.ts',
  },
  {
    what: 'transaction of the embedded store that has begun',
    ...fixed(COMMIT_MILLIS),
    end: 'the outcome is read back; 503 code 17 if it stays unknown',
    files: ['store/embedded/store.ts'],
  },
  {
    what: 'connection to an object store',
    ...fixed(bucketLimits.connect),
    end: 'tried again until the deadline of the call',
    files: ['storage/bucket/bucket-client.ts'],
  },
  {
    what: 'one request to an object store with its answer, beyond 2 s for each MiB',
    ...fixed(bucketLimits.attempt),
    end: 'sent again until the deadline of the call',
    files: ['storage/bucket/bucket-calls.ts'],
    test: 'storage/bucket/bucket-faults.test.ts',
  },
  {
    what: 'call to an object store with its turn, all requests and pauses, beyond 2 s for each MiB',
    ...fixed(bucketLimits.deadline),
    end: 'the object store is unavailable; a write whose outcome is unknown is looked for',
    files: ['storage/bucket/bucket-calls.ts'],
    test: 'storage/bucket/bucket-faults.test.ts',
  },
  {
    what: 'connection to the security token service of an object store',
    ...fixed(stsLimits.connect),
    end: 'tried again until the deadline of the call',
    files: ['storage/vending/sts-client.ts'],
  },
  {
    what: 'one request to the security token service of an object store',
    ...fixed(stsLimits.attempt),
    end: 'sent again until the deadline of the call',
    files: ['storage/bucket/bucket-calls.ts'],
    test: 'service/vended-credentials.test.ts',
  },
  {
    what: 'session of the security token service of an object store, with all requests and pauses',
    ...fixed(stsLimits.deadline),
    end: '503 code 17; requests without credentials are answered',
    files: ['storage/bucket/bucket-calls.ts'],
    test: 'service/vended-credentials.test.ts',
  },
  {
    what: 'call to an object store that is tried at a start',
    ...fixed(STORE_TRIAL_MILLIS),
    end: 'a warning in the log; the gateway starts',
    files: ['storage/bucket/bucket-calls.ts'],
    test: 'service/object-stores.test.ts',
  },
  {
    what: 'connection to Redis',
    ...fixed(REDIS_CONNECT_MILLIS),
    end: 'tried again; meanwhile 503 code 17',
    files: ['store/redis/client.ts'],
  },
  {
    what: 'first connection to Redis at a start',
    ...fixed(REDIS_FIRST_MILLIS),
    end: 'the gateway starts and answers 503 until Redis is there',
    files: ['store/redis/store.ts', 'store/redis/client.ts'],
  },
  {
    what: 'command of Redis',
    ...fixed(REDIS_COMMAND_MILLIS),
    end: '503 code 17; the connection is replaced',
    files: ['store/redis/client.ts'],
    test: 'service/redis.test.ts',
  },
  {
    what: 'outcome of a commit to Redis whose answer was lost',
    ...fixed(REDIS_COMMIT_MILLIS),
    end: '503 code 17; the outcome is unknown, and a repeat with the same request id is safe',
    files: ['store/redis/store.ts'],
    test: 'faults/redis-outages.test.ts',
  },
  {
    what: 'counters of limits in Redis',
    ...fixed(QUOTA_ANSWER_MILLIS),
    end: 'the limit decides (`on_store_failure`)',
    files: ['store/redis/quota.ts'],
    test: 'store/redis/quota.test.ts',
  },
  {
    what: 'concurrency slot of a gateway that died',
    ...fixed(SLOT_LEASE_MILLIS),
    end: 'the slot is free',
    files: ['store/redis/quota.ts'],
    test: 'store/redis/quota.test.ts',
  },
  {
    what: 'counters of limits with the supervisor',
    ...fixed(COUNT_MILLIS),
    end: 'the limit decides (`on_store_failure`)',
    files: ['cli/processes/process-quota.ts'],
    test: 'service/stopped-process.test.ts',
  },
  {
    what: 'return of what a process keeps of a counter',
    ...fixed(RECALL_MILLIS),
    end: 'units that it kept count as used, its slots as taken until they end',
    files: ['cli/processes/shared-counters.ts'],
    test: 'cli/processes/process-quota.test.ts',
  },
  {
    what: 'answer of a process to its supervisor',
    ...byKey('supervision.timeout'),
    end: 'SIGKILL, and another process is started; its connections end',
    files: ['cli/processes/heartbeat.ts'],
    test: 'service/stopped-process.test.ts',
  },
  {
    what: 'metrics of the other processes',
    ...fixed(2 * PROCESS_METRICS_MILLIS),
    end: 'the metrics of that process are left out',
    files: ['cli/processes/shared-metrics.ts'],
    test: 'cli/processes/process-life.test.ts',
  },
  {
    what: 'end of a process after SIGTERM, beyond `shutdown.delay` and `shutdown.grace`',
    ...fixed(PROCESS_END_MILLIS),
    end: 'SIGKILL',
    files: ['cli/processes/supervisor.ts'],
  },
  {
    what: 'attempts of a commit that others precede',
    bound: `${COMMIT_ATTEMPTS} attempts`,
    end: '409 code 14; nothing was changed',
    files: ['engine/catalog/records/commit-loop.ts'],
    test: 'engine/catalog/races.test.ts',
  },
  {
    what: 'changes of other gateways that a snapshot of the journal, a backup or a check needs',
    ...fixed(MOMENT_ATTEMPTS * MOMENT_PAUSE_MILLIS),
    end: 'the work ends with an error',
    files: ['engine/catalog/journal/journal-moment.ts'],
  },
  {
    what: 'signs of other gateways before files are removed',
    ...fixed(REFRESH_MILLIS),
    end: 'the last known signs count, which keeps more files',
    files: ['engine/versions/leases/presence.ts'],
  },
  {
    what: 'job of a gateway that died',
    ...fixed(JOB_LEASE_MILLIS),
    end: 'another gateway takes the job',
    files: ['engine/upkeep/jobs/job-runner.ts'],
    test: 'engine/upkeep/jobs/job-runner.test.ts',
  },
  {
    what: 'start of a process of the Lance library',
    ...fixed(LIBRARY_START_MILLIS),
    end: 'SIGKILL; its requests are begun again in another process, then 503 code 17',
    files: ['lance/library-process.ts'],
  },
  {
    what: 'message of a process of the Lance library that works: it sends two each second',
    ...fixed(LIBRARY_SILENCE_MILLIS),
    end: 'SIGKILL; its requests are begun again in another process, then 503 code 17',
    files: ['lance/library-process.ts'],
    test: 'service/lance-processes.test.ts',
  },
  {
    what: 'end of work of the Lance library that was cancelled',
    ...fixed(LIBRARY_CANCEL_MILLIS),
    end: 'SIGKILL; other reads of the process are begun again in another one',
    files: ['lance/library-process.ts'],
    test: 'service/lance-library.test.ts',
  },
  {
    what: 'a process of the Lance library with room for one more request',
    ...fixed(LIBRARY_WAIT_MILLIS),
    end: refused,
    files: ['lance/library-pool.ts'],
  },
  {
    what: 'work of the Lance library in an object store, until the gateway tries the store itself',
    ...fixed(STORE_LOOK_MILLIS),
    end: 'the store is tried again at each such interval; 503 code 17 if it does not answer',
    files: ['lance/store-looks.ts'],
    test: 'service/hung-bucket.test.ts',
  },
  {
    what: 'work of the Lance library on a request',
    ...byKey('budget.time'),
    end: '400 code 13',
    files: ['lance/lance-rows.ts', 'lance/worker/running-task.ts'],
    test: 'service/lance-library.test.ts',
  },
  {
    what: 'memory that other requests hold',
    ...fixed(MEMORY_WAIT_MILLIS),
    end: `${refused}, with \`Retry-After\``,
    files: ['engine/format/memory/request-memory.ts'],
    test: 'gateway/budget.test.ts',
  },
  {
    what: 'thread that evaluates a request',
    ...byKey('budget.time'),
    end: '400 code 13, over budget. A task behind others on a thread waits for their budgets',
    files: ['engine/workers/thread-tasks.ts'],
    test: 'engine/workers/thread-pool.test.ts',
  },
  {
    what: 'webhook of a commit rule',
    bound: WEBHOOK_TIMEOUT,
    key: '`webhook.timeout` of `commits.yaml`, at most 30s',
    end: '`on_failure` decides: 400 code 20, or the commit goes on',
    files: ['rules/webhook.ts'],
    test: 'engine/rules/webhook.test.ts',
  },
  {
    what: 'verdict of a webhook that another process asked',
    bound: `the timeout of the webhook and ${VERDICT_SLACK_MILLIS / 1000} s`,
    end: '`on_failure` decides',
    files: ['engine/rules/shared-verdicts.ts'],
    test: 'engine/rules/shared-verdicts.test.ts',
  },
  {
    what: 'connection to a remote backend, with the wait for a free one',
    bound: backendTimeouts.connect,
    key: '`timeouts.connect` of a backend',
    end: '503 code 17',
    files: ['gateway/backends/exchange.ts', 'gateway/backends/remote-backend.ts'],
    test: 'gateway/backends/forwarder.test.ts',
  },
  {
    what: 'remote backend that sends nothing',
    bound: backendTimeouts.idle,
    key: '`timeouts.idle` of a backend',
    end: '503 code 17; an answer that has begun is cut',
    files: [
      'gateway/backends/exchange.ts',
      'gateway/backends/connection-agent.ts',
      'gateway/backends/client-pool.ts',
      'gateway/backends/forwarded-request.ts',
    ],
    test: 'gateway/backends/forwarder.test.ts',
  },
  {
    what: 'whole answer of a remote backend',
    bound: 'none',
    key: '`timeouts.total` of a backend',
    end: '503 code 17; an answer that has begun is cut',
    files: ['gateway/backends/exchange.ts'],
    test: 'gateway/backends/forwarder.test.ts',
  },
  {
    what: 'first look at the remote backends at a start',
    ...fixed(FIRST_LOOK_MILLIS),
    end: 'the gateway starts',
    files: ['cli/service/open-backends.ts'],
  },
  {
    what: 'comparison of the keys of the store with their digests at a start',
    ...fixed(STORE_COMPARISON_MILLIS),
    end: 'the comparison continues in the background, and `/readyz` is degraded until it ends',
    files: ['cli/service/store-integrity.ts'],
  },
  {
    what: 'key set of an issuer',
    ...fixed(remoteTimes.timeout),
    end: 'the last keys hold for a while; without any, 503 code 17',
    files: ['gateway/identity/remote-key-set.ts'],
    test: 'gateway/identity/remote-key-set.test.ts',
  },
  {
    what: 'lock of the file of keys',
    ...fixed(KEY_LOCK_TRIES * KEY_LOCK_PAUSE_MILLIS),
    end: 'the command ends with exit code 2 and names the lock',
    files: ['gateway/identity/key-file.ts'],
    test: 'gateway/identity/key-file.test.ts',
  },
  {
    what: 'Redis and the object store in `keys move`',
    ...fixed(KEY_MOVE_MILLIS),
    end: 'the command ends and says which one is unavailable; it may be repeated',
    files: ['cli/keys/keys-move.ts'],
    test: 'service/shared-keys.test.ts',
  },
  {
    what: 'TLS handshake of a client',
    ...fixed(HANDSHAKE_MILLIS),
    end: 'the connection is closed',
    files: ['gateway/http/http-server.ts'],
  },
  {
    what: 'headers of a request',
    ...fixed(HEADERS_MILLIS),
    end: '408; the connection is closed',
    files: ['gateway/http/http-server.ts'],
    test: 'gateway/http/framing.test.ts',
  },
  {
    what: 'client that sends or takes almost nothing',
    ...byKey('limits.request_timeout'),
    end: 'the connection is closed',
    files: ['gateway/server.ts', 'gateway/http/send.ts'],
    test: 'gateway/transport.test.ts',
  },
  {
    what: 'next request on a connection',
    ...fixed(KEEP_ALIVE_MILLIS),
    end: 'the connection is closed',
    files: ['gateway/http/http-server.ts'],
  },
  {
    what: 'rest of the body of a refused request',
    ...fixed(defaultLinger.milliseconds),
    end: 'the connection is closed',
    files: ['gateway/http/linger.ts'],
    test: 'gateway/transport.test.ts',
  },
  {
    what: 'requests in flight when the read-only mode ends',
    ...fixed(SETTLE_MILLIS),
    end: 'the store is opened for writing; a request that still reads fails and can be repeated',
    files: ['cli/service/read-only.ts'],
  },
  {
    what: 'requests in flight at a stop',
    ...byKey('shutdown.grace'),
    end: 'their connections are cut',
    files: ['gateway/server.ts', 'cli/create-gateway.ts'],
    test: 'service/drain.test.ts',
  },
  {
    what: 'listener at a stop',
    ...byKey('shutdown.delay'),
    end: 'the listener closes',
    files: ['cli/config/listeners.ts'],
    test: 'service/drain.test.ts',
  },
  {
    what: 'clients that still send after their answer, at a stop',
    ...fixed(LATE_BODY_MILLIS),
    end: 'their connections are cut',
    files: ['gateway/server.ts'],
  },
  {
    what: 'requests whose connections were cut, at a stop',
    ...fixed(CUT_GRACE_MILLIS),
    end: 'the stop goes on',
    files: ['gateway/server.ts'],
  },
  {
    what: 'collector of traces: an export, and the last one at a stop',
    bound: `${SPANS_EXPORT_MILLIS / 1000} s, ${SPANS_FLUSH_MILLIS / 1000} s`,
    end: 'spans are lost and counted; no request waits for it',
    files: ['gateway/otlp-traces.ts'],
    test: 'gateway/telemetry/traces.test.ts',
  },
  {
    what: 'collector of audit records: an export, and the last one at a stop',
    bound: `${RECORDS_EXPORT_MILLIS / 1000} s, ${RECORDS_FLUSH_MILLIS / 1000} s`,
    end: 'copies are lost; the log itself is whole. No request waits for it',
    files: ['audit/exporter.ts'],
  },
  {
    what: 'object store of the audit archive: the last upload at a stop',
    ...fixed(LAST_ARCHIVE_MILLIS),
    end: 'the stop goes on; the next start uploads the rest. No request waits for it',
    files: ['audit/archive/background-archiving.ts'],
    test: 'audit/archive/background-archiving.test.ts',
  },
  {
    what: 'flush of a file to the disk: audit log, journal, table files',
    bound: 'none: the system decides',
    end: 'an error of the disk is 503 code 17; commits that wait behind it are refused after `coordination.wait`',
    files: ['storage/line-log.ts'],
    test: 'faults/full-disk.test.ts',
  },
];

/**
 * Files that use timers, and in which nothing waits that a table could bound: intervals of
 * background work, delays that collect a batch, and loops that a caller's wait ends.
 */
export const intervals: Readonly<Record<string, string>> = {
  'audit/chain/queue.ts': 'collects records of a batch',
  'audit/checkpoints/publisher.ts': 'interval of checkpoints',
  'audit/segments/background-sealing.ts': 'interval of sealing, and its thread, in the background',
  'cli/service/recovery-rounds.ts': 'interval of examinations of processes that were killed',
  'cli/service/warm-up.ts': 'pauses of the warm-up while clients ask the process',
  'cli/audit/audit-search.ts': 'interval of `--follow`, until the user stops it',
  'engine/catalog/journal/journal-keeper.ts': 'interval of snapshots',
  'engine/catalog/journal/journal.ts': 'collects changes that the store may forget',
  'engine/format/memory/answer-memory.ts': 'delay after which stalled answers release memory',
  'engine/format/memory/read-memory.ts': 'delay after which unused memory is dropped',
  'engine/format/memory/memory-budget.ts': 'interval in which caches shrink',
  'engine/late-backend.ts': 'interval of openings of an unavailable store',
  'engine/once/answer-sweep.ts': 'interval of the removal of old answers',
  'engine/once/store-clock.ts': 'interval of comparisons of clocks',
  'engine/upkeep/jobs/background-indexing.ts': 'delay of background work',
  'engine/upkeep/retention/background.ts': 'interval of collections',
  'engine/upkeep/retention/entries.ts': 'bounds concurrent reads of folders',
  'engine/upkeep/verification/background-scrub.ts': 'interval of looks at the turn of a gateway',
  'engine/upkeep/verification/portion-reading.ts': 'rate of the reads of a verification',
  'gateway/backends/remote-monitor.ts': 'interval of health checks',
  'gateway/decision/policy-archive.ts': 'interval of attempts to archive a policy',
  'gateway/http/certificate.ts': 'interval of looks at the certificate',
  'gateway/http/control-traffic.ts': 'interval of counts of control frames',
  'gateway/identity/key-follower.ts': 'interval of looks at keys that gateways share',
  'gateway/identity/key-use.ts': 'collects uses of keys',
  'gateway/identity/tokens.ts': 'interval of looks at key sets',
  'engine/catalog/journal/object-log.ts': 'pause before an object store that failed is tried again',
  'gateway/policy-agreement.ts': 'interval of comparisons of policies',
  'policy/still-folder.ts': 'interval of looks at the policy folder',
  'lance/worker/library-main.ts': 'interval of reports of memory',
};
