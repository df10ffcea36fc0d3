import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action } from '../../../src/protocol/operations/operation.ts';
import type { ObjectPath } from '../../../src/protocol/identifier.ts';
import { Oracle, type PlainLine } from '../oracle.ts';
import { policyOf, principal } from '../support.ts';
import { casesOf } from '../../support/cases.ts';

const letters = ['a', 'b', 'system'];

/** Every object up to four segments, of the names in the lines and one that no line names. */
const universe: readonly ObjectPath[] = [0, 1, 2, 3, 4].flatMap(pathsOfLength);

function pathsOfLength(length: number): readonly ObjectPath[] {
  if (length === 0) return [[]];
  return pathsOfLength(length - 1).flatMap((path) =>
    [...letters, 'z'].map((name) => [...path, name]),
  );
}

const pattern = fc
  .tuple(fc.array(fc.constantFrom(...letters, '*'), { maxLength: 3 }), fc.boolean())
  .map(([parts, below]) => `/${[...parts, ...(below ? ['**'] : [])].join('/')}`);

const action = fc.constantFrom(
  '*',
  'audit',
  'list',
  'describe',
  'read',
  'QueryTable',
  'DescribeTable',
  'append',
  'ListTables',
);

const line: fc.Arbitrary<PlainLine> = fc.record({
  subject: fc.constantFrom('user:ann', 'role:r', '*', 'user:other'),
  object: pattern,
  action,
  effect: fc.constantFrom('allow', 'deny'),
});

const lines = fc.array(line, { minLength: 1, maxLength: 8 });

const scopes = fc.option(fc.array(fc.record({ action, pattern }), { maxLength: 3 }), {
  nil: undefined,
});

const rights = ['QueryTable', 'InsertIntoTable', 'DescribeTable', 'ListTables', 'audit'] as const;

async function both(written: readonly PlainLine[], scoped: Parameters<typeof principal>[2]) {
  const texts = written.map((l) => `p, ${l.subject}, ${l.object}, ${l.action}, ${l.effect}`);
  const { snapshot } = await policyOf(texts);
  const oracle = new Oracle(written, ['user:ann', 'role:r', '*'], scoped);
  return { snapshot, oracle, ann: principal('user:ann', ['role:r'], scoped) };
}

describe('decisions on every object of a small world', () => {
  it('are those of the reference implementation, with scopes and without', async () => {
    await fc.assert(
      fc.asyncProperty(lines, scopes, async (written, scoped) => {
        const { snapshot, oracle, ann } = await both(written, scoped);
        for (const object of universe.filter((_, index) => index % 7 === 0)) {
          for (const right of rights) {
            expect(snapshot.decide(ann, right, object).allowed).toBe(
              oracle.held(object).has(right),
            );
          }
        }
      }),
      { numRuns: casesOf(60, 200) },
    );
  });

  it('may be yes somewhere exactly where mayAnywhere says so', async () => {
    await fc.assert(
      fc.asyncProperty(lines, scopes, async (written, scoped) => {
        const { snapshot, oracle, ann } = await both(written, scoped);
        const held = universe.map((object) => oracle.held(object));
        for (const right of rights) {
          const somewhere = held.some((there) => there.has(right));
          expect(snapshot.mayAnywhere(ann, right)).toBe(somewhere);
        }
      }),
      { numRuns: casesOf(60, 200) },
    );
  });
});

describe('a listing', () => {
  it('shows exactly the tables and namespaces that brute force finds', async () => {
    await fc.assert(
      fc.asyncProperty(lines, scopes, async (written, scoped) => {
        const { snapshot, oracle, ann } = await both(written, scoped);
        const shown = universe.filter((object) => oracle.shows(object));
        for (const object of universe.filter(({ length }) => length <= 3)) {
          const inside = shown.filter((one) => object.every((name, index) => name === one[index]));
          expect(snapshot.sees(ann, object, 'namespace')).toBe(inside.length > 0);
          expect(snapshot.sees(ann, object, 'table')).toBe(
            inside.some(({ length }) => length === object.length),
          );
        }
      }),
      { numRuns: casesOf(80, 300) },
    );
  });
});

