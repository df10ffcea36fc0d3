import { describe, expect, it } from 'vitest';
import { explain } from '../../src/policy/explain.ts';
import { policyOf, principal } from './support.ts';

const lines = [
  'p, role:analyst, /prod/**, read, allow',
  'p, role:analyst, /prod/hr/**, *, deny',
  'p, role:loader, /prod/events, append, allow',
  'g, user:alice, role:analyst',
];

const nearest = async (subject: string, action: Parameters<typeof explain>[2], object: string) => {
  const policy = await policyOf(lines);
  return explain(policy, principal(subject), action, object.slice(1).split('/')).nearest;
};

describe('an explanation', () => {
  it('of an allow is its line', async () => {
    const policy = await policyOf(lines);
    expect(explain(policy, principal('user:alice'), 'QueryTable', ['prod', 'x'])).toEqual({
      verdict: { allowed: true, rule: 'policy.csv:1', reason: 'the policy allows QueryTable' },
      nearest: null,
    });
  });

  it('of a refusal names what the nearest allow lacks', async () => {
    expect(await nearest('user:alice', 'InsertIntoTable', '/prod/events')).toEqual({
      rule: 'policy.csv:1',
      text: 'it allows read, not InsertIntoTable',
    });
    expect(await nearest('user:bob', 'InsertIntoTable', '/prod/events')).toEqual({
      rule: 'policy.csv:3',
      text: 'it is about role:loader, which does not include user:bob',
    });
    expect(await nearest('user:alice', 'QueryTable', '/test/x')).toEqual({
      rule: 'policy.csv:1',
      text: '/prod/** does not match /test/x',
    });
    expect(await nearest('user:bob', 'InsertIntoTable', '/prod/events/x')).toEqual({
      rule: 'policy.csv:3',
      text: 'it is about role:loader, which does not include user:bob; /prod/events does not match /prod/events/x',
    });
  });

  it('of a denied request names the allow that the deny took away', async () => {
    const policy = await policyOf(lines);
    expect(explain(policy, principal('user:alice'), 'QueryTable', ['prod', 'hr', 'pay'])).toEqual({
      verdict: { allowed: false, rule: 'policy.csv:2', reason: 'the policy denies QueryTable' },
      nearest: { rule: 'policy.csv:1', text: 'it allows this, but something else takes it away' },
    });
  });

  it('names no line that has nothing in common with the request', async () => {
    expect(await nearest('user:bob', 'DropTable', '/test/x')).toBeNull();
  });
});
