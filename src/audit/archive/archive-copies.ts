import { basename, join } from 'node:path';
import { isMissing, unlessMissing } from '../../storage/storage-error.ts';
import type { Storage } from '../../storage/storage.ts';
import { archivePolicy } from '../archived-policies.ts';
import { instancesOf, logStorage } from '../chain/log-files.ts';
import { RecordFault } from '../record/decoding.ts';
import { microsOf } from '../record/time.ts';
import { parseSeal } from '../segments/seal.ts';
import { StatementFault } from '../signing/statement.ts';
import {
  listArchive,
  neededTails,
  type ArchivedFile,
  type ArchivedInstance,
  type ArchivedTail,
  type ArchiveListing,
} from './archived-objects.ts';
import { bringFile, bytesOfObject, forEachOf } from './object-copies.ts';

/** Requests for objects at a time. */
const AT_ONCE = 8;
/** Further attempts if objects were merged or removed while they were read. */
const RETRIES = 3;
/** Outcomes are looked for in segments that are this much later than the window, in microseconds. */
const SLACK_MICROS = 3_600_000_000n;
/** Bytes before the end of copied lines that are compared with the archive. */
const MARK_BYTES = 64;

/** Period of a reading, in microseconds since 1970. */
export interface CopyWindow {
  readonly since?: bigint | undefined;
  readonly until?: bigint | undefined;
}

export interface CopyOptions {
  readonly storage: Storage;
  /** Key of the folder of the archive. */
  readonly root: string;
  /** `<data>/private/audit`: its instances are not copied, unless `own` is set. */
  readonly folder: string;
  /** Whether the instances of the own folder are copied as well. */
  readonly own?: boolean;
  /** Folder of the copies; it has the layout of an audit folder. */
  readonly copies: string;
  /** Maximum size of the copies of segments, in bytes. */
  readonly bytes: number;
  /** Time for which a listing is used again, in ms. */
  readonly freshMillis?: number;
}

/** A reading needs more of the archive than the copies may take. */
export class CopiesTooLarge extends Error {
  constructor(needed: number, bytes: number) {
    super(
      `the audit segments of other gateways for this period have ${needed} bytes, and audit.archive_cache is ${bytes}: choose a shorter period, or raise it`,
    );
    this.name = 'CopiesTooLarge';
  }
}

interface CopiedSegment {
  readonly instance: string;
  readonly path: string;
  /** Undefined if the object is missing. */
  readonly archived: ArchivedFile | undefined;
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Copies of the archived logs of other gateways, on the disk. Each object is requested once:
 * seals and unsealed lines by every refresh, segments when a reading needs them.
 */
export class ArchiveCopies {
  readonly #options: CopyOptions;
  #last: Promise<unknown> = Promise.resolve();
  #listed = -Infinity;
  #segments: readonly CopiedSegment[] = [];
  #listing: ArchiveListing | undefined;

  constructor(options: CopyOptions) {
    this.#options = options;
  }

