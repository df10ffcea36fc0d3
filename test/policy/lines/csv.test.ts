import { Helper, newModelFromString } from 'casbin';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCsv } from '../../../src/policy/lines/csv.ts';
import { shippedModel } from '../support.ts';

/** The cells of a line as casbin stores them, the kind first; nothing where casbin drops the line. */
function casbinReads(line: string): readonly string[] {
  const model = newModelFromString(shippedModel);
  Helper.loadPolicyLine(line, model);
  return ['p', 'g'].flatMap((kind) => {
    const cells = model.model.get(kind)?.get(kind)?.policy[0];
    return cells === undefined ? [] : [kind, ...cells];
  });
}

describe('a line of policy.csv', () => {
  it('is read as casbin reads it, or refused', () => {
    const piece = fc.constantFrom(
      ...'p g , , , , " ( ) # \t \' \\ * % $ / a : = ;'.split(' '),
      ' ',
      'p,',
      'g, ',
      'user:ann',
      '"a,b"',
      '""',
      'é',
      '\u00a0',
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    const line = fc.oneof(
      text,
      text.map((rest) => `p, ${rest}`),
      text.map((rest) => `g,${rest}`),
    );
    fc.assert(
      fc.property(line, (content) => {
        const [read] = parseCsv(content).lines;
        const kind = read?.cells[0];
        if (read !== undefined && (kind === 'p' || kind === 'g')) {
          expect(read.cells).toEqual(casbinReads(content));
        }
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['p, "user:a""b", "/x,y", read, allow', ['p', 'user:a"b', '/x,y', 'read', 'allow']],
    ['p,user:a , /x,  read,allow ', ['p', 'user:a', '/x', 'read', 'allow']],
    ['p, a, (b, c), d', ['p', 'a', '(b,c)', 'd']],
    ["p, it's, /x", ['p', "it's", '/x']],
  ])('is split at its commas: %s', (content, cells) => {
    expect(parseCsv(content)).toEqual({ lines: [{ line: 1, cells }], findings: [] });
  });

  it('keeps its number among comments and blank lines, whatever ends them', () => {
    const { lines } = parseCsv('# one\r\n\r\np, a\r\n  # four\n\t\ng, b, c');
    expect(lines).toEqual([
      { line: 3, cells: ['p', 'a'] },
      { line: 6, cells: ['g', 'b', 'c'] },
    ]);
  });
});
