// Asks for a table's description again and again, in a thread of its own, until it is told to stop.
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const { url, key } = workerData;
const client = url.startsWith('https') ? https : http;
const agent = new client.Agent({ keepAlive: true, rejectUnauthorized: false });
const state = { stopped: false };
parentPort.once('message', () => (state.stopped = true));

function describe() {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': key };
    const options = { method: 'POST', agent, headers };
    const sent = client.request(`${url}/v1/table/attacked/describe`, options, (answer) => {
      answer.resume();
      answer.once('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`status ${answer.statusCode}`)),
      );
    });
    sent.once('error', reject);
    sent.end('{}');
  });
}

const times = [];
while (!state.stopped) {
  const began = performance.now();
  await describe();
  times.push(performance.now() - began);
  await sleep(2);
}
agent.destroy();
parentPort.postMessage(times, []);
