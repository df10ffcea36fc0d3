import type { Storage, StorageEntry } from '../../storage/storage.ts';

const INSTANCE = /^instances\/([^/]+)\/([^/]+)$/;
const PART = /^(\d{8})\.(arrow|seal|portions)$/;
const TAIL = /^(\d{8})-(\d{16})-(\d{16})\.jsonl$/;
const POLICY = /^policies\/([0-9a-f]{64})\.json$/;
const KEY = /^keys\/([\w-]+)\.pem$/;
/** Digits of a position in the name of a tail object. */
const POSITION_DIGITS = 16;

/** An object of the archive. */
export type ArchivedFile = Pick<StorageEntry, 'path' | 'bytes' | 'writtenMillis'>;

/** A part of a file of lines, from one position to another. */
export interface ArchivedTail extends ArchivedFile {
  readonly from: number;
  readonly to: number;
}

/** The objects of one instance, by the number of the file of the log. */
export class ArchivedInstance {
  readonly arrow = new Map<string, ArchivedFile>();
  readonly seal = new Map<string, ArchivedFile>();
  /** Checksums of segments whose seals have none. */
  readonly portions = new Map<string, ArchivedFile>();
  readonly tails = new Map<string, readonly ArchivedTail[]>();
  /** Keys of the start statement and of the newest checkpoint, if they are there. */
  start: string | undefined;
  checkpoint: string | undefined;

  add(name: string, file: ArchivedFile): void {
    if (name === START) this.start = file.path;
    if (name === CHECKPOINT) this.checkpoint = file.path;
    const [, number, kind] = PART.exec(name) ?? [];
    if (number !== undefined) this[kind as 'arrow' | 'seal' | 'portions'].set(number, file);
    const [, lines, from, to] = TAIL.exec(name) ?? [];
    if (lines === undefined) return;
    const tail = { ...file, from: Number(from), to: Number(to) };
    this.tails.set(lines, [...(this.tails.get(lines) ?? []), tail]);
  }
}

/** A listing of an archive of audit logs. */
export interface ArchiveListing {
  readonly instances: ReadonlyMap<string, ArchivedInstance>;
  /** Keys of archived policies, by digest. */
  readonly policies: ReadonlyMap<string, string>;
  /** Keys of published public keys, by id. */
  readonly keys: ReadonlyMap<string, string>;
}

const START = 'start.json';
const CHECKPOINT = 'checkpoint.json';

/** The keys of the objects of an archive below a folder. */
export const archiveKeys = {
  part: (root: string, instance: string, name: string): string =>
    `${root}/instances/${instance}/${name}`,
  tail: (root: string, instance: string, number: string, from: number, to: number): string =>
    `${root}/instances/${instance}/${number}-${digits(from)}-${digits(to)}.jsonl`,
  start: (root: string, instance: string): string => `${root}/instances/${instance}/${START}`,
  checkpoint: (root: string, instance: string): string =>
    `${root}/instances/${instance}/${CHECKPOINT}`,
  policy: (root: string, digest: string): string => `${root}/policies/${digest}.json`,
  key: (root: string, id: string): string => `${root}/keys/${id}.pem`,
};

function digits(position: number): string {
  return String(position).padStart(POSITION_DIGITS, '0');
}

/** Lists an archive. Objects with other names are ignored. */
export async function listArchive(storage: Storage, root: string): Promise<ArchiveListing> {
  const instances = new Map<string, ArchivedInstance>();
  const policies = new Map<string, string>();
  const keys = new Map<string, string>();
  for await (const { path, isFolder, bytes, writtenMillis } of storage.tree(root)) {
    if (isFolder) continue;
    const name = path.slice(root.length + 1);
    const [, instance, inner] = INSTANCE.exec(name) ?? [];
    if (instance !== undefined) {
      const found = instances.get(instance) ?? new ArchivedInstance();
      instances.set(instance, found);
      found.add(inner!, { path, bytes, writtenMillis });
    }
    const [, digest] = POLICY.exec(name) ?? [];
    if (digest !== undefined) policies.set(digest, path);
    const [, id] = KEY.exec(name) ?? [];
    if (id !== undefined) keys.set(id, path);
  }
  return { instances, policies, keys };
}

/**
 * The tails that a reader needs, in order. A crash may leave small ones that a larger one has
 * replaced.
 */
export function neededTails(tails: readonly ArchivedTail[]): readonly ArchivedTail[] {
  const sorted = tails.toSorted((one, other) => one.from - other.from || other.to - one.to);
  const needed: ArchivedTail[] = [];
  for (const tail of sorted) if (tail.to > (needed.at(-1)?.to ?? 0)) needed.push(tail);
  return needed;
}
