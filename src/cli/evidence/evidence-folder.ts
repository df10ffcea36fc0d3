import { createHash, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import type { SigningKey } from '../../audit/signing/keys.ts';
import { syncFolder } from '../../storage/folder.ts';
import { errorCode } from '../../storage/storage-error.ts';
import { StreamedFile } from '../../storage/streamed-file.ts';
import { UsageError } from '../output/service-error.ts';
import {
  DIGESTS_FILE,
  digestsText,
  KEY_FILE,
  SIGNATURE_FILE,
  signatureText,
} from './digest-list.ts';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Adds the files of an evidence folder. Files have mode 0600, folders 0700. */
export class EvidenceWriter {
  readonly #root: string;
  readonly #digests = new Map<string, string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Writes a whole file. @param path Relative to the folder. */
  async add(path: string, text: string): Promise<void> {
    await this.stream(path, async (write) => write(text));
  }

  /** Writes a file in pieces, which are not held in memory. */
  async stream(
    path: string,
    fill: (write: (piece: string) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const hash = createHash('sha256');
    await this.#write(path, (write) =>
      fill((piece) => {
        hash.update(piece);
        return write(piece);
      }),
    );
    this.#digests.set(path, hash.digest('hex'));
  }

  /** Writes the list of digests, and signs it if there is a key. @param time RFC 3339. */
  async seal(key: SigningKey | undefined, time: string): Promise<void> {
    if (key !== undefined) await this.add(KEY_FILE, key.public.pem);
    const list = digestsText(this.#digests);
    await this.#write(DIGESTS_FILE, (write) => write(list));
    if (key === undefined) return;
    await this.#write(SIGNATURE_FILE, (write) => write(signatureText(key, list, time)));
  }

  async #write(
    path: string,
    fill: (write: (piece: string) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const target = join(this.#root, path);
    await mkdir(dirname(target), { recursive: true, mode: FOLDER_MODE });
    const file = StreamedFile.create(target, { mode: FILE_MODE });
    try {
      await fill((piece) => file.write([Buffer.from(piece)]));
      await file.end();
    } catch (error) {
      await file.abandon();
      throw error;
    }
    await file.sync();
  }
}

/**
 * Makes a folder whole or not at all: it is filled under a temporary name beside its own, and renamed when all of it
 * is on stable storage.
 * @param data The data folder, in which nothing is written.
 * @throws UsageError for a folder that is not empty, or cannot be made.
 */
export async function writeWholeFolder(
  target: string,
  data: string,
  fill: (writer: EvidenceWriter) => Promise<void>,
): Promise<void> {
  await refuseTarget(target, data);
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`);
  const end = removedAtStop(temporary);
  try {
    await mkdir(temporary, { mode: FOLDER_MODE });
    await fill(new EvidenceWriter(temporary));
    await syncFolders(temporary);
    // A folder that is not empty is never replaced.
    await rename(temporary, target);
    await syncFolder(dirname(target));
  } finally {
    end();
    await rm(temporary, { recursive: true, force: true });
  }
}

async function refuseTarget(target: string, data: string): Promise<void> {
  if (target === data || target.startsWith(data + sep)) {
    throw new UsageError(
      `${target} is in the data folder, which this command only reads: name a folder elsewhere`,
    );
  }
  const parent = await stat(dirname(target)).catch(() => undefined);
  if (parent?.isDirectory() !== true) {
    throw new UsageError(`${dirname(target)}, in which ${target} is to be made, is no folder`);
  }
  const names = await readdir(target).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw new UsageError(`${target} is not a folder: name a new or an empty one`);
  });
  if (names.length > 0) {
    throw new UsageError(`${target} is not empty: name a new or an empty folder`);
  }
}

async function syncFolders(root: string): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (entry.isDirectory()) await syncFolder(join(entry.parentPath, entry.name));
  }
  await syncFolder(root);
}

/** Removes the incomplete folder if the command is stopped. @returns Ends this. */
function removedAtStop(folder: string): () => void {
  const stop = (signal: NodeJS.Signals): void => {
    rmSync(folder, { recursive: true, force: true });
    end();
    process.kill(process.pid, signal);
  };
  const end = (): void => {
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return end;
}
