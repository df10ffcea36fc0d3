// A server that passes every request on with undici, and does nothing else. Started with the address of the backend;
// prints its own.
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Pool } from 'undici';

const backend = new Pool(process.argv[2], { connections: 64, pipelining: 1 });

const server = createServer((incoming, outgoing) => {
  void pass(incoming, outgoing).catch(() => outgoing.destroy());
});

async function pass(incoming, outgoing) {
  const { method, url: path } = incoming;
  const headers = without(incoming.headers, 'connection', 'host', 'content-length');
  const answer = await backend.request({ method, path, headers, body: await buffer(incoming) });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const answered = without(answer.headers, 'connection', 'transfer-encoding');
  outgoing.writeHead(answer.statusCode, { ...answered, 'content-length': bytes.length });
  outgoing.end(bytes);
}

/** Headers without those of one connection. */
function without(headers, ...names) {
  const left = { ...headers };
  for (const name of names) delete left[name];
  return left;
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
