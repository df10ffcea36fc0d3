import type { Storage } from '../../../storage/storage.ts';
import type { Store } from '../../../store/store.ts';

/** What a step works on. No gateway runs, and the store is open for writing. */
export interface UpgradeParts {
  readonly storage: Storage;
  /** The data folder. */
  readonly data: string;
  readonly store: Store;
  readonly progress: (doing: string) => void;
}

/** One step of an upgrade: it leads from the format before to its own. */
export interface UpgradeStep {
  /** The format of the data folder after the step. */
  readonly format: number;
  /** What the step does, as an imperative without a full stop. */
  readonly summary: string;
  /**
   * Changes the folder. A killed step begins again, so each of its changes may be there already.
   * Everything is on stable storage when it resolves. @returns Number of changes.
   */
  readonly run: (parts: UpgradeParts) => Promise<number>;
}

/**
 * The steps in the order of their formats, one for each format after the first. The last one is
 * `DATA_FORMAT` of `catalog/journal/data-format.ts`: a new step raises that number.
 */
export const upgradeSteps: readonly UpgradeStep[] = [];
