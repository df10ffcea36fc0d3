import { resolve } from 'node:path';
import {
  anchorFile,
  notesPlace,
  readableNotes,
  type CheckpointPlace,
  type ReadCheckpoints,
} from '../audit/checkpoint-place.ts';
import { readOrMakeSigningKey, readSigningKey, type SigningKey } from '../audit/signing-key.ts';
import { openNotes, openNotesForReading } from '../store/open-notes.ts';
import type { StoreOptions } from '../store/open-store.ts';
import type { Config } from './config-table.ts';
import type { DataFolder, ReadDataFolder } from './data-folder.ts';
import type { Opened } from './opened.ts';

/** The places of a configuration where checkpoints of the audit log are kept. */
export async function openCheckpointPlaces(
  config: Config,
  folder: DataFolder,
  opened: Opened,
): Promise<readonly CheckpointPlace[]> {
  const notes = await openNotes(notesOf(config, folder));
  opened.add(() => notes.close());
  const anchor = config['audit.anchor_file'];
  return [notesPlace(notes), ...(anchor === null ? [] : [anchorFile(resolve(anchor))])];
}

/** The same places for reading. */
export async function readCheckpointPlaces(
  config: Config,
  folder: ReadDataFolder,
  opened: Opened,
): Promise<readonly ReadCheckpoints[]> {
  const notes = await openNotesForReading(notesOf(config, folder));
  opened.add(() => notes.close());
  const anchor = config['audit.anchor_file'];
  return [readableNotes(notes), ...(anchor === null ? [] : [anchorFile(resolve(anchor))])];
}

function notesOf(config: Config, { store }: Pick<DataFolder, 'store'>): StoreOptions {
  return {
    redis: config['coordination.redis'],
    catalog: config['coordination.catalog'],
    folder: store,
  };
}

/** The key that signs checkpoints: the one that is configured, or one made in the data folder. @throws SigningKeyError */
export async function openSigningKey(config: Config, folder: DataFolder): Promise<SigningKey> {
  const path = config['audit.signing_key'];
  return path === null ? readOrMakeSigningKey(folder.signingKey) : readSigningKey(resolve(path));
}
