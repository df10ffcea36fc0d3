import { parentPort, workerData } from 'node:worker_threads';
import { buffersOf } from './decide/packed-policy.ts';
import { readPolicy, type PolicyQuestion, type PolicyReading } from './policy-reading.ts';

/** The memory of a reading, which moves to the thread that receives it. */
function buffersIn(reading: PolicyReading): readonly ArrayBuffer[] {
  if (reading.kind !== 'read' || reading.policy.packed === null) return [];
  return buffersOf(reading.policy.packed);
}

const reading = await readPolicy(workerData as PolicyQuestion);
parentPort?.postMessage(reading, [...buffersIn(reading)]);
