import {
  DefaultRoleManager,
  StringAdapter,
  newEnforcer,
  newModelFromString,
  type Enforcer,
} from 'casbin';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalPath } from '../../src/protocol/identifier.ts';
import { covers, within } from '../../src/policy/decide/casbin-enforcer.ts';
import { CompiledSnapshot } from '../../src/policy/decide/compiled-snapshot.ts';
import type { Action } from '../../src/protocol/operations/operation.ts';
import type { Effect } from '../../src/policy/conditions/condition.ts';
import type { PolicySnapshot } from '../../src/policy/decide/snapshot.ts';
import type { Grants } from '../../src/policy/lines/want.ts';
import { accessGroups, rightNames, rightsOf } from '../../src/policy/lines/rights.ts';
import { noCircumstances } from '../../src/policy/conditions/circumstances.ts';
import { applies, cell, circumstances, conditionalModel, examples } from './conditions.ts';
import { policyOf, principal, shippedModel } from './support.ts';
import { casesOf } from '../support/cases.ts';

const ROLES = 24;
/** Random policies, and what is asked of each. */
const POLICIES = casesOf(12, 120);
const QUESTIONS = 100;

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
    fc.constantFrom<Effect[]>('allow', 'allow', 'allow', 'deny'),
    fc.constantFrom(...examples),
  )
  .map(([subject, object, action, effect, condition]) => ({
    text: `p, ${[subject, object, action, effect].join(', ')}`,
    effect,
    condition,
  }));

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

const questions = fc.array(question, { minLength: QUESTIONS, maxLength: QUESTIONS });

/** How often verdicts were compared, and how many of them were yes. */
class Tally {
  decisions = 0;
  allowed = 0;

  add(allowed: boolean): void {
    this.decisions += 1;
    if (allowed) this.allowed += 1;
  }

  check(least: number): void {
    expect(this.decisions).toBeGreaterThanOrEqual(least);
    expect(this.allowed).toBeGreaterThan(this.decisions / 100);
    expect(this.allowed).toBeLessThan((this.decisions * 99) / 100);
  }
}

/** A principal has all its names: the judge knows each as one more member of them. */
function membershipsOf(asked: readonly { subject: string; more: readonly string[] }[]) {
  return asked.flatMap(({ subject, more }, index) =>
    [subject, ...more, '*'].map((name) => `g, probe:${index}, ${name}`),
  );
}

function compiled(snapshot: PolicySnapshot): CompiledSnapshot {
  if (snapshot instanceof CompiledSnapshot) return snapshot;
  throw new Error('the policy is not compiled');
}

function verdictOf({ allow, deny }: Grants, right: Action): boolean {
  return rightsOf(right).within(allow) && !rightsOf(right).meets(deny);
}

/** Casbin as it comes, reading the text itself; a principal is a member of all its names. */
async function judgeOf(
  text: string,
  model = shippedModel,
  holds: (condition: string) => boolean = () => true,
): Promise<Enforcer> {
  const judge = await newEnforcer(newModelFromString(model));
  judge.setAdapter(new StringAdapter(text));
  judge.setRoleManager(new DefaultRoleManager(1000));
  await judge.addFunction('within', within);
  await judge.addFunction('covers', covers);
  await judge.addFunction('holds', holds);
  await judge.loadPolicy();
  return judge;
}

describe('a compiled policy', () => {
  it('gives the verdicts of casbin itself on random policies', async () => {
    const tally = new Tally();
    await fc.assert(
      fc.asyncProperty(policy, questions, async ([lines, ...roles], asked) => {
        const all = [...lines.map(({ text }) => text), ...roles.flat()];
        const snapshot = compiled((await policyOf(all)).snapshot);
        const judge = await judgeOf([...all, ...membershipsOf(asked)].join('\n'));
        for (const [index, { subject, more, object, right }] of asked.entries()) {
          const verdict = verdictOf(snapshot.grants(principal(subject, more), object), right);
          expect(verdict).toBe(judge.enforceSync(`probe:${index}`, canonicalPath(object), right));
          tally.add(verdict);
        }
      }),
      { numRuns: POLICIES, endOnFailure: true },
    );
    tally.check(POLICIES * QUESTIONS);
  });

  it('gives the verdicts of casbin itself on random policies with conditions', async () => {
    const tally = new Tally();
    const moments = fc.array(circumstances, { minLength: QUESTIONS, maxLength: QUESTIONS });
    await fc.assert(
      fc.asyncProperty(policy, questions, moments, async ([lines, ...roles], asked, times) => {
        const written = lines.map(({ text, condition }) => `${text}, ${cell(condition.text)}`);
        const memberships = roles.flat();
        const { snapshot } = await policyOf([...written, ...memberships], conditionalModel);
        // The matcher hands `holds` the cell alone, so the judge is given one that also has the effect.
        const judged = lines.map(
          ({ text, effect, condition }) => `${text}, ${examples.indexOf(condition)}-${effect}`,
        );
        let now = noCircumstances;
        const judge = await judgeOf(
          [...judged, ...memberships, ...membershipsOf(asked)].join('\n'),
          conditionalModel,
          (text) => {
            const [condition, effect] = text.split('-');
            return applies(examples[Number(condition)]!, effect === 'deny' ? 'deny' : 'allow', now);
          },
        );
        for (const [index, { subject, more, object, right }] of asked.entries()) {
          now = times[index]!;
          const grants = compiled(snapshot).grants(principal(subject, more), object, now);
          const verdict = verdictOf(grants, right);
          expect(verdict).toBe(judge.enforceSync(`probe:${index}`, canonicalPath(object), right));
          tally.add(verdict);
        }
      }),
      { numRuns: POLICIES, endOnFailure: true },
    );
    tally.check(POLICIES * QUESTIONS);
  });

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
