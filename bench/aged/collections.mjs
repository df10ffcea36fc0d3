// Preloaded into a measured process: adds a line about its collections and memory to `collections.jsonl` on SIGUSR2.
import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** In the folder in which the process starts. */
const file = resolve('collections.jsonl');

if (isMainThread) {
  const millis = { major: 0, minor: 0, other: 0 };
  const kinds = new Map([
    [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
    [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  ]);
  const add = (entries) => {
    for (const { duration, detail } of entries)
      millis[kinds.get(detail.kind) ?? 'other'] += duration;
  };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  process.on('SIGUSR2', () => {
    add(observer.takeRecords());
    appendFileSync(file, `${JSON.stringify({ ...millis, ...process.memoryUsage() })}\n`);
  });
}
