import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { RuleRefusal } from '../../../rules/commit-rule.ts';
import { Pace } from '../../base/pace.ts';
import { MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import type { JudgedTable } from '../../rules/place-judge.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import { Branches } from '../../versions/lines/branches.ts';
import { keptVersions, type KeptVersions } from '../../versions/lines/kept-versions.ts';
import { Tags } from '../../versions/lines/tags.ts';
import { VersionStore } from '../../versions/lines/version-store.ts';
import { keptManagedVersions } from '../../versions/managed/kept-managed-versions.ts';
import { versionPolicyOf, type VersionPolicy } from '../../versions/version-policy.ts';
import { removeVersions } from '../../versions/version-removal.ts';
import type { RetentionParts } from './parts.ts';

/** A line of versions of which some go. */
export interface ExpiringLine {
  readonly path: ObjectPath;
  readonly branch: string;
  /** In milliseconds. */
  readonly keepForMillis: number;
  readonly keepLast: number;
}

/** Records a removal: calls the work once, and passes on its error. */
export type RecordExpiry = (
  line: ExpiringLine,
  work: () => Promise<readonly bigint[]>,
) => Promise<void>;

export interface ExpiryOptions {
  /** The configured policy. */
  readonly policy: VersionPolicy;
  /** Judges a removal by the commit rules; none are in force unless it is given. @throws RuleRefusal */
  readonly judge?: (table: JudgedTable, branch: string) => Promise<void>;
  /** Records removals in the audit log; without it they are in none. */
  readonly record?: RecordExpiry;
  /**
   * Whether few versions wait for more. The removal of their files reads the manifests of all
   * versions that stay, so versions go when they are an eighth of those.
   */
  readonly gathers?: boolean;
  /** Whether tables from before the configured policy follow it from now on. */
  readonly olderTables?: boolean;
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Number of expired versions. */
export interface Expired {
  readonly versions: number;
  /** Number of lines whose versions stay because of a commit rule. */
  readonly forbidden: number;
}

type BoundedPolicy = { readonly [Key in keyof VersionPolicy]: number };

/** Share of the versions that stay, from which on `gathers` removes. */
const SHARE = 8;
/** Number of versions of one commit. */
const COMMIT_VERSIONS = 1000;
/** Number of versions of a line that one collection removes. */
const LINE_VERSIONS = 10_000;
/** Number of version records read at once. */
const CHUNK = 1000;
/** Number of namespaces whose properties are cached. */
const CACHED = 10_000;

type Properties = TableRecord['properties'];

/** Removes the versions that the policies of their tables do not keep. */
export class Expiry {
  readonly #parts: RetentionParts;
  readonly #options: ExpiryOptions;
  readonly #versions: VersionStore;
  readonly #tags: Tags;
  readonly #branches: Branches;
  readonly #namespaces = new Map<string, Properties>();

  constructor(parts: RetentionParts, options: ExpiryOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#versions = new VersionStore(parts.store);
    this.#tags = new Tags(parts.store, parts.committer);
    this.#branches = new Branches(parts.store, parts.committer);
  }

  /** Removes versions of a table. Their files are left to the collection of removed versions. */
  async expire(found: JudgedTable): Promise<Expired> {
    const table = await this.#joined(found);
    const policy = await this.#policyOf(table);
    let [versions, forbidden] = [0, 0];
    if (policy === undefined || table.record.kind === 'declared') return { versions, forbidden };
    for (const line of [MAIN_CHAIN, ...(await this.#branches.chains(table.record.id))]) {
      if (this.#options.signal?.aborted === true) break;
      try {
        // Versions of the line itself, without those that it was branched from.
        versions += await this.#expireLine(table, { ...line, lineage: [] }, policy);
      } catch (error) {
        if (error instanceof RuleRefusal) forbidden += 1;
        else if (!isOvertaken(error)) throw error;
      }
    }
    return { versions, forbidden };
  }

  /** The table, which follows the configured policy from now on if that is wanted. */
  async #joined(table: JudgedTable): Promise<JudgedTable> {
    const { olderTables = false, dryRun = false } = this.#options;
    const { kind, expires } = table.record;
    if (!olderTables || kind !== 'engine' || expires === true) return table;
    const joined = { path: table.path, record: { ...table.record, expires: true as const } };
    if (dryRun) return joined;
    const stored = await this.#unchanged(table);
    const value = encodeTable({ ...stored.content, expires: true });
    const writes = [{ key: stored.key, value }];
    const { kind: outcome } = await this.#parts.committer.commit([unchanged(stored)], writes);
    if (outcome === 'committed') return joined;
    throw new CatalogError(
      'ConcurrentModification',
      'the table was changed meanwhile: run it again',
    );
  }

  async #policyOf({ path, record }: JudgedTable): Promise<BoundedPolicy | undefined> {
    const layers: Properties[] = [record.properties];
    for (let depth = path.length - 1; depth > 0; depth--) {
      layers.push(await this.#propertiesOf(path.slice(0, depth)));
    }
    const policy = versionPolicyOf(layers, this.#options.policy, record.expires === true);
    if (policy === undefined) return undefined;
    const { keepForMillis, keepLast } = policy;
    return keepForMillis === null || keepLast === null ? undefined : { keepForMillis, keepLast };
  }

  async #propertiesOf(path: ObjectPath): Promise<Properties> {
    const key = canonicalPath(path);
    const known = this.#namespaces.get(key);
    if (known !== undefined) return known;
    if (this.#namespaces.size >= CACHED) this.#namespaces.clear();
    const properties = (await this.#parts.reader.namespace(path))?.content.properties ?? {};
    this.#namespaces.set(key, properties);
    return properties;
  }

  async #expireLine(table: JudgedTable, chain: Chain, policy: BoundedPolicy): Promise<number> {
    const { judge, record, dryRun = false } = this.#options;
    const expired = await this.#expiredOn(table.record, chain, policy);
    if (expired.length === 0) return 0;
    await judge?.(table, chain.branch);
    if (dryRun) return expired.length;
    let removed = 0;
    const work = async () => {
      const versions = await this.#remove(table, chain, expired);
      removed = versions.length;
      return versions;
    };
    if (record === undefined) await work();
    else await record({ path: table.path, branch: chain.branch, ...policy }, work);
    return removed;
  }

  /** The versions of a line that go now, oldest first. */
  async #expiredOn(
    table: TableRecord,
    chain: Chain,
    policy: BoundedPolicy,
  ): Promise<readonly bigint[]> {
    const head = (await this.#versions.head(table.id, chain))?.content.version;
    if (head === undefined || head <= policy.keepLast) return [];
    const found: bigint[] = [];
    let kept: ReadonlySet<bigint> | undefined;
    for await (const version of this.#replaced(table.id, chain, head, policy)) {
      kept ??= (await this.#retained(table, chain)).versions;
      if (!kept.has(version)) found.push(version);
      if (found.length === LINE_VERSIONS) return found;
    }
    const newest = found.at(-1);
    const stay = newest === undefined ? 0 : Number(head - newest);
    return this.#options.gathers === true && found.length * SHARE < stay ? [] : found;
  }

  /** Versions of a line that were replaced long enough ago and are not among the last, oldest first. */
  async *#replaced(
    tableId: string,
    chain: Chain,
    head: bigint,
    { keepForMillis, keepLast }: BoundedPolicy,
  ): AsyncGenerator<bigint> {
    const before = this.#parts.clock() - keepForMillis;
    const pace = new Pace();
    // Numbers are an upper bound: versions may be missing between them.
    let last = head - BigInt(keepLast);
    let counted = false;
    let previous: bigint | undefined;
    for await (const { version, timestampMillis } of this.#ascending(tableId, chain)) {
      if (previous !== undefined) {
        if (timestampMillis > before || previous > last) return;
        if (!counted) last = (await this.#firstOfLast(tableId, chain, keepLast)) - 1n;
        counted = true;
        if (previous > last) return;
        yield previous;
        await pace.turn();
      }
      previous = version;
    }
  }

  async *#ascending(tableId: string, chain: Chain): AsyncGenerator<VersionRecord> {
    let after = 0n;
    // Two show whether anything is old enough.
    for (let limit = 2; ; limit = CHUNK) {
      const page = { after, limit, descending: false };
      const records = await this.#versions.list(tableId, page, chain);
      yield* records;
      const last = records.at(-1);
      if (last === undefined || records.length < limit) return;
      after = last.version;
    }
  }

  /** The oldest of the last versions of a line; 0 if it has fewer. */
  async #firstOfLast(tableId: string, chain: Chain, count: number): Promise<bigint> {
    let left = count;
    let after: bigint | undefined;
    while (left > 0) {
      const limit = Math.min(left, CHUNK);
      const page = { limit, descending: true, ...(after !== undefined && { after }) };
      const records = await this.#versions.list(tableId, page, chain);
      if (records.length < limit) return 0n;
      after = records.at(-1)?.version;
      left -= limit;
    }
    return after ?? 0n;
  }

  async #remove(
    table: JudgedTable,
    chain: Chain,
    expired: readonly bigint[],
  ): Promise<readonly bigint[]> {
    const removed: bigint[] = [];
    for (let start = 0; start < expired.length; start += COMMIT_VERSIONS) {
      if (this.#options.signal?.aborted === true) break;
      const some = expired.slice(start, start + COMMIT_VERSIONS);
      const removal = {
        table: () => this.#unchanged(table),
        chain: async () => chain,
        selected: () => true,
        retained: (record: TableRecord) => this.#retained(record, chain),
        candidates: ({ id }: TableRecord) => this.#versions.some(id, chain.key, some),
        filesLater: true,
      };
      const work = this.#parts.removing(table.record, (parts) => removeVersions(parts, removal));
      removed.push(...(await work));
    }
    return removed;
  }

  /** The record of a table, which decided what goes. */
  async #unchanged({ path, record }: JudgedTable): Promise<Stored<TableRecord>> {
    const found = await this.#parts.reader.table(path);
    const { id, properties } = record;
    const same =
      found?.content.id === id &&
      JSON.stringify(found.content.properties) === JSON.stringify(properties);
    if (found !== undefined && same) return found;
    throw new CatalogError('ConcurrentModification', 'the table was changed meanwhile');
  }

  async #retained(table: TableRecord, chain: Chain): Promise<KeptVersions> {
    const [tags, branches] = [this.#tags, this.#branches];
    return table.kind === 'engine'
      ? keptVersions(tags, branches, table.id, chain)
      : keptManagedVersions(this.#parts.storage, tags, branches, table, chain);
  }
}

/** Whether others changed the table: the next collection looks again. */
function isOvertaken(error: unknown): boolean {
  return error instanceof CatalogError && error.row.name === 'ConcurrentModification';
}
