import { describe, expect, it } from 'vitest';
import { decisionColour } from '../../../src/cli/output/colour.ts';
import { Table, tableText, type TableFlags } from '../../../src/cli/output/table.ts';

const columns = [
  { heading: 'TIME', least: 6 },
  { heading: 'WHO', least: 4 },
  { heading: 'DECISION', colour: decisionColour },
  { heading: 'LAST ONE', least: 4 },
];
const rows = [
  ['2026-01-01T00:00:00Z', 'user:alice-of-somewhere', 'deny', 'x'],
  ['2026-01-01T00:00:01Z', 'user:bob', 'allow', 'y'],
];

function printed(flags: TableFlags, place: { width?: number; colour?: boolean } = {}) {
  const notes: string[] = [];
  const text = tableText(columns, rows, flags, {
    ...place,
    note: (note) => void notes.push(note),
  });
  return { lines: text.split('\n'), notes };
}

describe('a table', () => {
  it('is as wide as its cells where it is not printed on a terminal', () => {
    expect(printed({}).lines).toEqual([
      'TIME                  WHO                      DECISION  LAST ONE',
      '2026-01-01T00:00:00Z  user:alice-of-somewhere  deny      x',
      '2026-01-01T00:00:01Z  user:bob                 allow     y',
    ]);
  });

  it.each([60, 50, 40])('fits a terminal of %d characters', (width) => {
    const { lines, notes } = printed({}, { width });
    expect([lines.every((line) => line.length <= width), notes]).toEqual([true, []]);
    expect(lines[1]).toContain('…');
  });

  it('leaves out columns that do not fit, and says so', () => {
    const { lines, notes } = printed({}, { width: 22 });
    expect(lines[0]).toBe('TIME    WHO   DECISION');
    expect(notes).toEqual(['not shown: last_one; --columns or a wider terminal shows them']);
  });

  it('has the columns that were asked for, in their order', () => {
    const { lines } = printed({ columns: 'last-one, WHO', header: false }, { width: 80 });
    expect(lines).toEqual(['x  user:alice-of-somewhere', 'y  user:bob']);
  });

  it('refuses columns that it does not have', () => {
    expect(() => printed({ columns: 'who,whom' })).toThrow(
      '--columns names "whom", but must name some of time,who,decision,last_one',
    );
  });

  it('has colours on a terminal alone, outside of the cells that are compared', () => {
    const { lines } = printed({ columns: 'decision,who' }, { colour: true });
    expect(lines[1]).toBe('\u001b[31mdeny    \u001b[0m  user:alice-of-somewhere');
    expect(printed({}).lines.join('')).not.toContain('\u001b');
  });

  it('keeps control characters of names from the terminal', () => {
    const place = { note: () => undefined };
    const text = tableText([{ heading: 'A' }], [['x\u001b[2J\ny']], { header: false }, place);
    expect(text).toBe('x?[2J?y');
  });

  it('prints its headings once, and grows with later parts', () => {
    const table = new Table(columns.slice(1, 2), {}, { note: () => undefined });
    expect(table.lines([['a']])).toEqual(['WHO', 'a']);
    expect(table.lines([['abcdefg']])).toEqual(['abcdefg']);
  });
});
