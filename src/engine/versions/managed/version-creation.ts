import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { Check, Store, Write } from '../../../store/store.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { versionKey } from '../../catalog/records/keys.ts';
import { absent, unchanged } from '../../catalog/records/reader.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import { isObjectKey } from '../../../storage/object-key.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import { branchNotFound, branchChain, type Branches } from '../lines/branches.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import { encodeVersion } from '../../format/version-codec.ts';
import { versionWrites, type VersionStore } from '../lines/version-store.ts';
import { adoptsExternalWrites, refusedBehind, refusedVersion } from './external-versions.ts';
import type { KnownManifests } from './known-manifests.ts';
import { lanceSummary, repeatedSummary, type LanceNext } from './lance-summary.ts';
import { Flushes } from '../../../storage/flushes.ts';
import { readManifestFile, type ManifestContent } from '../../format/lance/manifest-file.ts';
import { fileExists, holdStaged } from './held-manifests.ts';
import { sameBytes } from './managed-manifests.ts';
import { openDigest } from './manifest-identity.ts';
import { managedLine, type BranchStart, type LineParts, type ManagedLine } from './managed-line.ts';
import { finishVersion, locationOf } from './managed-versions.ts';
import { finalNames, schemeOf, stagedPlace, pathIn, type StagedPlace } from './place.ts';
import { readStaged, type StagedManifest, type Gates } from './staged-manifest.ts';
import type { LanceManifest } from '../../format/lance/lance-manifest.ts';
import { lanceTransaction } from '../../format/lance/lance-transaction.ts';

/** A version that a Lance client has staged and asks to commit. */
export interface VersionRequest {
  readonly path: ObjectPath;
  readonly branch: string;
  /** Negative for one that belongs to no chain. */
  readonly version: bigint;
  readonly manifestPath: string;
  readonly manifestSize: bigint | null;
  readonly namingScheme: string | null;
  readonly eTag: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Tells this request from others. */
  readonly id: string;
  /** Origin of a branch that this version begins, and whose file the gateway writes. */
  readonly origin?: BranchStart | undefined;
}

/** One version's part of a commit. */
export interface PlannedVersion {
  readonly table: TableRecord;
  readonly record: VersionRecord;
  /** The name under which its manifest was staged this time. */
  readonly staging: string;
  readonly summary: CommitSummary;
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
}

/** Dependencies of version creation. */
interface CreationParts extends LineParts {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly store: Pick<Store, 'get'>;
  readonly manifests?: KnownManifests;
}

/** The versions that one commit makes, one after the other. */
export class VersionPlan {
  readonly #parts: CreationParts;
  readonly #now: number;
  /** The lines that got a version already. */
  readonly #heads = new Map<string, Planned>();
  readonly #held: Set<string>;
  readonly #gates: Gates;

  /**
   * @param now When the versions come to be, in milliseconds.
   * @param held Gets the paths of the names that staged manifests are held by, of
   * this plan and of those that were made for the same commit before.
   */
  constructor(parts: CreationParts, now: number, held: Set<string>, gates: Gates = {}) {
    this.#parts = parts;
    this.#now = now;
    this.#held = held;
    this.#gates = gates;
  }

