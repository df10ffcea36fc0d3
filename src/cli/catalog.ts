import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { openFormat } from '../engine/catalog/format.ts';
import type { Upkeep } from '../engine/upkeep.ts';
import { parseObject } from '../policy/pattern.ts';
import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import { configOf, withConfig } from './command-config.ts';
import { dataFolderOf } from './data-folder.ts';
import { openCatalog } from './open-catalog.ts';
import { Opened } from './opened.ts';
import { columns } from './output.ts';
import type { Run } from './run.ts';
import { UsageError } from './usage-error.ts';

interface JsonFlag {
  readonly json?: boolean;
}

interface CompactedTable {
  readonly table: string;
  /** Files that went, and those that came in their place. */
  readonly merged: number;
  readonly made: number;
}

/** `arrowgate catalog compact`. */
export function addCatalog(program: Command, run: Run): void {
  const catalog = program
    .command('catalog')
    .description('upkeep of the tables; works beside a running gateway');
  withConfig(catalog.command('compact'), ['data', 'coordination.redis'])
    .argument('[table]', 'a canonical path, such as /prod/sales; every table without')
    .description('merge the small files of a table, or of all')
    .option('--json', 'print JSON')
    .action(async (table: string | undefined, flags: JsonFlag, command: Command) => {
      const done = await withUpkeep(command, (upkeep) => compactAll(upkeep, table, run));
      run.output.line(flags.json === true ? JSON.stringify(done) : tableOf(done));
    });
}

async function withUpkeep<Result>(
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

async function compactAll(
  upkeep: Upkeep,
  table: string | undefined,
  { output }: Run,
): Promise<readonly CompactedTable[]> {
  const done: CompactedTable[] = [];
  for await (const path of table === undefined ? upkeep.tables() : [pathOf(table)]) {
    const name = canonicalPath(path);
    if (output.watched) output.note(`compacting ${name}`);
    const compacted = await upkeep.compact(path);
    if (compacted !== undefined) done.push({ table: name, ...compacted });
  }
  return done;
}

function pathOf(table: string): ObjectPath {
  const path = parseObject(table);
  if (path === undefined) throw new UsageError(`${JSON.stringify(table)} is no canonical path`);
  return path;
}

function tableOf(done: readonly CompactedTable[]): string {
  if (done.length === 0) return 'nothing to merge';
  const rows = done.map(({ table, merged, made }) => [table, String(merged), String(made)]);
  return columns([['TABLE', 'FILES BEFORE', 'AFTER'], ...rows]);
}
