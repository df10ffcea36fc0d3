// Policy decisions: the compiled policy against node-casbin as it comes, and against itself with fewer lines.
import { readFile } from 'node:fs/promises';
import { newEnforcer, newModelFromString, StringAdapter, type Enforcer } from 'casbin';
import type * as CasbinFunctions from '../src/policy/decide/casbin-enforcer.ts';
import type * as Load from '../src/policy/load.ts';
import type { PolicySnapshot } from '../src/policy/decide/snapshot.ts';
import { askedOf, ownAskedOf, ownPolicyText, policyText, type Asked } from './decide/workload.ts';
import { built } from './harness/built.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, timed, timedEach, type Samples } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

const MODEL = new URL('../policies/model.conf', import.meta.url);
/** Decisions of one batch. */
const BATCH = 10_000;
/** So many batches make one value. */
const BATCHES = 10;
/** Policy lines, and how many decisions of casbin's are timed at once. */
const SIZES: readonly (readonly [number, number])[] = [
  [100, 200],
  [10_000, 5],
  [100_000, 1],
];

const options = readOptions();
const sizes = options.quick ? SIZES.slice(0, 2) : SIZES;
const { buildPolicy } = await built<typeof Load>('policy/load.js');
const functions = await built<typeof CasbinFunctions>('policy/decide/casbin-enforcer.js');
const model = await readFile(MODEL, 'utf8');

/** A compiled policy, and what it is asked. */
interface Work {
  readonly snapshot: PolicySnapshot;
  readonly questions: readonly Asked[];
}

const spread = await workOf(policyText, askedOf);
const own = await workOf(ownPolicyText, ownAskedOf);
printResult(
  'decide',
  [
    'Policies of 10 lines for each user, so that more lines are more users; ten users ask for',
    `tables of theirs and of others. Batches of ${BATCH.toLocaleString('en-US')} decisions; casbin takes part with fewer, one`,
    'after the other with `enforce`, under the same model and functions. Rates are decisions per',
    'second, so a ratio is how many times as many the project makes. The last row is of policies',
    'whose lines all are about one user, by ten roles, who asks for ten tables all over them.',
  ],
  [
    ...(await ratesRows()),
    await growthRow('one batch, more users', spread),
    await growthRow('one batch, one user with all lines', own),
  ],
);

async function workOf(
  textOf: (lines: number) => string,
  questionsOf: (lines: number, count: number) => readonly Asked[],
): Promise<ReadonlyMap<number, Work>> {
  const works = new Map<number, Work>();
  for (const [lines] of sizes) {
    const { snapshot } = await buildPolicy({ model, policy: textOf(lines) });
    works.set(lines, { snapshot, questions: questionsOf(lines, BATCH) });
  }
  return works;
}

async function ratesRows(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const [lines, few] of sizes) {
    const enforcer = await casbinOf(lines);
    const samples = await measureRounds(
      [
        {
          name: 'arrowgate',
          measure: async () => (1000 * BATCH) / (await batchMillis(spread.get(lines)!)),
        },
        {
          name: 'node-casbin',
          measure: () => casbinRate(enforcer, spread.get(lines)!.questions, few),
        },
      ],
      options.rounds,
    );
    const target = lines === 10_000 ? '≥ 500' : '';
    rows.push({ work: `${lines.toLocaleString('en-US')} lines`, unit: '/s', samples, target });
  }
  return rows;
}

/** The largest policy against the smallest one, both compiled. */
async function growthRow(work: string, works: ReadonlyMap<number, Work>): Promise<Row> {
  const [smallest, largest] = [sizes[0]![0], sizes.at(-1)![0]];
  const samples: readonly Samples[] = await measureRounds(
    [largest, smallest].map((lines) => ({
      name: `${lines.toLocaleString('en-US')} lines`,
      measure: () => batchMillis(works.get(lines)!),
    })),
    options.rounds,
  );
  return { work, unit: 'ms', samples, target: '≤ 2.00' };
}

async function batchMillis({ snapshot, questions }: Work): Promise<number> {
  let allowed = 0;
  const millis = await timedEach(BATCHES, async () => {
    allowed = 0;
    for (const { principal, action, path } of questions) {
      if (snapshot.decide(principal, action, path).allowed) allowed++;
    }
  });
  check(allowed, questions);
  return millis;
}

async function casbinRate(
  enforcer: Enforcer,
  questions: readonly Asked[],
  count: number,
): Promise<number> {
  const few = questions.slice(0, count);
  let allowed = 0;
  const millis = await timed(async () => {
    for (const { principal, action, object } of few) {
      if (await enforcer.enforce(principal.subject, object, action)) allowed++;
    }
  });
  check(allowed, few);
  return (1000 * count) / millis;
}

async function casbinOf(lines: number): Promise<Enforcer> {
  const adapter = new StringAdapter(policyText(lines));
  const enforcer = await newEnforcer(newModelFromString(model), adapter);
  await enforcer.addFunction('within', functions.within);
  await enforcer.addFunction('covers', functions.covers);
  return enforcer;
}

/** A decision that is wrong is no measurement. */
function check(allowed: number, questions: readonly Asked[]): void {
  const expected = questions.filter((question) => question.expected).length;
  if (allowed !== expected) throw new Error(`${allowed} were allowed, not ${expected}`);
}
