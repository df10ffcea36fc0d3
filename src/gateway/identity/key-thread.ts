import { parentPort, workerData } from 'node:worker_threads';
import { readKeyArrays, type KeyReading } from './key-table.ts';

/** The memory of a reading, which moves to the thread that receives it. */
function buffersIn(reading: KeyReading): readonly ArrayBuffer[] {
  if (reading.kind !== 'keys') return [];
  const { ids, hashes, texts, ends, expiries } = reading.keys;
  return [ids.units, ids.ends, ids.slots, hashes, texts, ends, expiries].map(
    ({ buffer }) => buffer,
  );
}

const reading = readKeyArrays(String(workerData));
parentPort?.postMessage(reading, [...buffersIn(reading)]);
