import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Circumstances } from '../../../src/policy/conditions/circumstances.ts';
import {
  conditionHolds,
  failedTerms,
  type Condition,
} from '../../../src/policy/conditions/condition.ts';
import { parseCondition } from '../../../src/policy/conditions/condition-parser.ts';
import { applies, circumstances, conditionalModel, examples } from '../conditions.ts';
import { findingsOf, policyOf, principal } from '../support.ts';

function conditionOf(text: string): Condition {
  const result = parseCondition(text);
  if ('fault' in result || result.condition === undefined) throw new Error(`no condition: ${text}`);
  return result.condition;
}

const at = (time: string): Circumstances => ({ time: Date.parse(time), context: new Map() });
const from = (ip: string): Circumstances => ({ ip, context: new Map() });
const on = (branch: string | null): Circumstances => ({ branch, context: new Map() });
const withContext = (...entries: readonly [string, string][]): Circumstances => ({
  context: new Map(entries),
});
const nothing: Circumstances = { context: new Map() };

/** A condition, circumstances, and whether an allow and a deny under it apply. */
const outcomes: readonly (readonly [string, Circumstances, boolean, boolean])[] = [
  ['ip in 10.0.0.0/8', from('10.255.0.1'), true, true],
  ['ip in 10.0.0.0/8', from('11.0.0.1'), false, false],
  ['ip in 10.0.0.0/8', from('::ffff:10.1.2.3'), true, true],
  ['ip in 10.0.0.0/8', from('::10.1.2.3'), false, false],
  ['ip in 10.0.0.0/8', from('::1'), false, false],
  ['ip in 10.0.0.0/8', nothing, false, true],
  ['ip in 10.0.0.0/8', from('unknown'), false, true],
  ['ip in 127.0.0.1, 2001:db8::/32', from('2001:db8:1::7'), true, true],
  ['ip in (127.0.0.1, 2001:db8::/32)', from('127.0.0.1'), true, true],
  ['ip in 127.0.0.1, 2001:db8::/32', from('127.0.0.2'), false, false],
  ['ip in 0.0.0.0/0', from('203.0.113.9'), true, true],
  ['ip in fe80::/10', from('fe80::1%eth0'), true, true],
  ['time in 08:00..18:00 UTC', at('2026-03-02T08:00:00Z'), true, true],
  ['time in 08:00..18:00 UTC', at('2026-03-02T17:59:59.999Z'), true, true],
  ['time in 08:00..18:00 UTC', at('2026-03-02T18:00:00Z'), false, false],
  ['time in 08:00..18:00 UTC', at('2026-03-02T07:59:59Z'), false, false],
  ['time in 08:00..18:00 UTC', nothing, false, true],
  ['time in 22:00..06:00 UTC', at('2026-03-02T23:00:00Z'), true, true],
  ['time in 22:00..06:00 UTC', at('2026-03-02T05:59:00Z'), true, true],
  ['time in 22:00..06:00 UTC', at('2026-03-02T06:00:00Z'), false, false],
  ['time in 00:00..24:00 UTC', at('2026-03-02T23:59:59Z'), true, true],
  // Summer time in Berlin begins on 29 March 2026 at 01:00 UTC: 02:30 does not exist there.
  ['time in 08:00..09:00 Europe/Berlin', at('2026-03-28T07:30:00Z'), true, true],
  ['time in 08:00..09:00 Europe/Berlin', at('2026-03-29T07:30:00Z'), false, false],
  ['time in 08:00..09:00 Europe/Berlin', at('2026-03-29T06:30:00Z'), true, true],
  ['time in 02:00..03:00 Europe/Berlin', at('2026-03-29T01:30:00Z'), false, false],
  ['time in 05:30..05:31 Asia/Kolkata', at('2026-03-02T00:00:00Z'), true, true],
  ['day in mon..fri', at('2026-03-02T00:00:00Z'), true, true],
  ['day in mon..fri', at('2026-03-01T23:59:59Z'), false, false],
  ['day in mon..fri', nothing, false, true],
  ['day in sat, sun', at('2026-03-01T12:00:00Z'), true, true],
  ['day in fri..mon', at('2026-03-01T12:00:00Z'), true, true],
  ['day in fri..mon', at('2026-03-03T12:00:00Z'), false, false],
  ['day in mon Asia/Tokyo', at('2026-03-01T15:00:00Z'), true, true],
  // Without a zone of their own, days are those of the time beside them.
  ['day in mon and time in 00:00..12:00 Asia/Tokyo', at('2026-03-01T15:00:00Z'), true, true],
  ['ctx.team == a', withContext(['team', 'a']), true, true],
  ['ctx.team == a', withContext(['team', 'b']), false, false],
  ['ctx.team == a', withContext(['other', 'a']), false, true],
  ['ctx.team != a', withContext(['team', 'b']), true, true],
  ['ctx.team != a', nothing, false, true],
  ['ctx.team in (a, "b c", \'d, e\')', withContext(['team', 'b c']), true, true],
  ['ctx.team in (a, "b c", \'d, e\')', withContext(['team', 'd, e']), true, true],
  ['ctx.team in (a, "b c")', withContext(['team', 'A']), false, false],
  ['ctx.constructor == x', nothing, false, true],
  ['branch == dev', on('dev'), true, true],
  ['branch == dev', on('main'), false, false],
  ['branch == dev', nothing, false, true],
  ['branch != main', on('dev'), true, true],
  // Open: the reader of the body asks again.
  ['branch == dev', on(null), true, false],
  ['branch != main', on(null), true, false],
  ['branch in (dev, test) and ctx.a == x', on('test'), false, true],
  ['branch in (dev, test) and ctx.a == x', on('main'), false, false],
];

