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
