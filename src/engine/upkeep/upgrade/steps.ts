import { join } from 'node:path';
import type { Storage } from '../../../storage/storage.ts';
import type { Store } from '../../../store/store.ts';
import { readState } from '../../catalog/journal/journal-state.ts';
import { tableOf } from '../recovery/journaled-heads.ts';
import { entriesBelow } from '../retention/entries.ts';
import type { ReadingRate } from '../verification/portion-reading.ts';
import { sealFolder } from './detached-sealing.ts';

/** What a step works on. No gateway runs, and the store is open for writing. */
export interface UpgradeParts {
  readonly storage: Storage;
  /** The data folder. */
  readonly data: string;
  readonly store: Store;
  /** Gives sealed segments of the audit log the checksums that they lack. @returns Their number */
  readonly sealAudit: () => Promise<number>;
  /** Bounds how fast files are read. */
  readonly rate: ReadingRate;
  readonly progress: (doing: string) => void;
  /** Called with a file that cannot be read: it gets no seal, so requests refuse it. */
  readonly unreadable: (path: string, error: unknown) => void;
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
export const upgradeSteps: readonly UpgradeStep[] = [
  {
    format: 2,
    summary: 'give all files, values of the store and sealed audit segments checksums',
    run: async (parts) => {
      parts.progress('computing the checksums of the store');
      const values = (await parts.store.sealOlder?.()) ?? 0;
      const files = await sealFiles(parts);
      parts.progress('computing the checksums of the audit log');
      return files + values + (await parts.sealAudit());
    },
  },
];

async function sealFiles(parts: UpgradeParts): Promise<number> {
  let seals = 0;
  for (const folder of await tableFolders(parts)) seals += await sealFolder(parts, folder);
  return seals;
}

/**
 * The folders of all engine tables, whatever has become of the tables: all below `tables/`, and
 * those that clients chose, by the journal and by the store.
 */
async function tableFolders({ storage, data, store }: UpgradeParts): Promise<ReadonlySet<string>> {
  const folders = new Set<string>();
  for await (const { path, isFolder } of storage.entries(join(data, 'tables'))) {
    if (isFolder) folders.add(path);
  }
  const state = await readState(storage, join(data, 'catalog'));
  for (const entries of [state.entries(), entriesBelow(store, 'T'), entriesBelow(store, 'D')]) {
    for await (const entry of entries) {
      const table = tableOf(entry);
      if (table?.kind === 'engine' && table.location !== null) folders.add(table.location);
    }
  }
  return folders;
}
