import { describe, expect, it } from 'vitest';
import { lanceAction, movesBetween } from '../../../src/engine/rules/lance-state.ts';
import type { TableState } from '../../../src/rules/commit-facts.ts';

/** What a client says that it did, believed as far as its manifests bear it out. */

const state = (...rows: readonly bigint[]): TableState => ({
  columns: [],
  fragments: rows.map((count, at) => ({
    key: `${at} of ${rows.length}`,
    rows: count,
    files: [],
    deletions: null,
  })),
});

describe('a commit that says that it merged files', () => {
  it('is a compaction where it keeps as many rows', () => {
    const [before, after] = [state(2n, 3n), state(5n)];
    expect(movesBetween(before, after, 'rewrite')).toBe('kept');
    expect(lanceAction(before, after, 'rewrite')).toBe('compact');
  });

  it.each([4n, 6n])('and has %s rows instead of 5 is none', (rows) => {
    const [before, after] = [state(2n, 3n), state(rows)];
    expect(movesBetween(before, after, 'rewrite')).toBe('updated');
    expect(lanceAction(before, after, 'rewrite')).toBe('commit');
  });

  it('and is the first of a table makes it', () => {
    expect(lanceAction(null, state(5n), 'rewrite')).toBe('create');
  });
});
