import { join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Storage } from '../../../storage/storage.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';

/**
 * The format of data folders that this program writes. In format 2 every file of an engine table has
 * a seal, or is listed as one from before seals; every value of the store, and every sealed segment
 * of the audit log, has checksums.
 */
export const DATA_FORMAT = 2;

/** What the file of the format says. */
export interface FormatState {
  readonly format: number;
  /** The format that an unfinished upgrade leads to. */
  readonly upgradingTo?: number;
}

/** Folders of a data folder that only a service fills. */
const FILLED = ['catalog', 'tables', 'private/store', 'private/audit'];

/** The file that names the format of a data folder. */
export function formatPath(dataFolder: string): string {
  return join(dataFolder, 'FORMAT');
}

/**
 * Makes sure that a data folder has a format that this program reads. A folder without data and
 * without a format is new: it gets this program's, durably.
 * @throws CatalogError ServiceUnavailable for a newer format, one that is no number, and for a
 * folder that holds data but has no format.
 */
export async function openFormat(storage: Storage, dataFolder: string): Promise<void> {
  await storage.folders?.make(dataFolder);
  if (await requireFormat(storage, dataFolder)) return;
  await storage.putIfAbsent(formatPath(dataFolder), Buffer.from(`${DATA_FORMAT}\n`));
  await requireFormat(storage, dataFolder);
}

/** Writes a format, this program's unless given, in place of another one. Durable when it resolves. */
export async function writeFormat(
  storage: Storage,
  dataFolder: string,
  format: FormatState = { format: DATA_FORMAT },
): Promise<void> {
  const to = format.upgradingTo === undefined ? '' : `>${format.upgradingTo}`;
  await storage.replace(formatPath(dataFolder), Buffer.from(`${format.format}${to}\n`));
}

/**
 * The same for a folder that is only read: one without a format is no data folder.
 * @returns Whether it has one.
 * @throws CatalogError as `openFormat` does.
 */
export async function requireFormat(storage: Storage, dataFolder: string): Promise<boolean> {
  const state = await readFormat(storage, dataFolder);
  if (state === undefined) return false;
  requireKnown(state, formatPath(dataFolder), DATA_FORMAT);
  if (state.upgradingTo !== undefined || state.format < DATA_FORMAT) {
    throw new CatalogError('ServiceUnavailable', upgradeSentence(state, formatPath(dataFolder)));
  }
  return true;
}

/** @throws CatalogError ServiceUnavailable for a format above the newest one. */
export function requireKnown(
  { format, upgradingTo = format }: FormatState,
  path: string,
  newest: number,
): void {
  if (upgradingTo <= newest) return;
  throw new CatalogError(
    'ServiceUnavailable',
    `${path} says format ${upgradingTo}; this program reads up to format ${newest}`,
  );
}

function upgradeSentence({ format, upgradingTo }: FormatState, path: string): string {
  return upgradingTo === undefined
    ? `${path} says format ${format}: back up the folder and run \`arrowgate catalog upgrade\``
    : `${path} says that an upgrade from format ${format} to ${upgradingTo} has begun: run \`arrowgate catalog upgrade\` again to finish it`;
}

/**
 * The format of a data folder; undefined for a folder that is new or missing.
 * @throws CatalogError ServiceUnavailable if the file holds no number, or is missing beside data.
 */
export async function readFormat(
  storage: Storage,
  dataFolder: string,
): Promise<FormatState | undefined> {
  const text = await formatText(storage, dataFolder);
  if (text !== undefined) return formatIn(text, formatPath(dataFolder));
  const filled = await filledFolder(storage, dataFolder);
  if (filled === undefined) return undefined;
  // Another process may have made the file, and then the data, between the two reads.
  const late = await formatText(storage, dataFolder);
  if (late !== undefined) return formatIn(late, formatPath(dataFolder));
  throw new CatalogError(
    'ServiceUnavailable',
    `${formatPath(dataFolder)} is missing, but ${filled} holds data of an unknown format: ` +
      'restore the file from a backup of this folder, or name another data folder',
  );
}

async function formatText(storage: Storage, dataFolder: string): Promise<string | undefined> {
  return (await unlessMissing(storage.read(formatPath(dataFolder), 'all')))?.toString().trim();
}

function formatIn(text: string, path: string): FormatState {
  const [, format, upgradingTo] = /^([1-9]\d{0,8})(?:>([1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (format !== undefined) {
    return {
      format: Number(format),
      ...(upgradingTo !== undefined && { upgradingTo: Number(upgradingTo) }),
    };
  }
  throw new CatalogError('ServiceUnavailable', `${path} holds no format version`);
}

/** A folder that a service has written to; undefined if there is none. */
async function filledFolder(storage: Storage, dataFolder: string): Promise<string | undefined> {
  for (const name of FILLED) {
    const folder = join(dataFolder, name);
    const names = (await storage.names(folder)) ?? [];
    if (names.length > 0) return folder;
  }
  return undefined;
}
