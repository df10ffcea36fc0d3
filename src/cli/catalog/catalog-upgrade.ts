import type { Command } from 'commander';
import { sealOlderSegments } from '../../audit/segments/detached-portions.ts';
import { upgradeSteps } from '../../engine/upkeep/upgrade/steps.ts';
import {
  planUpgrade,
  requireUnused,
  upgrade,
  UpgradeRefusal,
  type UpgradedStep,
  type UpgradePlan,
} from '../../engine/upkeep/upgrade/upgrade.ts';
import { ReadingRate } from '../../engine/upkeep/verification/portion-reading.ts';
import { openStore } from '../../store/open/open-store.ts';
import { messageOf } from '../../store/store-error.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import type { Config } from '../config/config-table.ts';
import { progressOf, type Run } from '../output/output.ts';
import { dataFolderOf, disk, openedForUpgrade, storeOf } from '../service/data-folder.ts';
import { Opened } from '../service/opened.ts';
import { recorded } from '../service/recorded-command.ts';
import { rateOf } from './reading-rate.ts';

interface UpgradeFlags {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly rate?: string;
}

/** `arrowgate catalog upgrade`. */
export function addUpgrade(catalog: Command, run: Run): void {
  withConfig(catalog.command('upgrade'), ['data', 'coordination.redis'])
    .description('bring a data folder to the newest format, while no gateway runs')
    .option('--dry-run', 'print the steps, and change nothing')
    .option('--rate <size>', 'bytes of older files to read in a second; default: no limit')
    .option('--json', 'print JSON')
    .action(async (flags: UpgradeFlags, command: Command) => {
      try {
        await upgradeFolder(configOf(command), flags, run);
      } catch (error) {
        if (!(error instanceof UpgradeRefusal)) throw error;
        run.output.note(`arrowgate: ${error.message}`);
        run.code = 1;
      }
    });
}

async function upgradeFolder(config: Config, flags: UpgradeFlags, run: Run): Promise<void> {
  const rate = new ReadingRate(rateOf(flags.rate ?? '0'));
  const { root } = await openedForUpgrade(config);
  const plan = await planUpgrade(disk, root, upgradeSteps);
  const isDry = flags.dryRun === true;
  const planned = plan.steps.map(({ format, summary }) => ({ format, summary }));
  const steps: readonly ShownStep[] =
    isDry || planned.length === 0 ? planned : await makeSteps(config, plan, rate, run);
  const { from, to, resumed } = plan;
  if (flags.json === true) run.output.line(JSON.stringify({ from, to, resumed, steps }));
  else {
    for (const line of linesOf(plan, steps, isDry)) run.output.line(line);
  }
}

async function makeSteps(
  config: Config,
  plan: UpgradePlan,
  rate: ReadingRate,
  run: Run,
): Promise<readonly UpgradedStep[]> {
  const folder = dataFolderOf(config);
  const { progress = () => undefined } = progressOf(run.output);
  const unreadable = (path: string, error: unknown) => {
    run.output.note(
      `arrowgate: ${path} gets no checksums and will be refused: ${messageOf(error)}`,
    );
    run.code = 1;
  };
  const sealAudit = () =>
    sealOlderSegments({
      folder: folder.audit,
      read: (bytes) => rate.after(bytes),
      damaged: unreadable,
    });
  const details = { from: String(plan.from), to: String(plan.to) };
  const work = async () => {
    const opened = new Opened();
    try {
      const store = await openStore(storeOf(config, folder));
      opened.add(() => store.close());
      const shared = { storage: disk, data: folder.root, store };
      const parts = { ...shared, sealAudit, rate, progress, unreadable };
      const result = await upgrade(parts, plan);
      const changes = result.reduce((sum, step) => sum + step.changes, 0);
      return { result, details: { changes: String(changes) } };
    } finally {
      await opened.close();
    }
  };
  // The folder has an older format, so it is not opened as others are.
  const prepare = () => requireUnused(disk, folder.root);
  return recorded(config, { operation: 'CatalogUpgrade', details }, work, prepare);
}

/** A step as it is printed; without a number of changes it was not made. */
type ShownStep = Pick<UpgradedStep, 'format' | 'summary'> & { readonly changes?: number };

function linesOf(
  { from, to, resumed }: UpgradePlan,
  steps: readonly ShownStep[],
  isDry: boolean,
): readonly string[] {
  if (steps.length === 0) return [`nothing to upgrade: the data folder has format ${from}`];
  const verb = isDry ? 'would upgrade' : 'upgraded';
  return [
    `${verb} from format ${from} to ${to}${resumed ? ', after an interrupted run' : ''}`,
    ...steps.map(
      ({ format, summary, changes }) =>
        `format ${format}: ${summary}${changes === undefined ? '' : ` (${changes} changes)`}`,
    ),
  ];
}
