import { destination, pino, type Logger } from 'pino';

const STDERR = 2;

/** The log of the process: one JSON object a line, on standard error. */
export function openLog(level: string): Logger {
  return pino({ level }, destination({ dest: STDERR, sync: true }));
}
