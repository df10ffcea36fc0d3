import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { openFormat } from '../engine/catalog/format.ts';
import type { Upkeep } from '../engine/upkeep.ts';
import { canonicalSpelling, parseObject } from '../policy/pattern.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import { configOf } from './command-config.ts';
import { dataFolderOf } from './data-folder.ts';
import { openCatalog } from './open-catalog.ts';
import { Opened } from './opened.ts';
import { UsageError } from './usage-error.ts';

/**
 * Opens the catalog that a command names for some work on it, beside a gateway
 * that may be running.
 * @throws UsageError when there is none
 */
export async function withUpkeep<Result>(
  command: Command,
  work: (upkeep: Upkeep) => Promise<Result>,
): Promise<Result> {
  const config = configOf(command);
  const folder = dataFolderOf(config);
  await access(join(folder.root, 'catalog')).catch(() => {
    throw new UsageError(`there is no catalog in ${folder.root}`);
  });
  const opened = new Opened();
  try {
    await openFormat(folder.root);
    const { upkeep, backend } = await openCatalog(config, folder, opened);
    if (upkeep === null) throw new UsageError((await backend.health()) ?? 'the catalog is closed');
    return await work(upkeep);
  } finally {
    await opened.close();
  }
}

/** The path that was typed. @throws UsageError */
export function pathOf(table: string): ObjectPath {
  const path = parseObject(table);
  if (path !== undefined) return path;
  const spelling = canonicalSpelling(table);
  const advice = parseObject(spelling) === undefined ? '' : `: write ${spelling}`;
  throw new UsageError(`${JSON.stringify(table)} is no canonical path${advice}`);
}
