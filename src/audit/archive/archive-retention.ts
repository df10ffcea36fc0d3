import type { Storage } from '../../storage/storage.ts';
import { instancesOf } from '../chain/log-files.ts';
import { parseSeal, sealText } from '../segments/seal.ts';
import type { SigningKey } from '../signing/keys.ts';
import { listArchive, type ArchivedFile, type ArchivedInstance } from './archived-objects.ts';

export interface RetentionOptions {
  readonly storage: Storage;
  readonly root: string;
  /** `<data>/private/audit`: the retention of its instances is that of the files. */
  readonly folder: string;
  /** Signs the seals of segments that are removed. */
  readonly key: SigningKey;
  /** Retention, in ms. */
  readonly retainMillis: number;
}

/**
 * Removes archived segments after their retention whose gateways are not here, and signs their
 * seals anew, as gateways do with their own. Two gateways may do it at the same time.
 */
export async function archiveRetention(options: RetentionOptions): Promise<void> {
  const own = new Set(await instancesOf(options.folder));
  const { instances } = await listArchive(options.storage, options.root);
  for (const [instance, archived] of instances) {
    if (!own.has(instance)) await retireOld(options, archived);
  }
}

async function retireOld(options: RetentionOptions, archived: ArchivedInstance): Promise<void> {
  const last = Date.now() - options.retainMillis;
  for (const [number, arrow] of archived.arrow) {
    const seal = archived.seal.get(number);
    // A segment was uploaded after its last record.
    if (seal !== undefined && arrow.writtenMillis < last) await retire(options, arrow, seal, last);
  }
}

async function retire(
  { storage, key }: RetentionOptions,
  arrow: ArchivedFile,
  { path }: ArchivedFile,
  last: number,
): Promise<void> {
  const seal = parseSeal((await storage.read(path)).toString());
  if (Date.parse(seal.to) >= last) return;
  if (seal.retired === '') {
    await storage.replace(path, Buffer.from(sealText(key, seal, new Date().toISOString())));
  }
  await storage.discard(arrow.path);
}
