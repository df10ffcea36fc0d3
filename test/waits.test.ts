import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { intervals, waits } from '../scripts/wait-table.ts';
import { root } from './support/documents.ts';

/** How a file waits: by a timer, by a timeout that it passes on, or for the first of several promises. */
const WAITS =
  /\bset(?:Timeout|Interval)\(|\bsleep\(|\bPromise\.race\(|\bAbortSignal\.timeout\(|\w+Timeout: /;

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, 'src', name), 'utf8') }));

it('lists every file that waits, once as a wait with a bound or as an interval', () => {
  const listed = new Set(waits.flatMap(({ files }) => files));
  const waiting = sources.filter(({ text }) => WAITS.test(text)).map(({ name }) => name);
  expect(waiting.filter((name) => !listed.has(name) && !(name in intervals))).toEqual([]);
  expect(Object.keys(intervals).filter((name) => listed.has(name))).toEqual([]);
  // A file that no longer waits is not listed.
  const gone = [...listed, ...Object.keys(intervals)].filter((name) => !waiting.includes(name));
  expect(gone.filter((name) => !/once\(/.test(textOf(name)))).toEqual([]);
});

it.each(waits)('$what: has a test that provokes its end, if there can be one', ({ test }) => {
  if (test !== undefined) expect(existsSync(join(root, 'test', test)), test).toBe(true);
});

it('names each wait once', () => {
  expect(new Set(waits.map(({ what }) => what)).size).toBe(waits.length);
});

function textOf(name: string): string {
  return sources.find((source) => source.name === name)?.text ?? '';
}
