import type { Writable } from 'node:stream';
import type { DestinationStream } from 'pino';

const names: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** What stands in every entry and tells a reader at a terminal nothing. */
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
