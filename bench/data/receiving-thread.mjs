// Asks and receives on a thread of its own: the bytes of an answer are handed over, not copied.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { parentPort } from 'node:worker_threads';

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

parentPort.on('message', (asked) => void answer(asked));

async function answer({ url, headers, body }) {
  const outgoing = request(url, { method: 'POST', agent, headers });
  outgoing.end(body);
  const [incoming] = await once(outgoing, 'response');
  const bytes = await received(incoming);
  parentPort.postMessage({ status: incoming.statusCode, bytes }, [bytes.buffer]);
}

/** Memory is taken once where the answer says how long it is. */
async function received(incoming) {
  const length = incoming.headers['content-length'];
  const whole = length === undefined ? undefined : new Uint8Array(Number(length));
  const chunks = [];
  let at = 0;
  incoming.on('data', (chunk) => {
    if (whole === undefined) chunks.push(chunk);
    else whole.set(chunk, at);
    at += chunk.length;
  });
  await once(incoming, 'end');
  if (whole !== undefined) return whole;
  const joined = new Uint8Array(at);
  at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}
