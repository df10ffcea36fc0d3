import { describe, expect, it } from 'vitest';
import { labelledText, fitted } from '../../../src/cli/output/fitted.ts';

describe('lines that are fitted into a width', () => {
  it.each([
    ['one that fits', 'a b c', 5, 'a b c'],
    ['a sentence', 'one two three four', 9, 'one two\n  three\n  four'],
    ['an indented one', '  one two three', 10, '  one two\n    three'],
    ['a word that is longer', '/a/long/path/of/a/file', 10, '/a/long/path/of/a/file'],
    ['a long word in the middle', 'in /a/long/path x', 8, 'in\n  /a/long/path\n  x'],
    ['several', 'a bb ccc\nd', 5, 'a bb\n  ccc\nd'],
    ['a row with colours', '\u001b[31mone two\u001b[0m', 5, '\u001b[31mone two\u001b[0m'],
  ])('%s', (_, text, width, lines) => {
    expect(fitted(text, width)).toBe(lines);
  });
});

describe('labels with texts', () => {
  it('break a text beside its label, and cut a word that is longer', () => {
    const entries = [
      ['name', 'one two three four five'],
      ['none', null],
      ['x', `${'y'.repeat(25)}\u0007`],
    ] as const;
    expect(labelledText(entries, 26).split('\n')).toEqual([
      'name  one two three four',
      '      five',
      `x     ${'y'.repeat(20)}`,
      '      yyyyy?',
    ]);
    expect(labelledText(entries, undefined).split('\n')).toHaveLength(2);
  });
});
