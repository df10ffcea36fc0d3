import { describe, expect, it } from 'vitest';
import { findingsOf, policyOf, principal, shippedModel } from '../support.ts';

const ann = principal('user:ann', ['group:data']);

/** Any line that allows decides; denies are not asked about. */
const allowOnly = shippedModel.replace(' && !some(where (p.eft == deny))', '');

const prefixes = `
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && keyMatch(r.obj, p.obj)
`;

const priority = shippedModel.replace(
  'some(where (p.eft == allow)) && !some(where (p.eft == deny))',
  'priority(p.eft) || deny',
);

describe('a model of its own', () => {
  it('is decided by casbin, which the snapshot says', async () => {
    const { snapshot } = await policyOf(
      ['p, user:ann, /a, read, allow', 'p, user:ann, /a, read, deny'],
      allowOnly,
    );
    expect(snapshot.slow).toBe(true);
    expect(snapshot.decide(ann, 'QueryTable', ['a'])).toEqual({
      allowed: true,
      rule: 'policy.csv:1',
      reason: 'the policy allows QueryTable',
    });
    expect((await policyOf(['p, user:ann, /a, read, allow'])).snapshot.slow).toBe(false);
  });

  it('may take the first line that matches', async () => {
    const lines = ['p, group:data, /a/b, read, deny', 'p, user:ann, /**, read, allow'];
    const { snapshot } = await policyOf(lines, priority);
    expect(snapshot.decide(ann, 'QueryTable', ['a', 'b'])).toEqual({
      allowed: false,
      rule: 'policy.csv:1',
      reason: 'the policy denies QueryTable',
    });
    expect(snapshot.decide(ann, 'QueryTable', ['a']).rule).toBe('policy.csv:2');
    const { snapshot: turned } = await policyOf(lines.toReversed(), priority);
    expect(turned.decide(ann, 'QueryTable', ['a', 'b']).allowed).toBe(true);
  });

  it('has the roles of all names of the principal, to any depth', async () => {
    const chain = Array.from({ length: 30 }, (_, n) => `g, role:r${n}, role:r${n + 1}`);
    const lines = [
      ...chain,
      'g, group:data, role:r0',
      'p, role:r30, /a, read, allow',
      'p, *, /b, read, allow',
    ];
    const { snapshot } = await policyOf(lines, allowOnly);
    expect(snapshot.decide(ann, 'QueryTable', ['a']).allowed).toBe(true);
    expect(snapshot.decide(principal('user:ann'), 'QueryTable', ['a']).allowed).toBe(false);
    expect(snapshot.decide(principal('user:ann'), 'QueryTable', ['b']).allowed).toBe(true);
  });

  it('may have columns and matchers of its own', async () => {
    const { snapshot } = await policyOf(['p, user:ann, /a/*'], prefixes);
    expect(snapshot.decide(ann, 'QueryTable', ['a', 'b', 'c']).rule).toBe('policy.csv:1');
    expect(snapshot.decide(ann, 'QueryTable', ['b'])).toEqual({
      allowed: false,
      rule: null,
      reason: 'the policy does not allow QueryTable',
    });
    expect(snapshot.decide(principal('user:bob'), 'QueryTable', ['a', 'b']).allowed).toBe(false);
  });

  it('gets the same additions: describe, lists, the namespace system, scopes, listings', async () => {
    const lines = ['p, user:ann, /a/*, append, allow', 'p, user:ann, /system/**, read, allow'];
    const { snapshot } = await policyOf(lines, allowOnly);
    expect(snapshot.decide(ann, 'DescribeTable', ['a', 'b'])).toEqual({
      allowed: true,
      rule: 'policy.csv:1',
      reason: 'the policy allows DescribeTable',
    });
    expect(snapshot.decide(ann, 'ListTables', ['z']).allowed).toBe(true);
    expect(snapshot.decide(ann, 'QueryTable', ['system', 'audit']).allowed).toBe(false);
    const scoped = principal('user:ann', [], [{ action: 'read', pattern: '/a/x' }]);
    expect(snapshot.decide(scoped, 'InsertIntoTable', ['a', 'x']).allowed).toBe(false);
    expect(snapshot.decide(scoped, 'DescribeTable', ['a', 'x']).allowed).toBe(true);
    expect(snapshot.sees(ann, ['a'], 'namespace')).toBe(true);
    expect(snapshot.sees(ann, ['a'], 'table')).toBe(false);
    expect(snapshot.sees(ann, ['a', 'b'], 'table')).toBe(true);
    expect(snapshot.sees(ann, ['b'], 'namespace')).toBe(false);
    expect(snapshot.mayAnywhere(ann, 'InsertIntoTable')).toBe(true);
    expect(snapshot.mayAnywhere(ann, 'DropTable')).toBe(false);
  });

  it('is checked for what casbin does not check', async () => {
    expect(await findingsOf('p, user:ann, /a/*, allow\np, user:ann\n', prefixes)).toEqual([
      'policy.csv:1: a p line has 2 columns (sub, obj), not 3',
      'policy.csv:2: a p line has 2 columns (sub, obj), not 1',
    ]);
    expect(await findingsOf('p, user:ann, /a/*\ng, user:ann, role:x\n', prefixes)).toEqual([
      'policy.csv:2: the model has no roles, so a g line says nothing',
    ]);
    expect(await findingsOf('p, user:ann, /a, read, Allow\ng, role:x, role:x\n', priority)).toEqual(
      [
        'policy.csv:1: the effect is "Allow": write allow or deny',
        'policy.csv:2: the roles form a cycle: role:x -> role:x',
      ],
    );
  });
});
