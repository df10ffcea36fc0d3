import {
  formatPath,
  readFormat,
  requireKnown,
  writeFormat,
  type FormatState,
} from '../../catalog/journal/data-format.ts';
import { join } from 'node:path';
import { folderJournal } from '../../catalog/journal/journal-place.ts';
import { folderBoard } from '../../versions/leases/presence-board.ts';
import { readProcesses } from '../../versions/leases/presence.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { UpgradeParts, UpgradeStep } from './steps.ts';

/** The data folder cannot be upgraded now: the message says why. */
export class UpgradeRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UpgradeRefusal';
  }
}

/** The steps that a data folder needs. */
export interface UpgradePlan {
  /** The format of the folder. */
  readonly from: number;
  /** The format after all steps. */
  readonly to: number;
  /** Whether an earlier run was interrupted in the first of the steps. */
  readonly resumed: boolean;
  readonly steps: readonly UpgradeStep[];
}

/** A step that was made. */
export interface UpgradedStep {
  readonly format: number;
  readonly summary: string;
  readonly changes: number;
}

/** The first format, which has no step. */
const FIRST_FORMAT = 1;

/**
 * The steps that a data folder needs. Reads the file of its format alone.
 * @throws CatalogError ServiceUnavailable for a newer format, or one that is no number
 * @throws UpgradeRefusal for a folder without a format
 */
export async function planUpgrade(
  storage: Storage,
  data: string,
  steps: readonly UpgradeStep[],
): Promise<UpgradePlan> {
  const state = await readFormat(storage, data);
  if (state === undefined) {
    throw new UpgradeRefusal(`${formatPath(data)} is missing: there is nothing to upgrade`);
  }
  const to = steps.at(-1)?.format ?? FIRST_FORMAT;
  requireKnown(state, formatPath(data), to);
  return {
    from: state.format,
    to,
    resumed: state.upgradingTo !== undefined,
    steps: steps.filter(({ format }) => format > state.format),
  };
}

/**
 * Makes the steps of a plan. Before each step the file of the format says that it has begun, so no
 * gateway starts on a folder that is partly changed; after it the file has the new format.
 */
export async function upgrade(
  parts: UpgradeParts,
  { from, steps }: Pick<UpgradePlan, 'from' | 'steps'>,
): Promise<readonly UpgradedStep[]> {
  const done: UpgradedStep[] = [];
  let state: FormatState = { format: from };
  for (const { format, summary, run } of steps) {
    await writeFormat(parts.storage, parts.data, { ...state, upgradingTo: format });
    const changes = await run(parts);
    state = { format };
    await writeFormat(parts.storage, parts.data, state);
    done.push({ format, summary, changes });
  }
  return done;
}

/** @throws UpgradeRefusal while a process uses the data folder. */
export async function requireUnused(storage: Storage, data: string): Promise<void> {
  const processes = await readProcesses(
    folderBoard(storage, join(folderJournal(data), 'processes')),
  );
  const { length } = await processes.others();
  if (length === 0) return;
  throw new UpgradeRefusal(
    `${length} processes use ${data}: stop every gateway of this catalog, and run this again`,
  );
}
