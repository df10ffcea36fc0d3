// One area of two builds in turn: npm run bench -- --against FOLDER [AREA…]
import { Service } from '../test/support/service.ts';
import type { Area, Build, Measurement, OpenArea } from './builds/area.ts';
import { openAudit } from './builds/audit.ts';
import { openCommit } from './builds/commit.ts';
import { printComparison, type Comparison } from './builds/comparison.ts';
import { openData } from './builds/data.ts';
import { openForward } from './builds/forward.ts';
import { openGateway } from './builds/gateway.ts';
import { openIndex } from './builds/index.ts';
import { openLanceTables } from './builds/lance.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds } from './harness/rounds.ts';

const AREAS: Readonly<Record<string, Area>> = {
  gateway: openGateway,
  forward: openForward,
  data: openData,
  commit: openCommit,
  index: openIndex,
  audit: openAudit,
  lance: openLanceTables,
};
/** The services start anew in each, the other one first: a process may be slow for as long as it lives. */
const SITTINGS = 2;

const options = readOptions();
const old: Build = {
  name: 'old',
  start: (service) =>
    Service.start({
      ...service,
      ...(options.against === undefined ? {} : { root: options.against }),
    }),
};
const current: Build = { name: 'new', start: (service) => Service.start(service) };

for (const name of options.names) await compare(name);

async function compare(name: string): Promise<void> {
  const open = AREAS[name];
  if (open === undefined) throw new Error(`"${name}" has no comparison of builds`);
  const found = new Map<string, Comparison>();
  const rounds = Math.ceil(options.rounds / SITTINGS);
  for (let sitting = 0; sitting < Math.min(SITTINGS, options.rounds); sitting++) {
    const builds = sitting % 2 === 0 ? [old, current] : [current, old];
    for (const measured of await sit(open, builds, rounds)) {
      const before = found.get(measured.work);
      found.set(measured.work, before === undefined ? measured : joined(before, measured));
    }
  }
  printComparison(name, [...found.values()]);
}

/** All measurements of an area, each in turn by builds that run side by side. */
async function sit(
  open: Area,
  builds: readonly Build[],
  rounds: number,
): Promise<readonly Comparison[]> {
  const areas: OpenArea[] = [];
  try {
    for (const build of builds) areas.push(await open(build, options.quick));
    const results: Comparison[] = [];
    for (const [at, first] of (areas[0]?.measurements ?? []).entries()) {
      const both = areas.map(({ measurements }) => measurements[at] ?? first);
      results.push(await measureBoth(builds, both, Math.min(rounds, first.rounds ?? rounds)));
    }
    return results;
  } finally {
    for (const area of areas) await area.close();
  }
}

async function measureBoth(
  builds: readonly Build[],
  both: readonly Measurement[],
  rounds: number,
): Promise<Comparison> {
  for (const measurement of both) await measurement.prepare?.();
  const sides = both.map((measurement, at) => ({ ...measurement, name: builds[at]?.name ?? '' }));
  const samples = await measureRounds(sides, rounds);
  const valuesOf = (name: Build['name']) =>
    samples.find((side) => side.name === name)?.values ?? [];
  const [{ work, unit } = { work: '', unit: 'ms' as const }] = both;
  return { work, unit, old: valuesOf('old'), new: valuesOf('new') };
}

function joined(before: Comparison, after: Comparison): Comparison {
  return {
    ...before,
    old: [...before.old, ...after.old],
    new: [...before.new, ...after.new],
  };
}
