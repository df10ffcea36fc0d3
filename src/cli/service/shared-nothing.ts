import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { EngineOptions } from '../../engine/engine.ts';
import { unlessMissing } from '../../storage/storage-error.ts';
import { openNotes } from '../../store/open/open-store.ts';
import type { Config } from '../config/config-table.ts';
import { disk, storeOf, type DataFolder, type ReadDataFolder } from './data-folder.ts';

/** Mode of the file with the id of the gateway. */
const MODE = 0o600;

/** Parts of a catalog whose gateways share nothing but Redis and an object store; none for other catalogs. */
export async function sharedNothing(
  config: Config,
  folder: DataFolder | ReadDataFolder,
): Promise<Pick<EngineOptions, 'journal' | 'presence' | 'local'>> {
  const { journal, root } = folder;
  if (journal === undefined) return {};
  const name = `${hostname()}:${root}`;
  return {
    journal,
    presence: () => openNotes(storeOf(config, folder), 'presence'),
    local: { gateway: { id: await gatewayId(folder), name }, allowed: config['tables.local'] },
  };
}

/** The id of the gateway of a data folder, which is made if it may be written; otherwise one that no gateway has. */
async function gatewayId({ root, access }: DataFolder | ReadDataFolder): Promise<string> {
  const path = join(root, 'private', 'gateway-id');
  const made = async () => (await unlessMissing(disk.read(path)))?.toString().trim();
  const found = await made();
  if (found !== undefined || access === 'read') return found ?? '';
  await disk.folders?.make(join(root, 'private'), 0o700);
  await disk.putIfAbsent(path, Buffer.from(`${randomUUID()}\n`), MODE);
  return (await made()) ?? '';
}
