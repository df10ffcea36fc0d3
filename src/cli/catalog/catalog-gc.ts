import type { Command } from 'commander';
import type { Collected } from '../../engine/upkeep/retention/collector.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { durationOf } from '../config/key-details.ts';
import { progressOf, type Run } from '../output/output.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { withReading, withUpkeep } from '../service/with-upkeep.ts';

interface GcFlags {
  readonly olderThan: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `arrowgate catalog gc`. */
export function addGc(catalog: Command, run: Run): void {
  withConfig(catalog.command('gc'), ['data', 'coordination.redis'])
    .description(
      'remove dropped tables past drop.retention, and unused files, including staged manifests of Lance clients',
    )
    .option('--older-than <duration>', 'age of files that no version names', '24h')
    .option('--dry-run', 'print what would be removed, and remove nothing')
    .option('--json', 'print JSON')
    .action(async (flags: GcFlags, command: Command) => {
      const olderThanMillis = durationOf('--older-than', flags.olderThan);
      const dryRun = flags.dryRun === true;
      const options = {
        retentionMillis: configOf(command)['drop.retention'],
        olderThanMillis,
        ...progressOf(run.output),
      };
      const act: RecordedCommand = {
        operation: 'CatalogGc',
        details: { older_than: flags.olderThan },
      };
      const collected = await (dryRun
        ? withReading(command, (reading) => reading.wouldCollect(options))
        : withUpkeep(command, ({ collector }) =>
            recorded(configOf(command), act, async () => {
              const result = await collector.collect(options);
              return { result, details: detailsOf(result) };
            }),
          ));
      for (const failure of collected.failures) run.output.note(`arrowgate: ${failure}`);
      if (collected.failures.length > 0) run.code = 1;
      run.output.line(
        flags.json === true
          ? JSON.stringify({ dryRun, ...collected })
          : sentence(collected, dryRun),
      );
    });
}

function detailsOf({ tables, folders, files, bytes, failures }: Collected) {
  const counts = { tables, folders, files, bytes, failures: failures.length };
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
}

function sentence({ tables, folders, files, bytes, waiting }: Collected, dryRun: boolean): string {
  const verb = dryRun ? 'would remove' : 'removed';
  const what = [
    counted(tables, 'dropped table'),
    ...(folders === 0 ? [] : [counted(folders, 'folder')]),
    counted(files, 'file'),
    counted(bytes, 'byte'),
  ];
  const later = waiting === 0 ? '' : `; ${waiting} must wait for what is under way`;
  return `${verb} ${what.join(', ')}${later}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