  /**
   * Brings what a reading of a period needs.
   * @throws CopiesTooLarge; RecordFault if a segment is missing in the archive; the storage's error
   */
  refresh(window: CopyWindow): Promise<ArchiveListing> {
    return this.#inTurn(async () => {
      const listing = await this.#fresh();
      const near = this.#segments.filter((segment) => isNear(segment, window));
      const missing = near.find(({ archived }) => archived === undefined);
      if (missing !== undefined) throw missingSegment(missing);
      await this.#bring(near);
      return listing;
    });
  }

  /** Brings seals, lines and policies, and no segment. @throws the storage's error */
  list(): Promise<ArchiveListing> {
    return this.#inTurn(() => this.#fresh());
  }

  /** Brings all segments of an instance, in place of those of others. @throws as `refresh` */
  bring(instance: string): Promise<void> {
    return this.#inTurn(() =>
      this.#bring(this.#segments.filter((each) => each.instance === instance)),
    );
  }

  /** Brings the segment of a path, if it is one of the copies and is not there. @throws as `refresh` */
  async bringPath(path: string): Promise<void> {
    const found = this.#segments.find((each) => each.path === path);
    if (found === undefined) return;
    if (found.archived === undefined) throw missingSegment(found);
    if (!isCurrent(path, found.archived)) await this.#inTurn(() => this.#bring([found]));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #fresh(): Promise<ArchiveListing> {
    const { freshMillis = 0 } = this.#options;
    const now = performance.now();
    if (this.#listing !== undefined && now - this.#listed < freshMillis) return this.#listing;
    for (let attempt = 0; ; attempt++) {
      try {
        this.#listing = await this.#copy();
        this.#listed = now;
        return this.#listing;
      } catch (error) {
        if (!isMissing(error) || attempt >= RETRIES) throw error;
      }
    }
  }

  async #copy(): Promise<ArchiveListing> {
    const { storage, root, folder, copies } = this.#options;
    const listing = await listArchive(storage, root);
    const own = new Set(this.#options.own === true ? [] : await instancesOf(folder));
    const others = [...listing.instances].filter(([instance]) => !own.has(instance));
    await logStorage.folders.make(copies, 0o700);
    const segments: CopiedSegment[] = [];
    await forEachOf(others, AT_ONCE, async ([instance, archived]) => {
      segments.push(...(await this.#copyInstance(instance, archived)));
    });
    await this.#removeGone(new Set(others.map(([instance]) => instance)));
    for (const [digest, key] of listing.policies) await this.#copyPolicy(digest, key);
    this.#segments = segments;
    return listing;
  }

  async #copyInstance(
    instance: string,
    archived: ArchivedInstance,
  ): Promise<readonly CopiedSegment[]> {
    const { storage, copies } = this.#options;
    const inner = join(copies, instance);
    await logStorage.folders.make(inner, 0o700);
    const wanted = new Set<string>();
    const segments: CopiedSegment[] = [];
    for (const file of [...archived.seal.values(), ...archived.portions.values()]) {
      const path = join(inner, basename(file.path));
      wanted.add(basename(path));
      if (!isCurrent(path, file)) await logStorage.replace(path, await storage.read(file.path));
    }
    for (const number of archived.seal.keys()) {
      const path = join(inner, `${number}.arrow`);
      const segment = await segmentIn(instance, path, archived.arrow.get(number));
      if (segment === undefined) continue;
      wanted.add(`${number}.arrow`);
      segments.push(segment);
    }
    for (const [number, tails] of archived.tails) {
      if (archived.seal.has(number)) continue;
      wanted.add(`${number}.jsonl`);
      await copyLines(storage, join(inner, `${number}.jsonl`), neededTails(tails));
    }
    for (const name of (await logStorage.names(inner)) ?? []) {
      if (!wanted.has(name) && !name.endsWith('.new')) logStorage.discard(join(inner, name));
    }
    return segments;
  }

  async #removeGone(others: ReadonlySet<string>): Promise<void> {
    const { copies } = this.#options;
    for (const instance of await instancesOf(copies)) {
      if (!others.has(instance))
        await logStorage.removeTree(join(copies, instance), { retained: [] });
    }
  }

  async #copyPolicy(digest: string, key: string): Promise<void> {
    const { storage, folder, copies } = this.#options;
    for (const audit of [folder, copies]) {
      if (logStorage.stat(join(audit, 'policies', digest)) !== undefined) return;
    }
    const texts = policyTexts((await storage.read(key)).toString());
    await archivePolicy(copies, digest, texts);
  }

  async #bring(needed: readonly CopiedSegment[]): Promise<void> {
    const bytes = sizeOf(needed);
    if (bytes > this.#options.bytes) throw new CopiesTooLarge(bytes, this.#options.bytes);
    const missing = needed.flatMap(({ path, archived }) =>
      archived === undefined || isCurrent(path, archived) ? [] : [{ path, key: archived.path }],
    );
    if (missing.length === 0) return;
    this.#makeRoom(needed);
    await forEachOf(missing, AT_ONCE, ({ path, key }) =>
      bringFile(this.#options.storage, key, path),
    );
  }

  /** Removes the copies that were made first, until there is room. */
  #makeRoom(needed: readonly CopiedSegment[]): void {
    let total = sizeOf(needed);
    const others = this.#segments.flatMap((segment) => {
      const found = needed.includes(segment) ? undefined : logStorage.stat(segment.path);
      return found === undefined ? [] : [{ path: segment.path, ...found }];
    });
    for (const { path, bytes } of others.toSorted(
      (one, other) => other.writtenMillis - one.writtenMillis,
    )) {
      total += bytes;
      if (total > this.#options.bytes) logStorage.discard(path);
    }
  }
}

