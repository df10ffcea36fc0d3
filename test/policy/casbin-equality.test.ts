import { DefaultRoleManager, StringAdapter, newEnforcer, newModelFromString } from 'casbin';
import type { Enforcer } from 'casbin';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalPath } from '../../src/protocol/identifier.ts';
import { covers, within } from '../../src/policy/casbin-functions.ts';
import { CompiledSnapshot } from '../../src/policy/compiled-snapshot.ts';
import { accessGroups, rightNames, rightsOf } from '../../src/policy/rights.ts';
import { policyOf, principal, shippedModel } from './support.ts';

const ROLES = 24;

const users = ['user:ann', 'user:bob', 'user:c%2Cd', 'user:%22q%22', 'group:data', 'group:d%24'];

const roleNames = Array.from({ length: ROLES }, (_, index) => `role:r${index}`);

const segments = ['a', 'b', 'c$d', 'ü', 'x,y', 'q"r', '*', 'a.b'];

const segment = fc.constantFrom(...segments);

const pattern = fc
  .tuple(fc.array(fc.option(segment, { nil: null, freq: 3 }), { maxLength: 4 }), fc.boolean())
  .map(([parts, below]) => {
    const spelt = parts.map((part) => (part === null ? '*' : canonicalPath([part]).slice(1)));
    return `/${[...spelt, ...(below ? ['**'] : [])].join('/')}`;
  });

const policyLine = fc
  .tuple(
    fc.constantFrom(...users, ...roleNames, '*'),
    pattern,
    fc.constantFrom('*', ...accessGroups, ...rightNames.slice(0, 40)),
    fc.constantFrom('allow', 'allow', 'allow', 'deny'),
  )
  .map((cells) => `p, ${cells.join(', ')}`);

/** Roles point to lower numbers only: chains as long as there are roles, and no cycle. */
const roleLine = fc
  .tuple(fc.integer({ min: 1, max: ROLES - 1 }), fc.integer({ min: 1, max: 3 }))
  .map(([from, down]) => `g, role:r${from}, role:r${Math.max(0, from - down)}`);

const memberLine = fc
  .tuple(fc.constantFrom(...users, '*'), fc.constantFrom(...roleNames))
  .map(([member, role]) => `g, ${member}, ${role}`);

const policy = fc.tuple(
  fc.array(policyLine, { minLength: 1, maxLength: 480, size: 'max' }),
  fc.uniqueArray(roleLine, { maxLength: 12 }),
  fc.uniqueArray(memberLine, { maxLength: 8 }),
);

const question = fc.record({
  subject: fc.constantFrom(...users.slice(0, 4), 'user:nobody'),
  more: fc.subarray(['group:data', 'group:d%24', 'role:r3', 'role:r20', 'role:nothing'], {
    maxLength: 2,
  }),
  object: fc.array(segment, { maxLength: 5 }),
  right: fc.constantFrom(...rightNames.slice(0, 40), ...rightNames.slice(-2)),
});

/** Casbin as it comes, reading the text itself; a principal is a member of all its names. */
async function judgeOf(text: string): Promise<Enforcer> {
  const judge = await newEnforcer(newModelFromString(shippedModel));
  judge.setAdapter(new StringAdapter(text));
  judge.setRoleManager(new DefaultRoleManager(1000));
  await judge.addFunction('within', within);
  await judge.addFunction('covers', covers);
  await judge.loadPolicy();
  return judge;
}

describe('a compiled policy', () => {
  it('gives the verdicts of casbin itself on random policies', async () => {
    let decisions = 0;
    let allowed = 0;
    const questions = fc.array(question, { minLength: 100, maxLength: 100 });
    await fc.assert(
      fc.asyncProperty(policy, questions, async (lines, asked) => {
        const all = lines.flat();
        const { snapshot } = await policyOf(all);
        const asking = asked.map(({ subject, more }, index) =>
          [subject, ...more, '*'].map((name) => `g, probe:${index}, ${name}`),
        );
        const judge = await judgeOf([...all, ...asking.flat()].join('\n'));
        for (const [index, { subject, more, object, right }] of asked.entries()) {
          if (!(snapshot instanceof CompiledSnapshot))
            throw new Error('the policy is not compiled');
          const { allow, deny } = snapshot.grants(principal(subject, more), object);
          const verdict = rightsOf(right)!.within(allow) && !rightsOf(right)!.meets(deny);
          expect(verdict).toBe(judge.enforceSync(`probe:${index}`, canonicalPath(object), right));
          decisions += 1;
          if (verdict) allowed += 1;
        }
      }),
      { numRuns: 210, endOnFailure: true },
    );
    expect(decisions).toBeGreaterThanOrEqual(20_000);
    expect(allowed).toBeGreaterThan(decisions / 20);
    expect(allowed).toBeLessThan((decisions * 19) / 20);
  }, 300_000);

  it('follows a chain of roles far beyond the ten steps of casbin', async () => {
    const chain = Array.from({ length: 5000 }, (_, n) => `g, role:r${n}, role:r${n + 1}`);
    const { snapshot } = await policyOf([
      ...chain,
      'p, role:r5000, /a, read, allow',
      'g, user:ann, role:r0',
    ]);
    expect(snapshot.decide(principal('user:ann'), 'QueryTable', ['a'])).toEqual({
      allowed: true,
      rule: 'policy.csv:5001',
      reason: 'the policy allows QueryTable',
    });
  });
});
