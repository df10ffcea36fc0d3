import { resolve } from 'node:path';
import {
  anchorFile,
  notesPlace,
  readableNotes,
  type CheckpointPlace,
  type CheckpointSource,
} from '../../audit/checkpoints/places.ts';
import type { CheckpointLocation } from '../../audit/instances/start.ts';
import { addKeyLink, readKeyLinks, withLinked } from '../../audit/signing/links.ts';
import {
  readOrMakeSigningKey,
  readSigningKey,
  type PublicKey,
  type SigningKey,
} from '../../audit/signing/keys.ts';
import { openNotes, openNotesForReading } from '../../store/open/open-store.ts';
import type { Config } from '../config/config-table.ts';
import { storeOf, type DataFolder, type ReadDataFolder } from './data-folder.ts';
import type { Opened } from './opened.ts';

/** The places of a configuration where checkpoints of the audit log are kept. */
export async function openCheckpointPlaces(
  config: Config,
  folder: DataFolder,
  opened: Opened,
): Promise<readonly CheckpointPlace[]> {
  const notes = await openNotes(storeOf(config, folder));
  opened.add(() => notes.close());
  const anchor = config['audit.anchor_file'];
  return [notesPlace(notes), ...(anchor === null ? [] : [anchorFile(resolve(anchor))])];
}

/** The same places for reading, and the embedded store too where it is not the one in use any more. */
export async function readCheckpointPlaces(
  config: Config,
  folder: ReadDataFolder,
  opened: Opened,
): Promise<readonly CheckpointSource[]> {
  const notes = await openNotesForReading(storeOf(config, folder));
  opened.add(() => notes.close());
  const anchor = config['audit.anchor_file'];
  const places = [readableNotes(notes), ...(anchor === null ? [] : [anchorFile(resolve(anchor))])];
  if (config['coordination.redis'] === null) return places;
  const own = await openNotesForReading({ ...storeOf(config, folder), redis: null });
  return [...places, readableNotes(own, 'the embedded store')];
}

/** Location of the checkpoints of an instance of this configuration, as it is announced. */
export function checkpointLocation(config: Config): CheckpointLocation {
  const anchor = config['audit.anchor_file'];
  const isShared = config['coordination.redis'] !== null;
  return {
    store: isShared ? `redis:${config['coordination.catalog']}` : 'embedded',
    anchor: anchor === null ? '' : resolve(anchor),
  };
}

/** The signing key, and the other trusted keys. */
interface OpenedKey {
  readonly key: SigningKey;
  readonly trusted: readonly PublicKey[];
  /** The key before it, where nothing links the two. */
  readonly unlinked?: PublicKey;
}

/**
 * The key that signs checkpoints: the one that is configured, or one made in the data folder.
 * Which key follows which is written down; where the key before is that of the data folder, it
 * signs for the new one.
 * @throws SigningKeyError
 */
export async function openSigningKey(config: Config, folder: DataFolder): Promise<OpenedKey> {
  const path = config['audit.signing_key'];
  const key = await (path === null
    ? readOrMakeSigningKey(folder.signingKey)
    : readSigningKey(resolve(path)));
  const links = await readKeyLinks(folder.keyLinks);
  const last = links.at(-1)?.next;
  const trusted = withLinked([key.public], links);
  if (trusted.some(({ id }) => id === last?.id)) return { key, trusted };
  const old = last === undefined ? key : await ownKey(folder, last);
  if (old === undefined) return { key, trusted, ...(last && { unlinked: last }) };
  await addKeyLink(folder.keyLinks, old, key);
  return { key, trusted: withLinked([key.public], await readKeyLinks(folder.keyLinks)) };
}

/** The key of the data folder if it is the requested one. */
async function ownKey(folder: DataFolder, { id }: PublicKey): Promise<SigningKey | undefined> {
  const own = await readSigningKey(folder.signingKey).catch(() => undefined);
  return own?.public.id === id ? own : undefined;
}
