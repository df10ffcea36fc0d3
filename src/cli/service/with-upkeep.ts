import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { openForReading, type CatalogReading } from '../../engine/engine-reading.ts';
import type { Upkeep } from '../../engine/upkeep.ts';
import { canonicalSpelling, parseObject } from '../../policy/lines/pattern.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { openStoreForReading } from '../../store/open/open-store.ts';
import { configOf } from '../config/command-config.ts';
import type { Config } from '../config/config-table.ts';
import { dataFolderOf, openedForReading, storeOf, type ReadDataFolder } from './data-folder.ts';
import { openCatalog, type CatalogWatch } from './open-catalog.ts';
import { openStorage } from './object-stores.ts';
import { Opened } from './opened.ts';
import { sharedNothing } from './shared-nothing.ts';
import { UsageError } from '../output/service-error.ts';

/**
 * Opens the catalog that a command names for some work on it, beside a gateway
 * that may be running.
 * @param watch Additions to the catalog.
 * @throws UsageError when there is none
 */
export async function withUpkeep<Result>(
  command: Command,
  work: (upkeep: Upkeep) => Promise<Result>,
  watch: (config: Config, opened: Opened) => CatalogWatch | Promise<CatalogWatch> = () => ({}),
): Promise<Result> {
  const config = configOf(command);
  await catalogFolder(config);
  const folder = dataFolderOf(config);
  const opened = new Opened();
  try {
    const { upkeep, backend } = await openCatalog(
      config,
      folder,
      opened,
      await watch(config, opened),
    );
    if (upkeep === null) throw new UsageError((await backend.health()) ?? 'the catalog is closed');
    return await work(upkeep);
  } finally {
    await opened.close();
  }
}

/**
 * Opens the catalog that a command names for reading, beside a gateway that may be running:
 * nothing of it, on the disk or in the store, is changed.
 * @throws UsageError when there is none
 */
export async function withReading<Result>(
  command: Command,
  work: (reading: CatalogReading) => Promise<Result>,
): Promise<Result> {
  const config = configOf(command);
  const folder = await catalogFolder(config);
  const store = await openStoreForReading(storeOf(config, folder));
  const { storage, close } = await openStorage(config, folder);
  const { presence, ...shared } = await sharedNothing(config, folder);
  const signs = await presence?.();
  try {
    const reading = await openForReading({
      data: folder.root,
      ...shared,
      presence: signs,
      storage,
      store,
      managed: folder.lance,
      cacheBytes: config['cache.bytes'],
    });
    return await work(reading);
  } finally {
    close();
    await signs?.close();
    await store.close();
  }
}

/** The data folder of a configuration, which has to hold a catalog. @throws UsageError */
async function catalogFolder(config: Config): Promise<ReadDataFolder> {
  const folder = await openedForReading(config);
  if (folder.journal !== undefined) return folder;
  await access(join(folder.root, 'catalog')).catch(() => {
    throw noCatalog(folder.root);
  });
  return folder;
}

/** The refusal of a folder without a catalog. */
export function noCatalog(root: string): UsageError {
  return new UsageError(
    `there is no catalog in ${root}: the first start of \`arrowgate serve\` makes one; name its data folder with --data`,
  );
}

/** The path that was typed. @throws UsageError */
export function tablePathOf(table: string): ObjectPath {
  const path = parseObject(table);
  if (path !== undefined) return path;
  const spelling = canonicalSpelling(table);
  const advice = parseObject(spelling) === undefined ? '' : `: write ${spelling}`;
  throw new UsageError(`${JSON.stringify(table)} is no canonical path${advice}`);
}
