import cluster from 'node:cluster';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { ProcessLife } from '../../../src/cli/processes/process-life.ts';
import { relayMetrics } from '../../../src/cli/processes/shared-metrics.ts';
import { SharedCounters } from '../../../src/cli/processes/shared-counters.ts';
import { MemoryQuota } from '../../../src/store/embedded/memory-quota.ts';

// A supervisor that asks a process for its metrics which has died without a word of it having come yet.

if (cluster.isPrimary) {
  relayMetrics();
  const life = new ProcessLife([], new SharedCounters(new MemoryQuota()));
  const [worker] = Object.values(cluster.workers ?? {});
  await once(worker!, 'online');
  life.kill('SIGKILL');
  // Nothing else runs here until it is dead for certain.
  while (!readFileSync(`/proc/${life.pid}/stat`, 'latin1').includes(') Z '));
  cluster.emit('message', worker, { metrics: 'ask', asked: 1 });
  const { signal } = await life.end;
  process.stdout.write(`${signal}\n`);
  process.exit();
}
setInterval(() => undefined, 1000);
