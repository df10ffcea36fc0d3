import { createRequire } from 'node:module';
import type { LanceAccess } from '../../engine/handlers/rows/library-reads.ts';
import { LanceRows } from '../../lance/lance-rows.ts';
import { LibraryPool } from '../../lance/library-pool.ts';
import { ProcessScratch } from '../../store/process-scratch.ts';
import { StoreLooks } from '../../lance/store-looks.ts';
import type { VendingStores } from '../../storage/vending/credential-vendor.ts';
import type { Config } from '../config/config-table.ts';
import { openLog } from '../config/log.ts';
import { dataFolderOf } from './data-folder.ts';
import { UsageError } from '../output/service-error.ts';
import { libraryEnvironment, libraryStores } from './library-stores.ts';
import type { Opened, Start } from './opened.ts';
import { openVending } from './vending-stores.ts';

/** The Lance library, an optional peer dependency. */
const PACKAGE = '@lancedb/lancedb';

const INSTALL = `install the Lance library beside arrowgate with \`npm install ${PACKAGE}\``;

/**
 * Access to the rows of Lance tables as configured. Its processes start with the first request.
 * @throws UsageError if the library is required and not installed
 */
export function openLance(
  {
    config,
    log,
    opened,
  }: Pick<Start, 'config' | 'opened'> & { readonly log: Pick<Start['log'], 'warn'> },
  vending: VendingStores,
): LanceAccess {
  const orElsewhere = 'or open it at its location';
  requireLibrary(config);
  const missing = missingLibrary(config);
  if (missing !== undefined) return { missing, instead: `${missing}, ${orElsewhere}` };
  const stores = config.object_stores;
  const pool = new LibraryPool({
    environment: libraryEnvironment(stores),
    processes: config['lance.processes'],
    memory: config['lance.memory'],
    scratch: new ProcessScratch('library', dataFolderOf(config).libraryScratch),
    onFault: (fault) => log.warn({ fault }, 'a process of the Lance library ended'),
  });
  opened.add(() => pool.close());
  const access = libraryStores(stores, vending, opened);
  const library = new LanceRows(new StoreLooks(pool, access), access.access);
  return { library, instead: orElsewhere };
}

/** The same for a command on the catalog. */
export async function commandLance(
  config: Config,
  opened: Opened,
): Promise<{ readonly lance: LanceAccess }> {
  const vending = await openVending(config.object_stores, opened);
  return { lance: openLance({ config, log: openLog(config), opened }, vending) };
}

/** How to get the library if there is none. */
function missingLibrary(config: Config): string | undefined {
  if (config['lance.engine'] === 'off') return 'set lance.engine to auto';
  return isLibraryInstalled() ? undefined : `${INSTALL} and restart the gateway`;
}

/** @throws UsageError if the library is required and not installed */
export function requireLibrary(config: Config): void {
  if (config['lance.engine'] !== 'required' || isLibraryInstalled()) return;
  throw new UsageError(`lance.engine is required: ${INSTALL}`);
}

/** Whether the library is installed beside the program. It is not loaded. */
function isLibraryInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve(PACKAGE);
    return true;
  } catch {
    return false;
  }
}
