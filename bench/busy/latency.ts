import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Times of single requests, one after the other with pauses between them, in milliseconds and ascending. */
export async function latencies(url: string, key: string, count: number): Promise<Float64Array> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = new Float64Array(count);
  for (let index = 0; index < count; index++) {
    const start = performance.now();
    await describe(url, key, agent);
    times[index] = performance.now() - start;
    await sleep(Math.random() * 4);
  }
  agent.destroy();
  return times.sort();
}

/** The value that a share of some ascending values does not pass. */
export function percentile(ascending: Float64Array, share: number): number {
  const index = Math.min(ascending.length - 1, Math.ceil(share * ascending.length) - 1);
  return ascending[Math.max(0, index)] ?? Number.NaN;
}

async function describe(url: string, key: string, agent: Agent): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const outgoing = request(url, { method: 'POST', headers, agent });
  outgoing.end('{}');
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.resume();
  await once(incoming, 'end');
  if (incoming.statusCode !== 200) throw new Error(`describe answered ${incoming.statusCode}`);
}
