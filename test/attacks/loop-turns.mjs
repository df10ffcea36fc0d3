// Preloaded by an attacked service: writes down each turn of its event loop that used much processor time.
import { appendFileSync, closeSync, openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Shorter turns are not written down, in ms. */
const NOTED_MILLIS = 4;

/** In the working folder of the service, one number of milliseconds a line. */
const FILE = 'loop-turns.txt';

if (isMainThread) watch();

/** Timers run once in a turn, so the time between two calls of one is that of a whole turn. */
function watch() {
  // Linux counts the processor time of each thread; time in which others had the processor is not in it.
  const clock = openSync(`/proc/self/task/${process.pid}/schedstat`);
  const text = Buffer.alloc(64);
  const used = () => {
    const length = readSync(clock, text, 0, text.length, 0);
    return Number(text.toString('latin1', 0, length).split(' ')[0]) / 1e6;
  };
  let before = used();
  const timer = setInterval(() => {
    const now = used();
    if (now - before > NOTED_MILLIS) appendFileSync(FILE, `${(now - before).toFixed(1)}\n`);
    before = used();
  }, 1);
  timer.unref();
  process.once('exit', () => closeSync(clock));
}
