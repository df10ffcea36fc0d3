import { destination, pino, type Logger } from 'pino';
import type { Config } from './config-table.ts';
import { textLines } from './log-text.ts';

const STDERR = 2;
/** Entries wait in memory up to so many bytes while they cannot be written; further ones are lost. */
const WAITING_BYTES = 2 ** 20;

/** The log of the process on standard error, one entry a line: JSON objects, or text for readers. */
export function openLog(config: Pick<Config, 'log.level' | 'log.format'>): Logger {
  const lines = destination({ dest: STDERR, sync: true, maxLength: WAITING_BYTES });
  // A log on a disk that is full would otherwise throw in the midst of whatever says something: that ends a gateway.
  lines.on('error', () => undefined);
  const level = config['log.level'];
  return pino({ level }, config['log.format'] === 'text' ? textLines(lines) : lines);
}

/** Fault exit code of Node. */
const FAULT_CODE = 1;

/**
 * Writes to the log what Node would print by itself: its warnings, and an exception that nobody
 * handled, which still ends the process with code 1.
 */
export function logFaults(log: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log.warn({ name }, message));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'the process ends: an exception was not handled');
    process.exit(FAULT_CODE);
  });
}
