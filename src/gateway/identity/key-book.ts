import { CatalogError } from '../../protocol/errors.ts';
import { isOutage } from '../../storage/storage-error.ts';
import { StoreError } from '../../store/store-error.ts';
import type { LastUses } from './key-use.ts';
import type { UseBoard } from './use-board.ts';
import { readKeyUses } from './key-use.ts';
import { KeyFileError } from './key-document.ts';
import { readKeys, updateKeys } from './key-file.ts';
import type { StoredKey } from './keys.ts';
import type { SharedKeys } from './shared-keys.ts';

/** Makes new keys of the old ones. None is removed. */
export type KeyUpdate = (
  keys: readonly StoredKey[],
) => readonly StoredKey[] | Promise<readonly StoredKey[]>;

/** The API keys of a gateway, wherever they are. */
export interface KeyBook {
  /** All keys. @throws KeyFileError or CatalogError */
  read(): Promise<readonly StoredKey[]>;
  /** Changes keys. It is durable when this resolves. @throws KeyFileError or CatalogError */
  update(change: KeyUpdate): Promise<void>;
  /** When each was used last. */
  uses(): Promise<LastUses>;
}

/** The keys of a file. */
export function fileKeyBook(path: string, uses: UseBoard): KeyBook {
  return {
    read: () => readKeys(path),
    update: (change) => updateKeys(path, change),
    uses: () => readKeyUses(uses),
  };
}

/** The keys of the store. Whatever cannot be reached is CatalogError ServiceUnavailable. */
export function sharedKeyBook(keys: () => Promise<SharedKeys>, uses: UseBoard): KeyBook {
  return {
    read: () => reached(async () => [...((await (await keys()).look())?.keys.values() ?? [])]),
    update: (change) => reached(async () => (await keys()).update(change)),
    uses: () => reached(() => readKeyUses(uses)),
  };
}

async function reached<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const isKnown = error instanceof KeyFileError || error instanceof StoreError || isOutage(error);
    if (!isKnown) throw error;
    throw new CatalogError('ServiceUnavailable', `the API keys cannot be used: ${error.message}`);
  }
}
