import { userInfo } from 'node:os';
import { ActRecords, type Act } from '../../audit/record/administrative.ts';
import { openAuditLog, type AuditLog } from '../../audit/writer.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { encodeSegment } from '../../protocol/identifier.ts';
import { checkpointLocation, openCheckpointPlaces, openSigningKey } from './audit-checkpoints.ts';
import type { Config } from '../config/config-table.ts';
import { dataFolderOf, makeDataFolder, type DataFolder } from './data-folder.ts';
import { Opened } from './opened.ts';
import { ServiceError } from '../output/service-error.ts';

/** A command's action, as the audit log records it. */
export type RecordedCommand = Pick<Act, 'operation' | 'object' | 'details'>;

/** The result of the action. */
interface Done<Result> {
  readonly result: Result;
  /** Names and numbers that are known only now; never a secret. */
  readonly details?: Readonly<Record<string, string>>;
  /** Whether it was refused, and changed nothing. */
  readonly refused?: boolean;
}

/**
 * Does something that belongs into the audit log: its attempt is on disk before
 * it begins, its outcome before it returns. Each command is an instance of the log.
 * @param prepare Makes the data folder, or examines it; before anything is recorded.
 * @throws ServiceError when the log cannot be written: then nothing was done, or the message says that it was.
 */
export async function recorded<Result>(
  config: Config,
  act: RecordedCommand,
  work: (log: Pick<AuditLog, 'write'>) => Promise<Done<Result>>,
  prepare: (folder: DataFolder) => Promise<void> = makeDataFolder,
): Promise<Result> {
  const opened = new Opened();
  try {
    await prepare(dataFolderOf(config));
    const log = await openLog(config, opened);
    const records = new ActRecords({ ...act, subject: `user:${userName()}` });
    return await recordedIn(log, records, () => work(log));
  } finally {
    await opened.close();
  }
}

/** The same in an open log. A completed action is never recorded as failed. */
export async function recordedIn<Result>(
  log: Pick<AuditLog, 'write'>,
  records: ActRecords,
  work: () => Promise<Done<Result>>,
): Promise<Result> {
  await log.write(records.attempt(), true)?.catch(refuse);
  const { result, details, refused } = await work().catch(async (error: unknown) => {
    await log.write(records.outcome('failed'), true)?.catch(() => undefined);
    throw error;
  });
  await log
    .write(records.outcome(refused === true ? 'failed' : 'done', details), true)
    ?.catch(lost);
  return result;
}

/** Records the acts of a caller in an open log. */
export function actRecorder(log: Pick<AuditLog, 'write'>) {
  return async <Result>(act: Act, work: () => Promise<Done<Result>>): Promise<Result> => {
    try {
      return await recordedIn(log, new ActRecords(act), work);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new CatalogError('ServiceUnavailable', error.message);
    }
  };
}

async function openLog(config: Config, opened: Opened): Promise<AuditLog> {
  const folder = dataFolderOf(config);
  const { key } = await openSigningKey(config, folder);
  const places = await openCheckpointPlaces(config, folder, opened);
  const log = await openAuditLog({
    folder: folder.audit,
    processes: folder.auditProcesses,
    rotateBytes: config['audit.rotate_bytes'],
    // A checkpoint that is not kept now is not kept at all: the command ends.
    checkpoints: { key, places, failed: () => undefined },
    start: { starts: folder.auditStarts, ...checkpointLocation(config) },
  });
  opened.add(() => log.close());
  return log;
}

function refuse(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new ServiceError(`the audit log cannot be written, so nothing is changed: ${why}`);
}

function lost(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new ServiceError(`it was done, but the audit log could not be written to say so: ${why}`);
}

/** The operating system's user of the command. */
function userName(): string {
  try {
    return encodeSegment(userInfo().username);
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
