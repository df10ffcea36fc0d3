import { destination, pino, type Logger, type DestinationStream } from 'pino';
import type { Config } from './config-table.ts';
import type { Writable } from 'node:stream';

const names: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** Fields of every entry that are noise on a terminal. */
const left: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg']);

/** Entries of the log as lines for readers: `2026-11-20T12:00:00.000Z WARN the sentence backend="west"`. */
export function textLines(lines: Pick<Writable, 'write'> | DestinationStream): DestinationStream {
  return { write: (entry) => void lines.write(`${textOf(entry)}\n`) };
}

function textOf(entry: string): string {
  const fields = JSON.parse(entry) as Readonly<Record<string, unknown>>;
  const { level, time, msg } = fields;
  const more = Object.entries(fields)
    .filter(([name]) => !left.has(name))
    // JSON has no line break in it, so an entry stays one line.
    .map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  const sentence = JSON.stringify(msg ?? '').slice(1, -1);
  const when = new Date(Number(time)).toISOString();
  return `${when} ${names[Number(level)] ?? String(level)} ${sentence}${more.join('')}`;
}

const STDERR = 2;
/** Buffer size of log entries that cannot be written yet, in bytes; further entries are dropped. */
const WAITING_BYTES = 2 ** 20;

/** The log of the process on standard error, one entry a line: JSON objects, or text for readers. */
export function openLog(config: Pick<Config, 'log.level' | 'log.format'>): Logger {
  const lines = destination({ dest: STDERR, sync: true, maxLength: WAITING_BYTES });
  // Without a listener, a log on a full disk would throw in any caller and end the gateway.
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
