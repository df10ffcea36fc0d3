import { parentPort } from 'node:worker_threads';
import type { ThreadCounts } from './report.ts';
import { countPart, type CountedPart } from './request-counts.ts';

async function countsOf(part: CountedPart): Promise<ThreadCounts | undefined> {
  let records = 0;
  try {
    const counts = await countPart(part, (more) => (records += more));
    return { counts, records };
  } catch {
    // The caller counts the part again, and gets the error.
    return undefined;
  }
}

let last: Promise<void> = Promise.resolve();
parentPort?.on('message', (part: CountedPart) => {
  last = last.then(async () => parentPort?.postMessage(await countsOf(part), []));
});
