import type { Worker } from 'node:cluster';

/** Longest time between two questions, in ms. */
const PERIOD_MILLIS = 1000;
/** A timeout is at least this number of unanswered questions. */
const LEAST_MISSED = 4;
/** A process that has not answered yet is being loaded, and has this multiple of the timeout. */
const START_FACTOR = 4;

/** A question of the supervisor, and the answer of a process. */
interface Beat {
  readonly beat: 'ask' | 'answer';
}

/**
 * In a process: answers the supervisor as long as the event loop turns. The first answer is sent unasked: a
 * question that came while the process was being loaded was lost, and no other follows one without an answer.
 */
export function answerHeartbeats(): void {
  const answer = (): void => {
    const beat: Beat = { beat: 'answer' };
    if (process.connected) process.send?.(beat);
  };
  process.on('message', (message: unknown) => {
    if (isBeat(message, 'ask')) answer();
  });
  answer();
}

/**
 * In the supervisor: asks a process again and again whether it answers. Periods without an answer
 * are counted, not time: while the supervisor itself is stopped, none passes.
 * @param onSilence Called once, when the process has not answered for `timeoutMillis`.
 */
export function watchHeartbeats(
  worker: Worker,
  timeoutMillis: number,
  onSilence: () => void,
): void {
  const period = Math.min(PERIOD_MILLIS, timeoutMillis / LEAST_MISSED);
  const most = Math.ceil(timeoutMillis / period);
  let [missed, isAsked, hasAnswered] = [0, false, false];
  const timer = setInterval(() => {
    if (isAsked) missed += 1;
    else ask();
    if (missed < (hasAnswered ? most : START_FACTOR * most)) return;
    clearInterval(timer);
    onSilence();
  }, period);
  const ask = (): void => {
    // One question at a time: a process that is stopped reads none, and the channel would fill up.
    isAsked = worker.isConnected();
    const question: Beat = { beat: 'ask' };
    // A message to a process that has just ended fails; its exit is handled separately.
    if (isAsked) worker.send(question, () => undefined);
  };
  worker.on('message', (message: unknown) => {
    if (!isBeat(message, 'answer')) return;
    [missed, isAsked, hasAnswered] = [0, false, true];
  });
  worker.once('exit', () => clearInterval(timer));
  ask();
}

function isBeat(message: unknown, beat: Beat['beat']): boolean {
  return (
    typeof message === 'object' && message !== null && 'beat' in message && message.beat === beat
  );
}
