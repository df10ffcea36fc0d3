import { join } from 'node:path';
import { isMissing } from '../../storage/storage-error.ts';
import { isAlive, ownMark, type ProcessMark } from '../../store/process-mark.ts';
import { logFilesOf, logStorage, readBeside } from '../chain/log-files.ts';

/** Time without a record after which the process of another machine counts as gone, in ms. */
const SILENT_MILLIS = 24 * 3_600_000;

/** Folder of the log, and folder of the process marks. */
export interface LogFolders {
  /** `<data>/private/audit`. */
  readonly folder: string;
  /** `<data>/private/audit-processes`. */
  readonly processes: string;
}

/** Records which process writes an instance, so that other processes can tell whether it is gone. */
export async function recordOwner(processes: string, instance: string): Promise<void> {
  await logStorage.folders.make(processes, 0o700);
  const mark = Buffer.from(JSON.stringify(await ownMark()));
  await logStorage.replace(ownerFile(processes, instance), mark);
}

function ownerFile(processes: string, instance: string): string {
  return join(processes, `${instance}.json`);
}

/** Whether the process of an instance is gone: it was on this machine, or wrote no record for a day. */
export async function isAbandoned(
  { folder, processes }: LogFolders,
  instance: string,
): Promise<boolean> {
  const mark = await markOf(ownerFile(processes, instance));
  const alive = mark === undefined ? undefined : await isAlive(mark, await ownMark());
  if (alive !== undefined) return !alive;
  const files = await logFilesOf(folder, instance);
  const last = files.at(-1);
  const path = last?.kind === 'segment' ? last.seal : (last?.path ?? join(folder, instance));
  const written = logStorage.stat(path)?.writtenMillis ?? 0;
  return Date.now() - written > SILENT_MILLIS;
}

/** The same; without a process mark the instance counts as ended. */
export async function isOver(places: LogFolders, instance: string): Promise<boolean> {
  const mark = await markOf(ownerFile(places.processes, instance));
  return mark === undefined || isAbandoned(places, instance);
}

/** Undefined if it is missing, or torn by a crash. */
async function markOf(path: string): Promise<ProcessMark | undefined> {
  try {
    const { pid, born, host } = JSON.parse(await readBeside(path)) as Partial<ProcessMark>;
    const isWhole = typeof pid === 'number' && typeof born === 'string' && typeof host === 'string';
    return isWhole ? { pid, born, host } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || isMissing(error)) return undefined;
    throw error;
  }
}
