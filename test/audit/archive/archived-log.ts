import { join } from 'node:path';
import { ArchiveCopies } from '../../../src/audit/archive/archive-copies.ts';
import { ArchiveUploads } from '../../../src/audit/archive/archive-uploads.ts';
import { copiesOf } from '../../../src/audit/chain/log-files.ts';
import { readTrustedCheckpoints } from '../../../src/audit/checkpoints/trusted.ts';
import { parseStart, type InstanceStart } from '../../../src/audit/instances/start.ts';
import { sealFinished, type SealingOptions } from '../../../src/audit/segments/sealing.ts';
import { writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey, type SigningKey } from '../../../src/audit/signing/keys.ts';
import {
  verifyLog,
  type VerificationResult,
} from '../../../src/audit/verification/verification.ts';
import { openAuditLog, type AuditLog } from '../../../src/audit/writer.ts';
import type { Storage } from '../../../src/storage/storage.ts';
import { record } from '../records.ts';

export const ROOT = '/s3:/lake/audit';

/** A gateway as far as the archive of its audit log is concerned. */
export class ArchivingGateway {
  readonly folder: string;
  readonly log: AuditLog;
  readonly uploads: ArchiveUploads;
  readonly #key: SigningKey;
  readonly #storage: Storage;

  private constructor(
    folder: string,
    log: AuditLog,
    uploads: ArchiveUploads,
    key: SigningKey,
    storage: Storage,
  ) {
    this.folder = folder;
    this.log = log;
    this.uploads = uploads;
    this.#key = key;
    this.#storage = storage;
  }

  /** @param root A folder of its own. */
  static async start(root: string, storage: Storage): Promise<ArchivingGateway> {
    const [folder, starts] = [join(root, 'audit'), join(root, 'audit-starts')];
    const key = await readOrMakeSigningKey(join(root, 'key.pem'));
    const uploads = new ArchiveUploads({
      storage,
      root: ROOT,
      folder,
      starts,
      keys: [key.public],
      isOver: async () => true,
      checkpoints: async () => [],
    });
    const log = await openAuditLog({
      folder,
      rotateBytes: 4000,
      checkpoints: { key, places: [uploads.place()], failed: () => undefined },
      start: { starts, store: 'embedded', anchor: '' },
    });
    return new ArchivingGateway(folder, log, uploads, key, storage);
  }

  async write(name: string, count: number): Promise<void> {
    for (let at = 1; at < count; at++) await this.log.write(record(`${name}-${at}`), false);
    await this.log.write(record(`${name}-0`), true);
  }

  /** Uploads everything that is written, and its signature. */
  async upload(): Promise<void> {
    const files = new AbortController();
    await this.uploads.round(this.log.instance, files.signal);
  }

  seal(more: Partial<SealingOptions> = {}) {
    return sealFinished({
      folder: this.folder,
      key: this.#key,
      own: this.log.instance,
      staleMillis: 1e12,
      retainMillis: 1e12,
      write: writeSegment,
      ...more,
    });
  }

  /** Copies of the logs of the others. */
  copies(bytes = 1e9, copies = copiesOf(this.folder)): ArchiveCopies {
    return new ArchiveCopies({
      storage: this.#storage,
      root: ROOT,
      folder: this.folder,
      copies,
      bytes,
    });
  }

  get key(): SigningKey {
    return this.#key;
  }
}

/** Verifies the archived logs of the others as `audit verify` does. */
export async function verifyArchive(
  gateway: ArchivingGateway,
  storage: Storage,
  others: readonly ArchivingGateway[],
  temporary: string,
): Promise<VerificationResult> {
  const copies = gateway.copies(1e9, temporary);
  const { instances } = await copies.list();
  const keys = [gateway, ...others].map(({ key }) => key.public);
  const texts: string[] = [];
  const starts: InstanceStart[] = [];
  for (const [instance, { checkpoint, start }] of instances) {
    if (checkpoint !== undefined) texts.push((await storage.read(checkpoint)).toString());
    if (start === undefined) continue;
    starts.push(parseStart(instance, (await storage.read(start)).toString(), keys));
  }
  const place = { name: 'the archive', all: async () => texts };
  const trusted = await readTrustedCheckpoints([place], keys);
  const own = gateway.log.instance;
  const bring = async (instance: string): Promise<string> => {
    await copies.bring(instance);
    return temporary;
  };
  const archived = { instances: [...instances.keys()].filter((each) => each !== own), bring };
  return verifyLog(gateway.folder, trusted, undefined, {
    starts,
    isOver: async () => false,
    archived,
  });
}