function sizeOf(segments: readonly CopiedSegment[]): number {
  return segments.reduce((sum, { archived }) => sum + (archived?.bytes ?? 0), 0);
}

function missingSegment({ instance, path }: CopiedSegment): RecordFault {
  const name = `${instance}/${basename(path)}`;
  return new RecordFault(
    `the segment ${name} is missing in the archive, but its seal is there: audit verify says more`,
  );
}

/** Whether a copy is that of the object as it is now. */
function isCurrent(path: string, { bytes, writtenMillis }: ArchivedFile): boolean {
  const found = logStorage.stat(path);
  return found !== undefined && found.bytes === bytes && found.writtenMillis >= writtenMillis - 999;
}

/** A segment with the period of its seal; undefined if its records were removed after their retention. */
async function segmentIn(
  instance: string,
  path: string,
  archived: ArchivedFile | undefined,
): Promise<CopiedSegment | undefined> {
  const text = await unlessMissing(logStorage.read(path.replace(/arrow$/, 'seal')));
  if (text === undefined) return undefined;
  const found = { instance, path, archived };
  try {
    const { from, to, retired } = parseSeal(text.toString());
    return retired === '' ? { ...found, from: microsOf(from), to: microsOf(to) } : undefined;
  } catch (error) {
    if (!(error instanceof StatementFault)) throw error;
    // Readers and `audit verify` say that the seal is damaged.
    return { ...found, from: 0n, to: 0n };
  }
}

function isNear({ from, to }: CopiedSegment, { since, until }: CopyWindow): boolean {
  const isLate = until !== undefined && from >= until + SLACK_MICROS;
  return !isLate && (since === undefined || to >= since);
}

/** Brings the lines of a file that its copy lacks. */
async function copyLines(
  storage: Storage,
  path: string,
  tails: readonly ArchivedTail[],
): Promise<void> {
  const old = (await unlessMissing(logStorage.read(path))) ?? Buffer.alloc(0);
  const end = tails.at(-1)?.to ?? 0;
  if (end === old.length) return;
  const added = end > old.length ? await linesAfter(storage, tails, old) : undefined;
  const lines = added ?? (await linesAfter(storage, tails, Buffer.alloc(0)));
  await logStorage.replace(path, Buffer.concat(added === undefined ? [lines!] : [old, lines!]));
}

/**
 * The bytes behind a copy.
 * @returns Undefined if the copy is not the beginning of the lines, or a part is missing behind it.
 */
async function linesAfter(
  storage: Storage,
  tails: readonly ArchivedTail[],
  copy: Buffer,
): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let at = copy.length;
  for (const tail of tails.filter(({ to }) => to > copy.length)) {
    // What follows a part that is missing is read all the same: `audit verify` finds the gap.
    if (tail.from > at && copy.length > 0) return undefined;
    const start = Math.max(tail.from, at);
    const marked = pieces.length === 0 ? Math.min(MARK_BYTES, start - tail.from, copy.length) : 0;
    const from = start - marked - tail.from;
    const bytes = await bytesOfObject(storage, tail.path, from, tail.to - tail.from);
    if (!bytes.subarray(0, marked).equals(copy.subarray(copy.length - marked))) return undefined;
    pieces.push(bytes.subarray(marked));
    at = tail.to;
  }
  return Buffer.concat(pieces);
}

/** @throws RecordFault for an object that holds no policy */
function policyTexts(text: string): readonly { readonly name: string; readonly text: string }[] {
  const found: unknown = parsedJson(text);
  const entries = typeof found === 'object' && found !== null ? Object.entries(found) : [];
  return entries.map(([name, content]) => {
    if (basename(name) !== name || name.startsWith('.') || typeof content !== 'string') {
      throw new RecordFault('a policy in the archive has a file of another form');
    }
    return { name, text: content };
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RecordFault('a policy in the archive is not JSON');
  }
}
