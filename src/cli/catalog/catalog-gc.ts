import type { Command } from 'commander';
import type {
  Collected,
  CollectOptions,
  Collector,
} from '../../engine/upkeep/retention/collector.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { durationOf } from '../config/key-details.ts';
import { progressOf, type Run } from '../output/output.ts';
import { dataFolderOf } from '../service/data-folder.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { expiryOf, expiryRecorder, rulesForExpiry } from '../service/version-expiry.ts';
import { withReading, withUpkeep } from '../service/with-upkeep.ts';

interface GcFlags {
  readonly olderThan: string;
  readonly olderTables?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `arrowgate catalog gc`. */
export function addGc(catalog: Command, run: Run): void {
  withConfig(catalog.command('gc'), ['data', 'policies', 'coordination.redis'])
    .description(
      'remove versions past versions.keep_for and versions.keep_last, dropped tables past drop.retention, and unused files, including staged manifests of Lance clients',
    )
    .option('--older-than <duration>', 'age of files that no version names', '24h')
    .option(
      '--older-tables',
      'tables from before versions.keep_for and versions.keep_last follow them from now on',
    )
    .option('--dry-run', 'print what would be removed, and remove nothing')
    .option('--json', 'print JSON')
    .action(async (flags: GcFlags, command: Command) => {
      const dryRun = flags.dryRun === true;
      const options = await optionsOf(flags, command, run);
      const collected = await (dryRun
        ? withReading(command, (reading) => reading.wouldCollect(options))
        : withUpkeep(command, ({ collector }) =>
            collectRecorded(collector, options, flags, command),
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

async function optionsOf(
  { olderThan, olderTables = false }: GcFlags,
  command: Command,
  { output }: Run,
): Promise<CollectOptions> {
  const config = configOf(command);
  const rules = await rulesForExpiry(config, dataFolderOf(config));
  if (rules === undefined) {
    output.note(
      `arrowgate: all versions stay, because a service had commit rules and the folder ${config.policies} does not exist; name it with --policies`,
    );
  }
  return {
    retentionMillis: config['drop.retention'],
    olderThanMillis: durationOf('--older-than', olderThan),
    ...(rules !== undefined && { expiry: { ...expiryOf(config, rules), olderTables } }),
    ...progressOf(output),
  };
}

function collectRecorded(
  collector: Pick<Collector, 'collect'>,
  { expiry, ...options }: CollectOptions,
  { olderThan, olderTables = false }: GcFlags,
  command: Command,
): Promise<Collected> {
  const details = { older_than: olderThan, ...(olderTables && { older_tables: 'true' }) };
  const act: RecordedCommand = { operation: 'CatalogGc', details };
  return recorded(configOf(command), act, async (log) => {
    const record = expiryRecorder(log);
    const result = await collector.collect({
      ...options,
      ...(expiry !== undefined && { expiry: { ...expiry, record } }),
    });
    return { result, details: detailsOf(result) };
  });
}

function detailsOf({ tables, versions, folders, files, bytes, failures }: Collected) {
  const counts = { tables, versions, folders, files, bytes, failures: failures.length };
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
}

function sentence(
  { tables, versions, forbidden, folders, files, bytes, waiting }: Collected,
  dryRun: boolean,
): string {
  const verb = dryRun ? 'would remove' : 'removed';
  const what = [
    ...(versions === 0 ? [] : [counted(versions, 'version')]),
    counted(tables, 'dropped table'),
    ...(folders === 0 ? [] : [counted(folders, 'folder')]),
    counted(files, 'file'),
    counted(bytes, 'byte'),
  ];
  const later = waiting === 0 ? '' : `; ${waiting} must wait for what is under way`;
  const stay =
    forbidden === 0 ? '' : `; commit rules keep the versions of ${counted(forbidden, 'line')}`;
  return `${verb} ${what.join(', ')}${later}${stay}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
