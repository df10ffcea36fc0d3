import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unifiedDiff } from '../../src/policy/unified-diff.ts';
import { casesOf } from '../support/cases.ts';
import { testFolders } from '../support/folder.ts';

const newFolder = testFolders();

/** Patches of policy files, applied by Git. */

async function applied(before: string | undefined, after: string | undefined) {
  const folder = await newFolder();
  await mkdir(folder, { recursive: true });
  if (before !== undefined) await writeFile(join(folder, 'policy.csv'), before);
  const input = unifiedDiff([{ name: 'policy.csv', before, after }]);
  if (input !== '') {
    const { status, stderr } = spawnSync(
      'git',
      ['apply', '--unsafe-paths', '--whitespace=nowarn', '-'],
      {
        cwd: folder,
        input,
        encoding: 'utf8',
        env: { ...process.env, GIT_CEILING_DIRECTORIES: join(folder, '..') },
      },
    );
    expect([status, stderr]).toEqual([0, '']);
  }
  return readFile(join(folder, 'policy.csv'), 'utf8').catch(() => undefined);
}

describe('a patch', () => {
  it.each([
    ['of nothing', 'a\n', 'a\n'],
    ['that adds a line', 'a\nb\nc\n', 'a\nb\nx\nc\n'],
    ['that takes the last line', 'a\nb\n', 'a\n'],
    ['of texts without an end of line', 'a\nb', 'a\nc'],
    ['that adds an end of line', 'a', 'a\n'],
    ['that makes a file', undefined, 'a\nb\n'],
    ['that removes a file', 'a\nb\n', undefined],
    ['that empties a file', 'a\n', ''],
  ])('%s', async (_what, before, after) => {
    expect(await applied(before, after)).toBe(after);
  });

  it('shows three lines around a change', () => {
    const before = `${[1, 2, 3, 4, 5, 6, 7, 8, 9].join('\n')}\n`;
    const after = before.replace('5\n', 'five\n');
    expect(unifiedDiff([{ name: 'policy.csv', before, after }])).toBe(
      `diff --git a/policy.csv b/policy.csv
--- a/policy.csv
+++ b/policy.csv
@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8
`,
    );
  });

  it('makes any text of any other', async () => {
    const text = fc
      .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n'), { maxLength: 24 })
      .map((lines) => lines.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, async (before, after) => {
        expect(await applied(before, after)).toBe(after);
      }),
      { numRuns: casesOf(20, 500) },
    );
  });
});
