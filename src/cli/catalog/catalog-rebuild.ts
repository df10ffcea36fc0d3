import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { rebuild, RebuildRefusal, type Rebuilt } from '../../engine/upkeep/recovery/rebuild.ts';
import { openStore, openStoreForReading } from '../../store/open/open-store.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { dataFolderOf } from '../service/data-folder.ts';
import { openStorage } from '../service/object-stores.ts';
import { Opened } from '../service/opened.ts';
import { progressOf, type Run } from '../output/output.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { noCatalog } from '../service/with-upkeep.ts';

interface RebuildFlags {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** `arrowgate catalog rebuild`. */
export function addRebuild(catalog: Command, run: Run): void {
  withConfig(catalog.command('rebuild'), ['data', 'coordination.redis'])
    .description('restore a lost or outdated store from the journal on disk')
    .option('--dry-run', 'print what would be restored, and change nothing')
    .option('--force', 'continue without changes that the journal lacks')
    .option('--json', 'print JSON')
    .action(async (flags: RebuildFlags, command: Command) => {
      const done = await rebuilt(command, flags, run);
      if (done === undefined) return;
      if (flags.json === true) run.output.line(jsonOf(done));
      else for (const line of linesOf(done, flags.dryRun === true)) run.output.line(line);
    });
}

async function rebuilt(
  command: Command,
  flags: RebuildFlags,
  run: Run,
): Promise<Rebuilt | undefined> {
  const config = configOf(command);
  const folder = dataFolderOf(config);
  if (folder.journal === undefined) {
    await access(join(folder.root, 'catalog')).catch(() => {
      throw noCatalog(folder.root);
    });
  }
  const opened = new Opened();
  try {
    const { dryRun = false, force = false } = flags;
    const place = {
      redis: config['coordination.redis'],
      catalog: config['coordination.catalog'],
      folder: folder.store,
      waitMillis: config['coordination.wait'],
    };
    const store = await (dryRun ? openStoreForReading(place, 'lost') : openStore(place));
    opened.add(() => store.close());
    const { progress = () => undefined } = progressOf(run.output);
    const { storage, close } = await openStorage(config, folder);
    opened.add(close);
    const { root: data, journal } = folder;
    const work = () => rebuild({ storage, data, journal, store, dryRun, force, progress });
    if (dryRun) return await work();
    const act: RecordedCommand = { operation: 'CatalogRebuild', details: { force: String(force) } };
    return await recorded(config, act, async () => {
      const result = await work();
      const { restored, catalog = '', sequence } = result;
      return { result, details: { restored, catalog, sequence: String(sequence) } };
    });
  } catch (error) {
    if (!(error instanceof RebuildRefusal)) throw error;
    run.output.note(`arrowgate: ${error.message}`);
    run.code = 1;
    return undefined;
  } finally {
    await opened.close();
  }
}

function jsonOf(done: Rebuilt): string {
  return JSON.stringify(done, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

function linesOf(done: Rebuilt, isDry: boolean): readonly string[] {
  const { restored, from, sequence, lost } = done;
  if (restored === 'nothing') {
    return [`nothing to restore: the store has every change of the journal, up to ${sequence}`];
  }
  const verb = isDry ? 'would restore' : 'restored';
  const what = restored === 'all' ? 'all changes' : `the changes after ${from}`;
  return [
    `${verb} ${what} up to ${sequence} of the catalog ${done.catalog}: ${countsOf(done)}`,
    ...(done.versionsAhead === 0
      ? []
      : [`versions that were on disk and not in the journal: ${done.versionsAhead}`]),
    ...lost.map((sentence) => `lost: ${sentence}`),
  ];
}

function countsOf({ namespaces, tables, dropped, versions, tags, branches }: Rebuilt): string {
  return [
    `namespaces ${namespaces}`,
    `tables ${tables}`,
    `dropped tables ${dropped}`,
    `versions ${versions}`,
    `tags ${tags}`,
    `branches ${branches}`,
  ].join(', ');
}