interface Verdicts {
  readonly name: string;
  readonly lines: readonly string[];
  readonly asks: readonly (readonly [Action, string, boolean, string | null, string])[];
}

const verdicts: readonly Verdicts[] = [
  {
    name: 'is no where no line says yes',
    lines: ['p, user:bob, /**, *, allow'],
    asks: [['QueryTable', '/a', false, null, 'the policy does not allow QueryTable']],
  },
  {
    name: 'names the line that allows',
    lines: ['# who', 'p, user:ann, /b, read, allow', 'p, user:ann, /a, read, allow'],
    asks: [['QueryTable', '/a', true, 'policy.csv:3', 'the policy allows QueryTable']],
  },
  {
    name: 'names the line that denies, whatever allows',
    lines: ['p, user:ann, /**, *, allow', 'p, *, /a/**, QueryTable, deny', 'g, user:ann, role:x'],
    asks: [
      ['QueryTable', '/a/b', false, 'policy.csv:2', 'the policy denies QueryTable'],
      ['CountTableRows', '/a/b', true, 'policy.csv:1', 'the policy allows CountTableRows'],
    ],
  },
  {
    name: 'gives describe along with any other right, and names the line that brings it',
    lines: [
      'p, user:ann, /a, append, allow',
      'p, user:ann, /b, append, allow',
      'p, user:ann, /b, DescribeTable, deny',
    ],
    asks: [
      ['DescribeTable', '/a', true, 'policy.csv:1', 'the policy allows DescribeTable'],
      ['DescribeTable', '/b', false, 'policy.csv:3', 'the policy denies DescribeTable'],
      ['TableExists', '/b', true, 'policy.csv:2', 'the policy allows TableExists'],
      ['DescribeTable', '/c', false, null, 'the policy does not allow DescribeTable'],
    ],
  },
  {
    name: 'gives no describe along with a right that is itself denied',
    lines: ['p, user:ann, /a, append, allow', 'p, user:ann, /a, append, deny'],
    asks: [['DescribeTable', '/a', false, null, 'the policy does not allow DescribeTable']],
  },
  {
    name: 'lets every principal list, whatever is denied: what is shown is filtered',
    lines: ['p, user:ann, /a/**, *, deny'],
    asks: [
      ['ListTables', '/b', true, null, 'the policy allows ListTables'],
      ['ListTables', '/a', true, null, 'the policy allows ListTables'],
    ],
  },
  {
    name: 'opens the namespace system to audit alone',
    lines: [
      'p, user:ann, /**, read, allow',
      'p, user:ann, /system/x, audit, allow',
      'p, user:ann, /system/x, UpdateTable, deny',
    ],
    asks: [
      ['QueryTable', '/system/audit', false, null, 'the namespace system needs the action audit'],
      ['ListTables', '/system', false, null, 'the namespace system needs the action audit'],
      ['QueryTable', '/system/x', true, 'policy.csv:2', 'the policy allows QueryTable'],
      ['UpdateTable', '/system/x', false, 'policy.csv:3', 'the policy denies UpdateTable'],
      ['QueryTable', '/systems', true, 'policy.csv:1', 'the policy allows QueryTable'],
      ['QueryTable', '/a/system', true, 'policy.csv:1', 'the policy allows QueryTable'],
    ],
  },
  {
    name: 'closes the namespace system where audit is denied',
    lines: ['p, user:ann, /**, *, allow', 'p, *, /system/x/**, audit, deny'],
    asks: [
      ['QueryTable', '/system/y', true, 'policy.csv:1', 'the policy allows QueryTable'],
      ['QueryTable', '/system/x', false, 'policy.csv:2', 'the policy denies QueryTable'],
      ['DescribeTable', '/system/x/z', false, 'policy.csv:2', 'the policy denies DescribeTable'],
    ],
  },
  {
    name: 'asks for every operation of a group, and for manage and audit as they are',
    lines: [
      'p, user:ann, /a, DropTable, allow',
      'p, user:ann, /b, drop, allow',
      'p, user:ann, /, manage, allow',
    ],
    asks: [
      ['drop', '/a', false, null, 'the policy does not allow DropNamespace'],
      ['drop', '/b', true, 'policy.csv:2', 'the policy allows DropNamespace'],
      ['manage', '/', true, 'policy.csv:3', 'the policy allows CancelJob'],
      ['audit', '/', false, null, 'the policy does not allow audit'],
    ],
  },
  {
    name: 'takes patterns by segments: * one, /** the thing itself and everything below',
    lines: [
      'p, user:ann, /a/*, read, allow',
      'p, user:ann, /b/**, read, allow',
      'p, user:ann, /c%24d/%2A, read, allow',
    ],
    asks: [
      ['QueryTable', '/a', false, null, 'the policy does not allow QueryTable'],
      ['QueryTable', '/a/x', true, 'policy.csv:1', 'the policy allows QueryTable'],
      ['QueryTable', '/a/x/y', false, null, 'the policy does not allow QueryTable'],
      ['QueryTable', '/b', true, 'policy.csv:2', 'the policy allows QueryTable'],
      ['QueryTable', '/b/x/y', true, 'policy.csv:2', 'the policy allows QueryTable'],
      ['QueryTable', '/bb', false, null, 'the policy does not allow QueryTable'],
      ['QueryTable', '/c$d/*', true, 'policy.csv:3', 'the policy allows QueryTable'],
      ['QueryTable', '/c$d/x', false, null, 'the policy does not allow QueryTable'],
    ],
  },
];

