import type { Command } from 'commander';
import type { Upkeep } from '../../engine/upkeep.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { addAdopt } from '../service/catalog-adopt.ts';
import { addBackup } from './catalog-backup.ts';
import { addConvert } from './catalog-convert.ts';
import { addDropped, addUndrop } from './catalog-dropped.ts';
import { addGc } from './catalog-gc.ts';
import { addRebuild } from './catalog-rebuild.ts';
import { addVerify } from './catalog-verify.ts';
import { addUpgrade } from './catalog-upgrade.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { columns, type Run } from '../output/output.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { tablePathOf, withUpkeep } from '../service/with-upkeep.ts';

interface JsonFlag {
  readonly json?: boolean;
}

interface CompactedTable {
  readonly table: string;
  /** Files that went, and those that came in their place. */
  readonly merged: number;
  readonly made: number;
}

/** `arrowgate catalog compact|dropped|undrop|gc|verify|rebuild|backup|upgrade|adopt|convert`. */
export function addCatalog(program: Command, run: Run): void {
  const catalog = program
    .command('catalog')
    .description('maintain the tables, also while a gateway runs');
  withConfig(catalog.command('compact'), ['data', 'coordination.redis'])
    .argument('[table]', 'canonical path, such as /prod/sales; default: every table')
    .description('merge the small files of a table, or of all')
    .option('--json', 'print JSON')
    .action(async (table: string | undefined, flags: JsonFlag, command: Command) => {
      const object = table === undefined ? undefined : canonicalPath(tablePathOf(table));
      const act: RecordedCommand = { operation: 'CatalogCompact', object, details: {} };
      const done = await withUpkeep(command, (upkeep) =>
        recorded(configOf(command), act, async () => {
          const result = await compactAll(upkeep, table, run);
          return { result, details: { tables: String(result.length) } };
        }),
      );
      run.output.line(flags.json === true ? JSON.stringify(done) : tableOf(done));
    });
  addDropped(catalog, run);
  addUndrop(catalog, run);
  addGc(catalog, run);
  addVerify(catalog, run);
  addRebuild(catalog, run);
  addBackup(catalog, run);
  addUpgrade(catalog, run);
  addAdopt(catalog, run);
  addConvert(catalog, run);
}

async function compactAll(
  upkeep: Upkeep,
  table: string | undefined,
  { output }: Run,
): Promise<readonly CompactedTable[]> {
  const done: CompactedTable[] = [];
  for await (const path of table === undefined ? upkeep.tables() : [tablePathOf(table)]) {
    const name = canonicalPath(path);
    if (output.watched) output.note(`compacting ${name}`);
    const compacted = await (table === undefined
      ? upkeep.compactIfPresent(path)
      : upkeep.compact(path));
    if (compacted !== undefined) done.push({ table: name, ...compacted });
  }
  return done;
}

function tableOf(done: readonly CompactedTable[]): string {
  if (done.length === 0) return 'nothing to merge';
  const rows = done.map(({ table, merged, made }) => [table, String(merged), String(made)]);
  return columns([['TABLE', 'FILES BEFORE', 'AFTER'], ...rows]);
}
