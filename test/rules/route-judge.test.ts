import { describe, expect, it } from 'vitest';
import { parseCommits } from '../../src/policy/settings/commits.ts';
import { operations } from '../../src/protocol/operations/operations.ts';
import type { OperationName } from '../../src/protocol/operations/operation-name.ts';
import { judgeRoute, type CommitRoute } from '../../src/rules/route-judge.ts';

/** What route and headers tell of a commit, here and where nobody looks at it again. */

const rules = (require: string, more = '') => ({
  digest: '',
  rules: parseCommits(
    `rules:\n  - { name: r, tables: [/far/**], require: { ${require} }${more} }\n`,
  ),
});

const route = (name: OperationName, more: Partial<CommitRoute> = {}): CommitRoute => ({
  operation: operations[name],
  object: ['far', 't'],
  mode: null,
  contentLength: 10n,
  context: new Map(),
  isRemote: () => true,
  now: Date.UTC(2026, 0, 1),
  ...more,
});

const overwrite = { mode: 'overwrite' } as const;
const says = (fault: string) => `the commit rule r refuses this of /far/t: ${fault}`;

describe('a route', () => {
  it.each<readonly [string, CommitRoute, string]>([
    ['no_drop: true', route('DropTable'), 'the table may not be dropped'],
    ['no_drop: true', route('DeregisterTable'), 'the table may not be deregistered'],
    ['no_drop: true', route('InsertIntoTable', overwrite), 'the table may not be overwritten'],
    ['no_drop: true', route('CreateTable', overwrite), 'the table may not be overwritten'],
    [
      'no_drop: true',
      route('RenameTable', { target: ['near', 't'] }),
      'the table may not be renamed to /near/t, which the rule does not cover',
    ],
    ['max_bytes: 9', route('InsertIntoTable'), 'its body has 10 bytes, and at most 9 may be added'],
    [
      'max_bytes: 9',
      route('InsertIntoTable', { contentLength: null }),
      'its body does not say how long it is, and at most 9 bytes may be added',
    ],
    ['context: [a]', route('InsertIntoTable'), 'the request\'s context has no "a"'],
  ])('is refused by %s', (require, asked, fault) => {
    expect(() => judgeRoute(rules(require), asked)).toThrow(says(fault));
    expect(() => judgeRoute(rules(require, ', mode: warn'), asked)).not.toThrow();
  });

  it.each<readonly [string, CommitRoute]>([
    ['no_drop: true', route('CreateTable')],
    ['no_drop: true', route('CreateTable', { mode: 'exist_ok' })],
    // The engine knows whether there is a table, and how much came.
    ['no_drop: true', route('CreateTable', { ...overwrite, isRemote: () => false })],
    ['max_bytes: 9', route('InsertIntoTable', { contentLength: null, isRemote: () => false })],
    ['max_bytes: 10', route('InsertIntoTable')],
    ['no_drop: true', route('DropTable', { object: ['near', 't'] })],
    ['context: [a]', route('InsertIntoTable', { context: new Map([['a', '1']]) })],
    ['context: [a]', route('UpdateTable')],
  ])('is let in by %s', (require, asked) => {
    expect(() => judgeRoute(rules(require), asked)).not.toThrow();
  });

  it('of an overwrite is judged by rules about drops, or about changes of rows', () => {
    const drops = rules('no_drop: true', ', operations: [drop]');
    expect(() => judgeRoute(drops, route('CreateTable', overwrite))).toThrow();
    const changes = rules('no_drop: true', ', operations: [modify]');
    expect(() => judgeRoute(changes, route('InsertIntoTable', overwrite))).toThrow();
  });
});