describe('a verdict', () => {
  it.each(verdicts)('$name', async ({ lines: written, asks }) => {
    const { snapshot } = await policyOf(written);
    for (const [asked, object, allowed, rule, reason] of asks) {
      const path = object.split('/').filter((name) => name !== '');
      expect(snapshot.decide(principal('user:ann'), asked, path)).toEqual({
        allowed,
        rule,
        reason,
      });
    }
  });

  it('applies the lines of the subject, its groups, its roles, everyone, and their roles', async () => {
    const { snapshot } = await policyOf([
      'p, group:data, /a, read, allow',
      'p, role:far, /b, read, allow',
      'p, *, /c, read, allow',
      'g, group:data, role:near',
      'g, role:near, role:far',
      'p, role:own, /d, read, allow',
      'g, *, role:all',
      'p, role:all, /e, read, allow',
    ]);
    const ann = principal('user:ann', ['group:data', 'role:own']);
    const reads = (who: typeof ann) =>
      ['a', 'b', 'c', 'd', 'e'].filter(
        (name) => snapshot.decide(who, 'QueryTable', [name]).allowed,
      );
    expect(reads(ann)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(reads(principal('user:ann'))).toEqual(['c', 'e']);
    expect(reads(principal('user:ann', ['role:near']))).toEqual(['b', 'c', 'e']);
  });

  it('lets a deny of any of the names win', async () => {
    const { snapshot } = await policyOf([
      'p, user:ann, /a, read, allow',
      'p, group:out, /**, *, deny',
    ]);
    expect(snapshot.decide(principal('user:ann'), 'QueryTable', ['a']).allowed).toBe(true);
    expect(snapshot.decide(principal('user:ann', ['group:out']), 'QueryTable', ['a'])).toEqual({
      allowed: false,
      rule: 'policy.csv:2',
      reason: 'the policy denies QueryTable',
    });
  });

  it('is narrowed by scopes, of which one that is not understood covers nothing', async () => {
    const { snapshot } = await policyOf(['p, user:ann, /**, *, allow']);
    const decide = (scopes: Parameters<typeof principal>[2], asked: Action) =>
      snapshot.decide(principal('user:ann', [], scopes), asked, ['a']);
    expect(decide([{ action: 'read', pattern: '/a' }], 'QueryTable').allowed).toBe(true);
    expect(decide([{ action: 'read', pattern: '/a' }], 'DescribeTable').allowed).toBe(true);
    expect(decide([{ action: 'read', pattern: '/a' }], 'ListTables').allowed).toBe(true);
    expect(decide([{ action: 'read', pattern: '/a' }], 'InsertIntoTable')).toEqual({
      allowed: false,
      rule: null,
      reason: 'the scopes of this credential do not cover InsertIntoTable',
    });
    expect(decide([{ action: 'read', pattern: '/b' }], 'DescribeTable').allowed).toBe(false);
    expect(decide([{ action: '*', pattern: 'a' }], 'QueryTable').allowed).toBe(false);
    expect(decide([{ action: 'everything', pattern: '/a' }], 'QueryTable').allowed).toBe(false);
    expect(decide([], 'QueryTable').allowed).toBe(false);
    expect(decide([], 'ListTables').allowed).toBe(true);
  });

  it('is no without a subject, an object or an action', async () => {
    const { snapshot } = await policyOf(['p, *, /**, *, allow']);
    const reason = (subject: string, asked: string, object: ObjectPath) =>
      snapshot.decide(principal(subject), asked as Action, object);
    expect(reason('', 'QueryTable', ['a'])).toEqual({
      allowed: false,
      rule: null,
      reason: 'the request has no subject',
    });
    expect(reason('user:ann', 'QueryTable', ['a', ''])).toEqual({
      allowed: false,
      rule: null,
      reason: 'the request names no object',
    });
    expect(reason('user:ann', '', ['a'])).toEqual({
      allowed: false,
      rule: null,
      reason: 'the request has no known action',
    });
    expect(reason('user:ann', '*', ['a']).allowed).toBe(false);
    expect(reason('user:ann', 'QueryTables', ['a']).allowed).toBe(false);
    expect(snapshot.sees(principal(''), ['a'], 'table')).toBe(false);
    expect(snapshot.sees(principal('user:ann'), [''], 'namespace')).toBe(false);
    expect(snapshot.mayAnywhere(principal(''), 'QueryTable')).toBe(false);
    expect(snapshot.mayAnywhere(principal('user:ann'), '' as Action)).toBe(false);
  });

  it('tells principals apart whose names hold the separators of others', async () => {
    const { snapshot } = await policyOf([
      'p, user:a%24, /x, read, allow',
      'p, user:a%2Cb, /y, read, allow',
      'p, group:%22, /z, read, allow',
    ]);
    const reads = (subject: string, more: readonly string[] = []) =>
      ['x', 'y', 'z'].filter(
        (name) => snapshot.decide(principal(subject, more), 'QueryTable', [name]).allowed,
      );
    expect(reads('user:a%24')).toEqual(['x']);
    expect(reads('user:a')).toEqual([]);
    expect(reads('user:a%2Cb')).toEqual(['y']);
    expect(reads('user:b', ['group:%22'])).toEqual(['z']);
    expect(reads('user:b","group:%22')).toEqual([]);
  });

  it('stays the same however many principals were asked about in between', async () => {
    const { snapshot } = await policyOf(['p, user:n7, /a, read, allow']);
    const allowed = Array.from(
      { length: 10_000 },
      (_, n) => snapshot.decide(principal(`user:n${n}`), 'QueryTable', ['a']).allowed,
    );
    expect(allowed.flatMap((yes, n) => (yes ? [n] : []))).toEqual([7]);
    expect(snapshot.decide(principal('user:n7'), 'QueryTable', ['a']).allowed).toBe(true);
  });
});
