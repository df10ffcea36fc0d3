import { resolve } from 'node:path';
import { anchorFile, notesPlace, type CheckpointPlace } from '../audit/checkpoint-place.ts';
import { readOrMakeSigningKey, readSigningKey, type SigningKey } from '../audit/signing-key.ts';
import { openNotes } from '../store/open-notes.ts';
import type { Config } from './config-table.ts';
import type { DataFolder } from './data-folder.ts';
import type { Opened } from './opened.ts';

/** The places of a configuration where checkpoints of the audit log are kept. */
export async function openCheckpointPlaces(
  config: Config,
  folder: DataFolder,
  opened: Opened,
): Promise<readonly CheckpointPlace[]> {
  const notes = await openNotes({
    redis: config['coordination.redis'],
    catalog: config['coordination.catalog'],
    folder: folder.store,
  });
  opened.add(() => notes.close());
  const anchor = config['audit.anchor_file'];
  return [notesPlace(notes), ...(anchor === null ? [] : [anchorFile(resolve(anchor))])];
}

/** The key that signs checkpoints: the one that is configured, or one made in the data folder. @throws SigningKeyError */
export async function openSigningKey(config: Config, folder: DataFolder): Promise<SigningKey> {
  const path = config['audit.signing_key'];
  return path === null ? readOrMakeSigningKey(folder.signingKey) : readSigningKey(resolve(path));
}
