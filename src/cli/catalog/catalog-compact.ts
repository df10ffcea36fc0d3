import type { Command } from 'commander';
import { failureText, PassedOver, type Failure } from '../../engine/base/passed-over.ts';
import type { Upkeep } from '../../engine/upkeep.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { columns, type Run } from '../output/output.ts';
import { commandLance } from '../service/open-lance.ts';
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

interface Compaction {
  readonly done: readonly CompactedTable[];
  /** The tables that could not be compacted. */
  readonly failures: readonly Failure[];
}

/** `arrowgate catalog compact`. */
export function addCompact(catalog: Command, run: Run): void {
  withConfig(catalog.command('compact'), ['data', 'coordination.redis'])
    .argument('[table]', 'canonical path, such as /prod/sales; default: every table')
    .description('merge the small files of a table, or of all')
    .option('--json', 'print JSON')
    .action(async (table: string | undefined, flags: JsonFlag, command: Command) => {
      const compaction = await compacted(table, command, run);
      const { failures } = compaction;
      for (const failure of failures) run.output.note(`arrowgate: ${failureText(failure)}`);
      if (failures.length > 0) run.code = 1;
      run.output.line(flags.json === true ? jsonOf(compaction) : tableOf(compaction));
    });
}

async function compacted(
  table: string | undefined,
  command: Command,
  run: Run,
): Promise<Compaction> {
  const path = table === undefined ? undefined : tablePathOf(table);
  const object = path && canonicalPath(path);
  const act: RecordedCommand = { operation: 'CatalogCompact', object, details: {} };
  const config = configOf(command);
  return withUpkeep(
    command,
    (upkeep) =>
      recorded(config, act, async () => {
        const result = await (path === undefined
          ? compactAll(upkeep, run)
          : compactOne(upkeep, path));
        const counts = { tables: result.done.length, failures: result.failures.length };
        const details = { tables: String(counts.tables), failures: String(counts.failures) };
        return { result, details };
      }),
    (_, opened) => commandLance(config, opened),
  );
}

async function compactOne(
  upkeep: Upkeep,
  path: Parameters<Upkeep['compact']>[0],
): Promise<Compaction> {
  const done = await upkeep.compact(path);
  const table = canonicalPath(path);
  return { done: done === undefined ? [] : [{ table, ...done }], failures: [] };
}

async function compactAll(upkeep: Upkeep, { output }: Run): Promise<Compaction> {
  const done: CompactedTable[] = [];
  const passedOver = new PassedOver();
  for await (const path of upkeep.tables()) {
    const table = canonicalPath(path);
    if (output.watched) output.note(`compacting ${table}`);
    const merge = await passedOver.around(table, () => upkeep.compactIfPresent(path));
    if (merge !== undefined) done.push({ table, ...merge });
  }
  return { done, failures: passedOver.failures };
}

function jsonOf({ done, failures }: Compaction): string {
  const refused = failures.map(({ name, reason }) => ({ table: name, merged: 0, made: 0, reason }));
  return JSON.stringify([...done, ...refused]);
}

function tableOf({ done, failures }: Compaction): string {
  if (done.length === 0) return failures.length === 0 ? 'nothing to merge' : 'nothing was merged';
  const rows = done.map(({ table, merged, made }) => [table, String(merged), String(made)]);
  return columns([['TABLE', 'FILES BEFORE', 'AFTER'], ...rows]);
}
