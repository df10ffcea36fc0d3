import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../storage/folder.ts';
import { isAlive, ownMark, type ProcessMark } from '../../store/process-mark.ts';
import { logFilesOf } from '../chain/log-folder.ts';
import { isAbsent } from '../segments/log-part.ts';

/** A process that cannot be observed counts as gone after this time without a record, in milliseconds. */
const SILENT_MILLIS = 24 * 3_600_000;

/** The folder of the log, and the folder of process marks beside it. */
export interface LogFolders {
  /** `<data>/private/audit`. */
  readonly folder: string;
  /** `<data>/private/audit-processes`. */
  readonly processes: string;
}

/** Notes which process writes an instance, so that others can see when it is gone. */
export async function recordOwner(processes: string, instance: string): Promise<void> {
  await makeFolder(processes, 0o700);
  await writeFile(ownerFile(processes, instance), JSON.stringify(await ownMark()), { mode: 0o600 });
}

function ownerFile(processes: string, instance: string): string {
  return join(processes, `${instance}.json`);
}

/** Whether the process that wrote an instance is gone for certain: on this machine, or after long silence. */
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
  const { mtimeMs } = await stat(path);
  return Date.now() - mtimeMs > SILENT_MILLIS;
}

/** The same, where nothing says which process writes the instance: then none does. */
export async function isOver(places: LogFolders, instance: string): Promise<boolean> {
  const mark = await markOf(ownerFile(places.processes, instance));
  return mark === undefined || isAbandoned(places, instance);
}

/** Undefined when it is not there, or was torn by a crash. */
async function markOf(path: string): Promise<ProcessMark | undefined> {
  try {
    const { pid, born, host } = JSON.parse(await readFile(path, 'utf8')) as Partial<ProcessMark>;
    const isWhole = typeof pid === 'number' && typeof born === 'string' && typeof host === 'string';
    return isWhole ? { pid, born, host } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || isAbsent(error)) return undefined;
    throw error;
  }
}
