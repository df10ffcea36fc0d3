import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeFolder } from '../storage/folder.ts';
import { LineLog } from '../storage/line-log.ts';
import { HashChain } from './chain/hash-chain.ts';
import { CheckpointPublisher, type PublisherOptions } from './checkpoints/publisher.ts';
import { recordOwner } from './instances/owner.ts';
import { signStart, type StartOptions } from './instances/start.ts';
import { BlockMemory } from './chain/block.ts';
import { recordText } from './record/encoding.ts';
import { RecordQueue } from './chain/queue.ts';
import type { AuditRecord } from './record/record.ts';

/** Where audit records go. */
export interface AuditLog {
  /** The start of this process: the name of its folder. */
  readonly instance: string;
  /**
   * Writes a record. A durable one is on stable storage when this resolves, and
   * not in the log when it rejects; many at once share one flush of the disk.
   * Any other is in the file within 50 ms, or when the disk takes it again:
   * undefined, unless there are so many that it is to be waited for.
   */
  write(record: AuditRecord, durable: boolean): Promise<void> | undefined;
  /** A sentence when the last write failed; undefined when the log can be written. */
  healthy(): string | undefined;
  /** A sentence while checkpoints are not kept where they should be. */
  weakness(): string | undefined;
  /** Writes and syncs everything. @throws Error when that fails. */
  close(): Promise<void>;
}

export interface AuditLogOptions {
  /** `<data>/private/audit`. */
  readonly folder: string;
  /** `<data>/private/audit-processes`, where it is noted that this process writes the instance; it is not when absent. */
  readonly processes?: string;
  /** A file that is as large gets no further record. */
  readonly rotateBytes: number;
  /** Signs and stores checkpoints; if absent, there are none. */
  readonly checkpoints?: Omit<PublisherOptions, 'instance' | 'start'>;
  /** Where the instance states which were before it, with the same key; it does not when absent. */
  readonly start?: Pick<StartOptions, 'starts' | 'store' | 'anchor'>;
}

const DIGITS = 8;
/** Longest time without a checkpoint for a record that no caller awaits. */
const SYNC_MILLIS = 900;
/** Delay of a write after the queue has handed over records. */
const LAZY_MILLIS = 5;
/** Bytes that are synced at once if they arrive faster than `SYNC_MILLIS` passes. */
const UNSYNCED_BYTES = 4 * 2 ** 20;
/** Idle time after which a file gets no more records, so that other processes may seal it. */
const IDLE_MILLIS = 12 * 3_600_000;

/**
 * Opens the audit log for one start of a gateway process. Each start is an
 * instance with a folder of its own, named by its time and a random suffix, so
 * that processes never write the same file and a crash never needs a repair
 * before records can be written. Folders have mode 0700, files 0600.
 * @throws the system's error when the folder cannot be made.
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const instance = newInstance();
  const folder = join(options.folder, instance);
  await makeFolder(folder, 0o700);
  if (options.processes !== undefined) await recordOwner(options.processes, instance);
  const checkpoints = await checkpointsOf(options, instance);
  const memory = new BlockMemory(options.rotateBytes);
  const lines = new LineLog({
    folder,
    name: (number) => `${String(number).padStart(DIGITS, '0')}.jsonl`,
    framing: new HashChain(
      instance,
      (head) => checkpoints?.advance(head),
      (block) => memory.free(block),
    ),
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
    write: (record, durable) => queue.add(recordText(record), durable),
    healthy: () => lines.fault,
    weakness: () => checkpoints?.fault(),
    close: async () => {
      try {
        await queue.close();
      } finally {
        await checkpoints?.close();
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
