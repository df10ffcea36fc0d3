import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { logStorage } from './chain/log-files.ts';
import { LineLog } from '../storage/line-log.ts';
import { HashChain } from './chain/hash-chain.ts';
import { CheckpointPublisher, type PublisherOptions } from './checkpoints/publisher.ts';
import { AttemptsNotes } from './instances/attempts-note.ts';
import { recordOwner } from './instances/owner.ts';
import { signStart, type StartOptions } from './instances/start.ts';
import { BlockMemory } from './chain/block.ts';
import { RecordQueue } from './chain/queue.ts';
import type { AuditRecord } from './record/record.ts';

/** The audit log of one start of a process. */
export interface AuditLog {
  /** Name of the instance and of its folder. */
  readonly instance: string;
  /**
   * Writes a record. A durable record is on stable storage when this resolves, and not in the
   * log when this rejects; concurrent records share one flush. Any other record is in the file
   * within 50 ms, or once the disk can be written again: then this is undefined, or a promise
   * to await if too many records wait.
   */
  write(record: AuditRecord, durable: boolean): Promise<void> | undefined;
  /** Why the last write failed; undefined while the log can be written. */
  healthy(): string | undefined;
  /** Why checkpoints are not written to all places; undefined while they are. */
  weakness(): string | undefined;
  /** Writes and syncs all records. @throws Error if that fails. */
  close(): Promise<void>;
}

interface AuditLogOptions {
  /** `<data>/private/audit`. */
  readonly folder: string;
  /** `<data>/private/audit-processes`, where the mark of this process is written; no mark if absent. */
  readonly processes?: string;
  /** Size from which on a file gets no further records. */
  readonly rotateBytes: number;
  /** Key and places of checkpoints; no checkpoints if absent. */
  readonly checkpoints?: Omit<PublisherOptions, 'instance' | 'start'>;
  /** Folder and content of the start statement; no statement if absent. */
  readonly start?: Pick<StartOptions, 'starts' | 'store' | 'anchor'>;
}

const DIGITS = 8;
/** Maximum time until a record that no caller awaits is synced and signed, in ms. */
const SYNC_MILLIS = 900;
/** Delay of a write after the queue has handed over records, in ms. */
const LAZY_MILLIS = 5;
/** Number of written bytes that are synced before `SYNC_MILLIS` have passed. */
const UNSYNCED_BYTES = 4 * 2 ** 20;
/** Idle time after which a file gets no further records, so that other processes may seal it, in ms. */
const IDLE_MILLIS = 12 * 3_600_000;

/**
 * Opens the audit log for one start of a process. Each start is an instance with a folder
 * of its own, named by its time and a random suffix, so processes never write the same file
 * and no repair is needed after a crash. Folders have mode 0700, files 0600.
 * @throws the system's error if the folder cannot be made.
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const instance = newInstance();
  const folder = join(options.folder, instance);
  await logStorage.folders.make(resolve(folder), 0o700);
  if (options.processes !== undefined) await recordOwner(options.processes, instance);
  const checkpoints = await checkpointsOf(options, instance);
  const notes = options.processes && new AttemptsNotes(options.processes, instance);
  const memory = new BlockMemory(options.rotateBytes);
  const chain = new HashChain(
    instance,
    (head) => {
      checkpoints?.advance(head);
      if (notes) notes.advance(head.count, () => chain.openAttempts());
    },
    (block) => memory.free(block),
  );
  const lines = new LineLog({
    folder: logStorage.files.pathOf(resolve(folder)),
    name: (number) => `${String(number).padStart(DIGITS, '0')}.jsonl`,
    framing: chain,
    syncMillis: SYNC_MILLIS,
    lazyMillis: LAZY_MILLIS,
    unsyncedBytes: UNSYNCED_BYTES,
    idleMillis: IDLE_MILLIS,
    mode: 0o600,
    rotateBytes: options.rotateBytes,
  });
  const queue = new RecordQueue(lines, memory);
  return {
    instance,
    write: (record, durable) => queue.add(record, durable),
    healthy: () => lines.fault,
    weakness: () => checkpoints?.fault(),
    close: async () => {
      try {
        await queue.close();
      } finally {
        await checkpoints?.close();
        if (notes) await notes.close();
      }
    },
  };
}

async function checkpointsOf(
  { folder, checkpoints, start }: AuditLogOptions,
  instance: string,
): Promise<CheckpointPublisher | undefined> {
  if (checkpoints === undefined) return undefined;
  const { key } = checkpoints;
  const stated = start && (await signStart({ ...start, folder, instance, key }));
  return new CheckpointPublisher({ ...checkpoints, instance, ...(stated && { start: stated }) });
}

/** Names of instances sort by their start: `20260131T235959Z-9f86d081`. */
function newInstance(): string {
  const start = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  return `${start}-${randomBytes(4).toString('hex')}`;
}