describe('a condition', () => {
  it.each(outcomes)('%s under %j', (text, now, allow, deny) => {
    expect(conditionHolds(conditionOf(text), 'allow', now)).toBe(allow);
    expect(conditionHolds(conditionOf(text), 'deny', now)).toBe(deny);
  });

  it('comes to what its terms come to, one by one', () => {
    const written = examples.filter(({ text }) => text !== '');
    fc.assert(
      fc.property(
        fc.constantFrom(...written),
        fc.constantFrom('allow', 'deny'),
        circumstances,
        (example, effect, now) => {
          const condition = conditionOf(example.text);
          expect(conditionHolds(condition, effect, now)).toBe(applies(example, effect, now));
          expect(failedTerms(condition, effect, now).length === 0).toBe(
            applies(example, effect, now),
          );
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('says which terms are not met, and what was there instead', () => {
    const condition = conditionOf(
      'ip in 10.0.0.0/8 and time in 08:00..18:00 Europe/Berlin and ctx.a == x',
    );
    const now = { ip: '192.0.2.1', time: Date.parse('2026-03-02T19:05:00Z'), context: new Map() };
    expect(failedTerms(condition, 'allow', now)).toEqual([
      'ip in 10.0.0.0/8 (it is 192.0.2.1)',
      'time in 08:00..18:00 Europe/Berlin (it is mon 20:05 Europe/Berlin)',
      'ctx.a == x (missing)',
    ]);
  });
});

/** A condition that is refused, and what is said about it. */
const faults: readonly (readonly [string, string])[] = [
  ['foo in x', 'unknown variable "foo": there are ip, time, day, branch and ctx.KEY'],
  ['"ip" in 10.0.0.0/8', 'unknown variable "ip": there are ip, time, day, branch and ctx.KEY'],
  ['ip == 1.2.3.4', 'an address is compared with ip in NETWORK, not "=="'],
  ['ip in 10.1.0.0/8', '"10.1.0.0/8" has bits beyond its prefix: write 10.0.0.0/8'],
  ['ip in 2001:db8::1/32', '"2001:db8::1/32" has bits beyond its prefix: write 2001:db8::/32'],
  ['ip in 1.2.3.4/33', '"1.2.3.4/33" is no network: a prefix is from 0 to 32'],
  ['ip in office', '"office" is no network: write one like 10.0.0.0/8'],
  ['ip in', 'the condition ends too early: a network is missing at the end'],
  ['time in 8:00..18:00 UTC', '"8:00..18:00" is no window: write one like 08:00..18:00'],
  ['time in 08:00..25:00 UTC', '"08:00..25:00" is no window: write one like 08:00..18:00'],
  ['time in 08:60..18:00 UTC', '"08:60..18:00" is no window: write one like 08:00..18:00'],
  ['time in 08:00..08:00 UTC', 'the window 08:00..08:00 is empty: the whole day is 00:00..24:00'],
  ['time in 08:00..18:00', 'the window 08:00..18:00 has no zone: write 08:00..18:00 UTC'],
  [
    'time in 08:00..18:00 Mars/Base',
    'unknown time zone "Mars/Base": write UTC or a name such as Europe/Berlin',
  ],
  ['day in mon-fri', '"mon-fri" is no day: write mon, tue, wed, thu, fri, sat, sun or mon..fri'],
  ['day in Mon', '"Mon" is no day: write mon, tue, wed, thu, fri, sat, sun or mon..fri'],
  [
    'day in mon..wed..fri',
    '"mon..wed..fri" is no day: write mon, tue, wed, thu, fri, sat, sun or mon..fri',
  ],
  [
    'day in mon and time in 01:00..09:00 UTC and time in 01:00..09:00 Asia/Tokyo',
    'say in which zone: day in mon UTC or Asia/Tokyo',
  ],
  ['ctx.Team == a', 'keys of the context are in lower case: write ctx.team'],
  ['ctx. == a', 'ctx. can never be there: its key is no name of a header'],
  ['ctx.team', 'the condition ends too early: ctx.team is compared with ==, != or in (…)'],
  ['ctx.team in a', 'write ctx.team in (…)'],
  ['ctx.team in (a', 'a bracket is not closed'],
  ['ctx.team in (a,)', 'a value is missing before ")"'],
  ['ctx.team = a', 'the condition cannot be read from "= a" on'],
  ['ctx.team == "a', 'the condition cannot be read from "\\"a" on'],
  ['ctx.team == a or branch == b', 'terms are joined by and, not "or"'],
  ['ctx.team == a branch == b', 'terms are joined by and, not "branch"'],
  [
    'ctx.team == a and',
    'the condition ends too early: a term begins with one of ip, time, day, branch and ctx.KEY',
  ],
  ['ctx.team == and', 'a value is missing before "and"'],
  ['branch not main', 'branch is compared with ==, != or in (…), not "not"'],
  [
    'ctx.a == x and ctx.a == y',
    'the condition can never hold: no ctx.a satisfies ctx.a == x and ctx.a == y',
  ],
  [
    'ctx.a in (x, y) and branch == b and ctx.a != x and ctx.a != y',
    'the condition can never hold: no ctx.a satisfies ctx.a in (x, y) and ctx.a != x and ctx.a != y',
  ],
  [
    'ip in 10.0.0.0/8 and ip in 192.168.0.0/16, 11.0.0.0/8',
    'the condition can never hold: no ip satisfies ip in 10.0.0.0/8 and ip in 192.168.0.0/16, 11.0.0.0/8',
  ],
  [
    'time in 08:00..09:00 UTC and time in 09:00..08:00 UTC',
    'the condition can never hold: no time satisfies time in 08:00..09:00 UTC and time in 09:00..08:00 UTC',
  ],
  [
    'day in mon and day in tue',
    'the condition can never hold: no day satisfies day in mon and day in tue',
  ],
];

describe('a condition is refused', () => {
  it.each(faults)('%s', (text, fault) => {
    expect(parseCondition(text)).toEqual({ fault });
  });

  it('with the file and the line it stands in, at the load', async () => {
    const good = 'p, user:ann, /a, read, allow, ip in 10.0.0.0/8';
    const wrong = 'p, user:ann, /a, read, deny, ctx.a == x and ctx.a == y';
    expect(await findingsOf(`${good}\n${wrong}\n`, conditionalModel)).toEqual([
      'policy.csv:2: the condition can never hold: no ctx.a satisfies ctx.a == x and ctx.a == y',
    ]);
    expect(await findingsOf('p, user:ann, /a, read, allow\n', conditionalModel)).toEqual([
      'policy.csv:1: a p line has 5 columns (sub, obj, act, eft, cond), not 4',
    ]);
  });

  it.each([
    ['ip in 10.0.0.0/8 and ip in 10.2.0.0/16, 192.168.0.0/16'],
    ['ctx.a in (x, y) and ctx.a != x'],
    ['time in 22:00..06:00 UTC and time in 05:00..07:00 UTC'],
    ['day in mon UTC and day in tue Asia/Tokyo'],
    ['ctx.a == x and ctx.b == y'],
  ])('but not %s, which may hold', (text) => {
    expect(parseCondition(text)).toHaveProperty('condition.text', text);
  });
});

describe('a model with conditions', () => {
  it('is compiled, and its lines decide by them', async () => {
    const { snapshot } = await policyOf(
      [
        'p, user:ann, /a/**, read, allow, ',
        'p, user:ann, /a/**, append, allow, "ip in 10.0.0.0/8, 192.168.0.0/16"',
        'p, *, /a/b, *, deny, ctx.team in (x, y)',
      ],
      conditionalModel,
    );
    expect(snapshot.slow).toBe(false);
    const ann = principal('user:ann');
    const decide = (
      action: 'QueryTable' | 'InsertIntoTable',
      path: string[],
      now?: Circumstances,
    ) => snapshot.decide(ann, action, path, now);
    expect(decide('QueryTable', ['a']).rule).toBe('policy.csv:1');
    expect(decide('InsertIntoTable', ['a']).allowed).toBe(false);
    expect(decide('InsertIntoTable', ['a'], from('192.168.3.4')).rule).toBe('policy.csv:2');
    expect(decide('QueryTable', ['a', 'b'])).toEqual({
      allowed: false,
      rule: 'policy.csv:3',
      reason: 'the policy denies QueryTable',
    });
    expect(decide('QueryTable', ['a', 'b'], withContext(['team', 'z'])).rule).toBe('policy.csv:1');
    expect(decide('QueryTable', ['a', 'b'], withContext(['team', 'y'])).allowed).toBe(false);
  });

  it('may be any other that asks holds, which casbin decides', async () => {
    const anyAllow = conditionalModel.replace(' && !some(where (p.eft == deny))', '');
    const { snapshot } = await policyOf(
      [
        'p, user:ann, /a, read, allow, ip in 10.0.0.0/8',
        'p, user:ann, /b, read, deny, ',
        'p, user:ann, /b, read, allow, branch != main',
      ],
      anyAllow,
    );
    expect(snapshot.slow).toBe(true);
    const ann = principal('user:ann');
    expect(snapshot.decide(ann, 'QueryTable', ['a'], from('10.0.0.1')).rule).toBe('policy.csv:1');
    expect(snapshot.decide(ann, 'QueryTable', ['a']).allowed).toBe(false);
    expect(snapshot.decide(ann, 'QueryTable', ['b'], on('dev')).allowed).toBe(true);
    expect(snapshot.decide(ann, 'QueryTable', ['b'], on('main')).allowed).toBe(false);
    expect(snapshot.sees(ann, ['a'], 'table', from('10.0.0.1'))).toBe(true);
    expect(snapshot.sees(ann, ['a'], 'table')).toBe(false);
    expect(snapshot.mayAnywhere(ann, 'QueryTable', on(null))).toBe(true);
    const priority = conditionalModel.replace(
      'some(where (p.eft == allow)) && !some(where (p.eft == deny))',
      'priority(p.eft) || deny',
    );
    const lines = ['p, *, /a, *, deny, ctx.ok != yes', 'p, user:ann, /**, *, allow, '];
    const { snapshot: first } = await policyOf(lines, priority);
    expect(first.decide(ann, 'QueryTable', ['a']).allowed).toBe(false);
    expect(first.decide(ann, 'QueryTable', ['a'], withContext(['ok', 'yes'])).allowed).toBe(true);
  });

  it.each([
    [
      'a column that is never asked',
      ' && holds(p.cond)',
      '',
      'model.conf:14: p has the column cond, but the matcher never asks holds(p.cond)',
    ],
    [
      'a question about something else',
      'holds(p.cond)',
      'holds(p.act)',
      'model.conf:14: holds takes the condition of a line: write holds(p.cond)',
    ],
  ])('is refused for %s', async (_, before, after, finding) => {
    const model = conditionalModel.replace(before, after);
    expect(await findingsOf('p, user:ann, /a, read, allow, \n', model)).toEqual([finding]);
  });
});