  /**
   * Checks and writes that make a staged version the next one of its line; no writes if it is already
   * recorded with the same bytes.
   * @throws CatalogError InvalidInput if the request does not match, ConcurrentModification if another
   * version is the next one, TableNotFound, TableBranchNotFound, InvalidTableState for a table that this
   * engine writes.
   */
  async add(request: VersionRequest): Promise<PlannedVersion> {
    const { path, branch } = request;
    const found = await this.#parts.catalog.requireTable(path);
    requireLanceTable(path, found.content);
    const table = (await this.#gates.adopt?.(path, found, branch)) ?? found;
    const place = stagedPlace(locationOf(table.content), request);
    const record = await this.#recorded(table.content, request, place);
    if (record === undefined) return this.#next(table, request, place);
    const summary = repeatedSummary(table.content.id, record.version);
    const { staging } = place;
    return { table: table.content, record, staging, summary, checks: [], writes: [] };
  }

  async #next(
    stored: Stored<TableRecord>,
    request: VersionRequest,
    place: StagedPlace,
  ): Promise<PlannedVersion> {
    const table = stored.content;
    const target = await this.#target(table, request, place);
    if (!isNext(request, target.next)) await this.#requireNoRefused(table, request, place, target);
    requireNext(request, target.next);
    const staged = await readStaged(this.#parts.storage, locationOf(table), place, request);
    try {
      return await this.#planned(stored, request, { place, target, staged });
    } finally {
      staged.file.close();
    }
  }

  async #planned(
    stored: Stored<TableRecord>,
    request: VersionRequest,
    { place, target, staged }: Checked,
  ): Promise<PlannedVersion> {
    const table = stored.content;
    await this.#requireFree(table, request, { place, target });
    const { manifest } = staged;
    const file = pathIn(locationOf(table), place.staging);
    const base = await this.#baseOf(table, request, target, { manifest, file });
    const { storage } = this.#parts;
    const { path, branch } = request;
    const before = this.#before(table, base);
    const flushes = new Flushes();
    const version = { ...staged, storage, path, table, branch, base, before, file, flushes };
    await this.#gates.judge?.(version);
    const held = heldName(request, place);
    this.#held.add(pathIn(locationOf(table), held));
    const names = { file: staged.file, staging: place.staging, held };
    flushes.add(holdStaged(storage, locationOf(table), names, target.base === undefined));
    const summary = this.#summary(table, base, { table: table.id, manifest, file });
    // It fails below, when no flush is in progress.
    summary.catch(() => undefined);
    await flushes.settled();
    const digest = adoptsExternalWrites(table) ? { digest: await openDigest(staged.file) } : {};
    const record = { ...this.#recordOf(request, place, staged, target.base), ...digest };
    this.#parts.manifests?.remember(record, staged);
    const writes = target.writes(record);
    if (target.line !== undefined) {
      this.#heads.set(lineKey(table, request), { line: target.line, record });
    }
    const claims = table.kind === 'declared' && target.base === undefined;
    return {
      table,
      record,
      staging: place.staging,
      summary: await summary,
      checks: [unchanged(stored), ...target.checks],
      writes: [...(claims ? [written(stored)] : []), ...writes],
    };
  }

  /** Refuses a version behind a refused one, and names that one: clients count the versions in the folder. */
  async #requireNoRefused(
    table: TableRecord,
    { path, branch }: VersionRequest,
    { folder }: StagedPlace,
    { line }: Target,
  ): Promise<void> {
    const refused = await refusedVersion(this.#parts.store, table.id, line?.chain.key ?? MAIN);
    if (refused === undefined) return;
    for (const name of finalNames(folder, refused.version)) {
      if (await fileExists(this.#parts.storage, pathIn(locationOf(table), name)))
        throw refusedBehind(path, branch, refused);
    }
  }

  /** A manifest without a record is never overwritten: an operator accepts it or sets it aside. */
  async #requireFree(
    table: TableRecord,
    { path, branch, version }: VersionRequest,
    { place, target }: Pick<Checked, 'place' | 'target'>,
  ): Promise<void> {
    const { staging } = place;
    const location = locationOf(table);
    const names = namesToLookFor(location, version, place, target.base);
    const { storage } = this.#parts;
    const there = await Promise.all(
      names.map((name) => fileExists(storage, pathIn(location, name))),
    );
    for (const name of names.filter((_, at) => there[at])) {
      if (await sameBytes(this.#parts.storage, location, name, staging)) continue;
      const chain = target.line?.chain.key ?? MAIN;
      const refused = await refusedVersion(this.#parts.store, table.id, chain);
      if (refused !== undefined) throw refusedBehind(path, branch, refused);
      throw unknownManifest(path, branch, version);
    }
  }

  /** Reads the manifest of a base once. */
  #before(
    table: TableRecord,
    base: VersionRecord | undefined,
  ): () => Promise<ManifestContent | undefined> {
    let content: Promise<ManifestContent> | undefined;
    return async () => {
      if (base === undefined) return undefined;
      const read = () =>
        readManifestFile(this.#parts.storage, pathIn(locationOf(table), base.manifest));
      return this.#parts.manifests?.of(base) ?? (content ??= read());
    };
  }

  async #summary(table: TableRecord, base: VersionRecord | undefined, next: LanceNext) {
    const manifest = base === undefined ? undefined : this.#parts.manifests?.of(base)?.manifest;
    return lanceSummary(this.#parts.storage, locationOf(table), { record: base, manifest }, next);
  }

  /** What a version is compared with: a branch begins with what it came from, what belongs to no chain with the newest. */
  async #baseOf(
    table: TableRecord,
    { branch, version }: VersionRequest,
    { base, line }: Target,
    staged: Omit<FirstVersion, 'version'>,
  ): Promise<VersionRecord | undefined> {
    if (base !== undefined) return base;
    if (version < 0n) {
      const chain = await this.#chain(table, branch);
      return chain === undefined
        ? undefined
        : (await this.#parts.versions.head(table.id, chain))?.content;
    }
    if (line?.origin === undefined) return undefined;
    return branchBase(this.#parts, table, line.origin, { version, ...staged });
  }

  async #target(table: TableRecord, request: VersionRequest, place: StagedPlace): Promise<Target> {
    if (request.version < 0n) return this.#apart(table, request);
    const before = this.#heads.get(lineKey(table, request));
    if (before !== undefined) return following(table, before);
    const line = await managedLine(this.#parts, table, request, place);
    return {
      line,
      next: line.next,
      base: line.head?.content,
      checks: line.checks,
      writes: (record) => [
        ...line.writes(record),
        ...versionWrites(table.id, record, line.chain.key),
      ],
    };
  }

  /** A detached version belongs to no chain, so there is no race. */
  async #apart(table: TableRecord, { path, branch, version }: VersionRequest): Promise<Target> {
    if (table.kind === 'declared') {
      throw new CatalogError(
        'InvalidTableState',
        `table ${canonicalPath(path)} is declared and has no data`,
      );
    }
    const chain = await this.#chain(table, branch);
    if (chain === undefined) throw branchNotFound(branch);
    const key = versionKey(table.id, chain.key, version);
    return {
      next: null,
      base: undefined,
      checks: [absent(key), ...chain.checks],
      writes: (record) => [{ key, value: encodeVersion(record) }],
    };
  }

  /** The record that says of a version that it is this one: staged as this one, or with the same bytes. */
  async #recorded(
    table: TableRecord,
    { path, branch, version }: VersionRequest,
    place: StagedPlace,
  ): Promise<VersionRecord | undefined> {
    const chain = await this.#chain(table, branch);
    const stored =
      chain === undefined ? undefined : await this.#parts.versions.at(table.id, version, chain);
    if (stored === undefined) return undefined;
    const record = stored.content;
    const location = locationOf(table);
    const isThere = await finishVersion(
      this.#parts.storage,
      this.#parts.committer,
      location,
      stored,
    );
    if (record.claimed === place.staging) return record;
    if (isThere && (await sameBytes(this.#parts.storage, location, record.manifest, place.staging)))
      return record;
    // A branch may have been deleted by its client, with all its files.
    if (!isThere && branch !== MAIN) return undefined;
    throw lost(path, branch, `its version ${version} is another one`);
  }

  async #chain(table: TableRecord, branch: string): Promise<Chain | undefined> {
    if (branch === MAIN) return MAIN_CHAIN;
    const stored = await this.#parts.branches.find(table.id, branch);
    return stored === undefined ? undefined : { ...branchChain(branch, stored), lineage: [] };
  }

  #recordOf(
    request: VersionRequest,
    place: StagedPlace,
    staged: StagedManifest,
    base: VersionRecord | undefined,
  ): VersionRecord {
    const { version, metadata, eTag } = request;
    return {
      version,
      // Its client's clock may be behind that of the client before.
      timestampMillis: Math.max(
        staged.manifest.timestampMillis ?? this.#now,
        base?.timestampMillis ?? 0,
      ),
      manifest: place.manifest,
      staging: heldName(request, place),
      claimed: place.staging,
      manifestBytes: staged.bytes,
      metadata,
      ...(eTag === null ? {} : { eTag }),
    };
  }
}

/** The newest version that a commit makes of a line. */
interface Planned {
  readonly line: ManagedLine;
  readonly record: VersionRecord;
}

/** A checked staged version with its final place. */
interface Checked {
  readonly place: StagedPlace;
  readonly target: Target;
  readonly staged: StagedManifest;
}

/** Target of a version. */
interface Target {
  /** Absent for one that belongs to no chain. */
  readonly line?: ManagedLine;
  /** The versions that may come next; null for any. */
  readonly next: readonly bigint[] | null;
  readonly base: VersionRecord | undefined;
  readonly checks: readonly Check[];
  readonly writes: (record: VersionRecord) => readonly Write[];
}

function following(table: TableRecord, { line, record }: Planned): Target {
  return {
    line,
    next: [record.version + 1n],
    base: record,
    checks: [],
    writes: (next) => versionWrites(table.id, next, line.chain.key),
  };
}

/** Lets go of staged manifests, when their commit was refused or they have their final names. */
export async function letGo(storage: Storage, held: ReadonlySet<string>): Promise<void> {
  for (const path of held) await storage.discard(path);
}

/** @throws CatalogError InvalidTableState: the versions of a table that this engine writes come from its own operations alone. */
export function requireLanceTable(path: ObjectPath, { kind }: TableRecord): void {
  if (kind !== 'engine') return;
  throw new CatalogError(
    'InvalidTableState',
    `table ${canonicalPath(path)} is written by this service: its versions come from insert, update and the other operations on its rows, not from a client's manifest`,
  );
}

/**
 * The names under which a version may have been written without the catalog. In an object store a look costs
 * a request, and Lance gives each version a name of the scheme of the one before.
 */
function namesToLookFor(
  location: string,
  version: bigint,
  { folder, manifest }: StagedPlace,
  base: VersionRecord | undefined,
): readonly string[] {
  const isOfBase = base !== undefined && schemeOf(base.manifest) === schemeOf(manifest);
  return isOfBase && isObjectKey(location) ? [manifest] : finalNames(folder, version);
}

function isNext({ version }: VersionRequest, next: Target['next']): boolean {
  return version !== 0n && (next === null || next.includes(version));
}

function requireNext(request: VersionRequest, next: Target['next']): void {
  const { path, branch, version } = request;
  if (version === 0n) {
    throw new CatalogError('InvalidInput', 'version must be at least 1, or that of a detached one');
  }
  if (isNext(request, next)) return;
  throw lost(path, branch, `its next version is ${next?.at(-1)}, not ${version}`);
}

/** A version that was written without the catalog, where requests do not adopt. */
function unknownManifest(path: ObjectPath, branch: string, version: bigint): CatalogError {
  const name = canonicalPath(path);
  const where = branch === MAIN ? '' : ` on the branch ${JSON.stringify(branch)}`;
  return new CatalogError(
    'ConcurrentModification',
    `the folder of the table ${name} holds a manifest of version ${version}${where} that was written without the catalog. \`arrowgate catalog adopt ${name}\` accepts it or sets it aside`,
  );
}

function lost(path: ObjectPath, branch: string, why: string): CatalogError {
  const where = branch === MAIN ? '' : ` on the branch ${JSON.stringify(branch)}`;
  return new CatalogError(
    'ConcurrentModification',
    `table ${canonicalPath(path)} was committed to by someone else${where}: ${why}`,
  );
}

/**
 * The second, secret name of a staged manifest. Unlike its first name, no credentials that are handed
 * out can write it: see `sessionPolicy`.
 */
function heldName({ id }: VersionRequest, { manifest }: StagedPlace): string {
  return `${manifest}.${id}`;
}

function lineKey({ id }: TableRecord, { branch }: VersionRequest): string {
  return `${id} ${branch}`;
}

/** The first commit makes a declared table one that Lance clients write. */
function written({ key, content }: Stored<TableRecord>): Write {
  return { key, value: encodeTable({ ...content, kind: 'lance' }) };
}

/** The first version of a branch, as its client has staged it. */
interface FirstVersion {
  readonly version: bigint;
  readonly manifest: LanceManifest;
  /** Absolute path of the file with the manifest. */
  readonly file: string;
}

interface Reads {
  readonly storage: Storage;
  readonly versions: Pick<VersionStore, 'head' | 'list'>;
  readonly branches: Pick<Branches, 'find'>;
}

/**
 * The base of a branch's first version: the version that the client's branch file names, or the newest
 * known version before that. Either was accepted before.
 * @param origin Content of the branch file.
 */
async function branchBase(
  { storage, versions, branches }: Reads,
  { id }: TableRecord,
  origin: NonNullable<ManagedLine['origin']>,
  { version, manifest, file }: FirstVersion,
): Promise<VersionRecord | undefined> {
  const { origin: said } = await lanceTransaction(storage, file, manifest);
  const above = said?.branch ? (await branches.find(id, said.branch))?.content.id : undefined;
  const parent = above ?? (said === undefined ? origin.key : MAIN);
  const from = said?.version ?? origin.version ?? version;
  const page = { limit: 1, descending: true, after: from + 1n };
  for (const key of new Set([parent, MAIN])) {
    const chain = { branch: MAIN, key, lineage: [], checks: [] };
    const [base] = await versions.list(id, page, chain);
    if (base !== undefined) return base;
  }
  return (await versions.head(id))?.content;
}
