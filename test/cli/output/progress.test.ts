import { expect, it } from 'vitest';
import { progressOf } from '../../../src/cli/output/output.ts';

const output = (watched: boolean, notes: string[]) => ({
  line: () => undefined,
  bytes: async () => true,
  note: (text: string) => void notes.push(text),
  watched,
});

it('tells a terminal what is being done, and not each of many small things', () => {
  const notes: string[] = [];
  const { progress } = progressOf(output(true, notes), 0);
  for (let at = 0; at < 1000; at++) progress?.(`step ${at}`);
  expect(notes[0]).toBe('step 0');
  expect(notes.length).toBeLessThan(1000);
});

it('tells nothing of short work', () => {
  const notes: string[] = [];
  const { progress } = progressOf(output(true, notes), 3_600_000);
  progress?.('step 1');
  expect(notes).toEqual([]);
});

it('tells nobody where nobody watches', () => {
  expect(progressOf(output(false, []))).toEqual({});
});
