import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { DamagedFile } from '../../arrow/sealed/file-seal.ts';
import { BackupRefusal, type BackedUp } from '../../engine/upkeep/recovery/backup.ts';
import { updateKeys } from '../../gateway/identity/key-file.ts';
import { unshared } from '../../gateway/identity/keys.ts';
import { rebuild } from '../../engine/upkeep/recovery/rebuild.ts';
import { makeFolder, syncFolder } from '../../storage/folder.ts';
import { openStore } from '../../store/open/open-store.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import type { Config } from '../config/config-table.ts';
import { dataFolderOf, makeDataFolder, withoutLinks } from '../service/data-folder.ts';
import { openStorage } from '../service/object-stores.ts';
import { openCatalog } from '../service/open-catalog.ts';
import { withKeyBook } from '../service/open-keys.ts';
import { Opened } from '../service/opened.ts';
import { progressOf, type Run } from '../output/output.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { managedMode } from '../config/file-modes.ts';
import { withUpkeep } from '../service/with-upkeep.ts';

type Progress = (doing: string) => void;

/** The copied files, and the findings of opening the copy. */
interface Backup extends BackedUp {
  readonly folder: string;
  /** Faults of the copy, a sentence each. */
  readonly findings: readonly string[];
}

/** `arrowgate catalog backup`. */
export function addBackup(catalog: Command, run: Run): void {
  withConfig(catalog.command('backup'), ['data', 'coordination.redis'])
    .argument('<dir>', 'an empty or new folder')
    .description('copy a consistent state of the catalog, also while a gateway runs')
    .option('--json', 'print JSON')
    .action(async (dir: string, flags: { readonly json?: boolean }, command: Command) => {
      const done = await backedUp(command, withoutLinks(resolve(dir)), run);
      if (done === undefined) return;
      if (done.findings.length > 0) run.code = 1;
      run.output.line(flags.json === true ? jsonOf(done) : textOf(done));
    });
}

async function backedUp(command: Command, target: string, run: Run): Promise<Backup | undefined> {
  const { progress = () => undefined } = progressOf(run.output);
  try {
    const config = configOf(command);
    const act: RecordedCommand = { operation: 'CatalogBackup', details: { folder: target } };
    const done = await withUpkeep(command, (upkeep) =>
      recorded(config, act, async () => {
        const result = await upkeep.backup({ target, progress });
        return { result, details: { sequence: String(result.sequence) } };
      }),
    );
    await copyKeys(config, target);
    return { folder: target, ...done, findings: await openedAgain(config, target, progress) };
  } catch (error) {
    // Without its manifest it is unknown which files a version needs.
    const isDamage = error instanceof DamagedFile;
    if (!isDamage && !(error instanceof BackupRefusal)) throw error;
    const advice = isDamage ? ': the backup is not whole; catalog verify names all findings' : '';
    run.output.note(`arrowgate: ${error.message}${advice}`);
    run.code = 1;
    return undefined;
  }
}

function ownConfig(config: Config, target: string): Config {
  return { ...config, data: target, 'coordination.redis': null, 'locations.managed': null };
}

/** The keys of clients are valid in the backup too; the audit log is not copied. */
async function copyKeys(config: Config, target: string): Promise<void> {
  const [from, to] = [dataFolderOf(config), dataFolderOf(ownConfig(config, target))];
  await makeDataFolder(to);
  const keys = await withKeyBook(config, from, (book) => book.read());
  if (keys.length > 0) await updateKeys(to.keys, () => keys.map(unshared));
  await syncFolder(join(to.root, 'private'));
  await syncFolder(to.root);
}

/** Gives a backup its embedded store, opens it, and compares all bytes of its files with their checksums. */
async function openedAgain(
  config: Config,
  target: string,
  progress: Progress,
): Promise<readonly string[]> {
  const own = ownConfig(config, target);
  const folder = dataFolderOf(own);
  await makeFolder(folder.lance, managedMode(config));
  const opened = new Opened();
  try {
    const store = await openStore({ redis: null, catalog: '', folder: folder.store });
    const { storage, close } = await openStorage(own, folder);
    try {
      await rebuild({ storage, data: target, store, dryRun: false, force: false, progress });
    } finally {
      close();
      await store.close();
    }
    const { upkeep, backend } = await openCatalog(own, folder, opened);
    if (upkeep === null) return [(await backend.health()) ?? 'it cannot be opened'];
    const { findings } = await upkeep.verifier.verify({ progress, deep: { bytesPerSecond: 0 } });
    return findings.map(({ table, file, fault }) =>
      [table, file, fault].filter((part) => part !== null).join(': '),
    );
  } finally {
    await opened.close();
  }
}

function jsonOf(done: Backup): string {
  return JSON.stringify(done, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

function textOf(done: Backup): string {
  const { folder, sequence, tables, versions, files, linked, copiedBytes } = done;
  return [
    `backed up all changes up to ${sequence} to ${folder}: tables ${tables}, versions ${versions}, files ${files} (${linked} linked, ${copiedBytes} bytes copied)`,
    ...done.outside.map(
      (path) =>
        `not copied, since it lies in an object store, or Lance clients write it elsewhere: ${path}`,
    ),
    ...done.links.map((path) => `not copied, since it is a symbolic link: ${path}`),
    ...done.findings.map((finding) => `wrong: ${finding}`),
  ].join('\n');
}
