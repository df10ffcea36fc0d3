import * as fc from 'fast-check';
import type { Circumstances } from '../../src/policy/conditions/circumstances.ts';
import type { Effect } from '../../src/policy/conditions/condition.ts';
import { shippedModel } from './support.ts';

/** The shipped model with the condition column. */
export const conditionalModel = shippedModel
  .replace('act, eft', 'act, eft, cond')
  .replace('covers(p.act, r.act)', 'covers(p.act, r.act) && holds(p.cond)');

type Answer = boolean | 'missing' | 'open';

interface Example {
  readonly text: string;
  /** What becomes of each term, worked out by hand. */
  readonly terms: readonly ((now: Circumstances) => Answer)[];
}

const ofKey =
  (key: string, test: (value: string) => boolean) =>
  ({ context }: Circumstances): Answer => {
    const value = context.get(key);
    return value === undefined ? 'missing' : test(value);
  };

const ofBranch =
  (test: (value: string) => boolean) =>
  ({ branch }: Circumstances): Answer => {
    if (branch === undefined) return 'missing';
    return branch === null ? 'open' : test(branch);
  };

const ofIp =
  (test: (value: string) => boolean) =>
  ({ ip }: Circumstances): Answer =>
    ip === undefined ? 'missing' : test(ip);

const ofHour =
  (test: (hour: number) => boolean) =>
  ({ time }: Circumstances): Answer =>
    time === undefined ? 'missing' : test(new Date(time).getUTCHours());

/** Conditions, and what they mean in a form that shares nothing with what is tested. */
export const examples: readonly Example[] = [
  { text: '', terms: [] },
  { text: 'ip in 10.0.0.0/8', terms: [ofIp((ip) => ip.startsWith('10.'))] },
  {
    text: 'ip in (192.168.0.0/16, ::1)',
    terms: [ofIp((ip) => ip.startsWith('192.168.') || ip === '::1')],
  },
  { text: 'time in 08:00..18:00 UTC', terms: [ofHour((hour) => hour >= 8 && hour < 18)] },
  { text: 'time in 22:00..06:00 UTC', terms: [ofHour((hour) => hour >= 22 || hour < 6)] },
  {
    text: 'day in fri..sun',
    terms: [
      ({ time }) =>
        time === undefined ? 'missing' : [5, 6, 0].includes(new Date(time).getUTCDay()),
    ],
  },
  { text: 'ctx.team == a', terms: [ofKey('team', (team) => team === 'a')] },
  { text: 'ctx.team != a', terms: [ofKey('team', (team) => team !== 'a')] },
  {
    text: 'ctx.team in (a, "b c")',
    terms: [ofKey('team', (team) => team === 'a' || team === 'b c')],
  },
  { text: 'branch == dev', terms: [ofBranch((branch) => branch === 'dev')] },
  { text: 'branch != main', terms: [ofBranch((branch) => branch !== 'main')] },
  {
    text: 'branch in (dev, main) and ctx.team != a',
    terms: [
      ofBranch((branch) => branch === 'dev' || branch === 'main'),
      ofKey('team', (team) => team !== 'a'),
    ],
  },
  {
    text: 'ip in 10.0.0.0/8 and time in 08:00..18:00 UTC and ctx.job == x',
    terms: [
      ofIp((ip) => ip.startsWith('10.')),
      ofHour((hour) => hour >= 8 && hour < 18),
      ofKey('job', (job) => job === 'x'),
    ],
  },
];

/** Whether a line with this condition applies: what is missing fails an allow and satisfies a deny. */
export function applies({ terms }: Example, effect: Effect, now: Circumstances): boolean {
  const enough: readonly Answer[] = effect === 'allow' ? [true, 'open'] : [true, 'missing'];
  return terms.every((term) => enough.includes(term(now)));
}

const maybe = <Value>(...values: readonly Value[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined, freq: 4 });

/** Requests of all sorts. */
export const circumstances: fc.Arbitrary<Circumstances> = fc.record({
  ip: maybe('10.1.2.3', '192.168.7.7', '::1', '172.16.0.1'),
  time: maybe(
    ...[0, 3, 7, 8, 12, 17, 18, 22, 23].map((hour) => Date.UTC(2026, 0, 1 + hour, hour, 59)),
  ),
  context: fc
    .record({ team: maybe('a', 'b c', 'c'), job: maybe('x', 'y') })
    .map(
      (context) =>
        new Map(
          Object.entries(context).flatMap(([key, value]): [string, string][] =>
            value === undefined ? [] : [[key, value]],
          ),
        ),
    ),
  branch: fc.option(fc.constantFrom('main', 'dev', 'test', null), { nil: undefined, freq: 4 }),
});

/** A condition as a cell of a policy: quoted where it holds what would end the cell. */
export function cell(text: string): string {
  const ends = text.includes('"') || (text.includes(',') && !text.includes('('));
  return ends ? `"${text.replaceAll('"', '""')}"` : text;
}
