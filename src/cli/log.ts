import { destination, pino, type Logger } from 'pino';
import type { Config } from './config-table.ts';
import { textLines } from './log-text.ts';

const STDERR = 2;

/** The log of the process on standard error, one entry a line: JSON objects, or text for readers. */
export function openLog(config: Pick<Config, 'log.level' | 'log.format'>): Logger {
  const lines = destination({ dest: STDERR, sync: true });
  const level = config['log.level'];
  return pino({ level }, config['log.format'] === 'text' ? textLines(lines) : lines);
}
