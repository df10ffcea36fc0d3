import { describe, expect, it } from 'vitest';
import { explain } from '../../src/policy/explain.ts';
import { principalsAllowed } from '../../src/policy/who.ts';
import { conditionalModel } from './conditions.ts';
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
      restrictions: [],
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
      restrictions: [],
    });
  });

  it('names no line that has nothing in common with the request', async () => {
    expect(await nearest('user:bob', 'DropTable', '/test/x')).toBeNull();
  });
});

describe('under conditions', () => {
  const conditional = [
    'p, role:analyst, /prod/**, read, allow, ip in 10.0.0.0/8 and time in 08:00..18:00 UTC',
    'p, role:night, /prod/**, read, allow, time in 18:00..08:00 UTC',
    'p, *, /prod/hr, *, deny, ctx.purpose != audit',
    'g, user:alice, role:analyst',
  ];
  const now = {
    ip: '192.0.2.1',
    time: Date.parse('2026-03-02T20:00:00Z'),
    context: new Map([['purpose', 'audit']]),
  };

  it('an explanation says which terms of the nearest line are not met', async () => {
    const policy = await policyOf(conditional, conditionalModel);
    const alice = principal('user:alice');
    expect(explain(policy, alice, 'QueryTable', ['prod', 'x'], now)).toEqual({
      verdict: { allowed: false, rule: null, reason: 'the policy does not allow QueryTable' },
      nearest: {
        rule: 'policy.csv:1',
        text: 'its condition fails: ip in 10.0.0.0/8 (it is 192.0.2.1) and time in 08:00..18:00 UTC (it is mon 20:00 UTC)',
      },
      restrictions: [],
    });
    const inOffice = { ...now, ip: '10.0.0.1', time: Date.parse('2026-03-02T09:00:00Z') };
    expect(explain(policy, alice, 'QueryTable', ['prod', 'x'], inOffice).verdict.rule).toBe(
      'policy.csv:1',
    );
  });

  it('an explanation names the deny whose condition holds, also for want of its variable', async () => {
    const policy = await policyOf(conditional, conditionalModel);
    const night = principal('user:bob', ['role:night']);
    const unsaid = { ...now, context: new Map() };
    expect(explain(policy, night, 'QueryTable', ['prod', 'hr'], unsaid)).toEqual({
      verdict: { allowed: false, rule: 'policy.csv:3', reason: 'the policy denies QueryTable' },
      nearest: { rule: 'policy.csv:2', text: 'it allows this, but something else takes it away' },
      restrictions: [],
    });
    expect(explain(policy, night, 'QueryTable', ['prod', 'hr'], now).verdict.allowed).toBe(true);
  });

  it('those who may are those who may then', async () => {
    const policy = await policyOf(conditional, conditionalModel);
    const who = (hour: string) =>
      principalsAllowed(policy, 'QueryTable', ['prod', 'x'], {
        ip: '10.0.0.1',
        time: Date.parse(`2026-03-02T${hour}:00:00Z`),
        context: new Map(),
      }).map((one) => one.principal.subject);
    expect(who('09')).toEqual(['role:analyst', 'user:alice']);
    expect(who('20')).toEqual(['role:night']);
    expect(principalsAllowed(policy, 'QueryTable', ['prod', 'x'])).toEqual([]);
  });
});
