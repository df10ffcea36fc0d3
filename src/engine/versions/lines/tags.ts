import { CatalogError } from '../../../protocol/errors.ts';
import type { ReadCheck, Store } from '../../../store/store.ts';
import { children } from '../../catalog/records/children.ts';
import { commitLoop, type Committer, type Plan } from '../../catalog/records/commit-loop.ts';
import type { JudgeTable, Seal } from '../../catalog/records/seal.ts';
import { prefixRange, tagKey, tagsOf } from '../../catalog/records/keys.ts';
import { absent, unchanged } from '../../catalog/records/reader.ts';
import type { Stored, TableRecord, TagRecord, VersionRecord } from '../../format/records.ts';
import { decodeTag, encodeTag } from '../../catalog/records/records-codec.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';

/** The longest name in UTF-8 bytes. */
const MAX_BYTES = 255;

/** Letters, digits, `.`, `-` and `_`; the rules of Lance, whose clients use tags as names of files. */
const ALLOWED = /^[\p{L}\p{N}._-]+$/u;

/**
 * Refuses a name that no tag may have.
 * @throws CatalogError InvalidInput.
 */
function checkTagName(name: string): void {
  const fault = faultOf(name);
  if (fault !== undefined) {
    throw new CatalogError('InvalidInput', `the tag name ${JSON.stringify(name)} ${fault}`);
  }
}

function faultOf(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (Buffer.byteLength(name) > MAX_BYTES) return `is longer than ${MAX_BYTES} bytes`;
  if (!ALLOWED.test(name)) return 'may hold only letters, digits, ".", "-" and "_"';
  if (name.startsWith('.') || name.endsWith('.')) return 'may not begin or end with "."';
  if (name.includes('..')) return 'may not hold ".."';
  return name.endsWith('.lock') ? 'may not end with ".lock"' : undefined;
}

export interface NamedTag {
  readonly name: string;
  readonly tag: TagRecord;
  /** Check that it is unchanged. */
  readonly seen: ReadCheck;
}

/** The tags of a table, and the checks that they are still the same. */
interface AllTags {
  readonly tags: readonly NamedTag[];
  readonly checks: readonly ReadCheck[];
}

/** Subject of a tag change; read again before each attempt. */
export interface TagChange {
  readonly name: string;
  readonly table: () => Promise<Stored<TableRecord>>;
  readonly seal?: Seal<unknown> | undefined;
  /** Called with the current tag, if there is one, before any error about it. */
  readonly permitted?: ((tag: TagRecord) => void) | undefined;
  /** Called once the change is known to be possible. */
  readonly judge?: JudgeTable | undefined;
}

/** A change that makes a tag name a version. */
export interface TagMove extends TagChange {
  /** The line of the version; main by default. */
  readonly chain?: (table: TableRecord) => Promise<Chain>;
  /** The version's record. Throws when there is none. */
  readonly version: (table: TableRecord, chain: Chain) => Promise<Stored<VersionRecord>>;
}

/** Target of a tag. */
interface Target {
  readonly chain: Chain;
  readonly version: Stored<VersionRecord>;
}

/** The tags of tables: names for versions, each a record of its own in the store. */
export class Tags {
  readonly #store: Store;
  readonly #committer: Committer;

  constructor(store: Store, committer: Committer) {
    this.#store = store;
    this.#committer = committer;
  }

  /** @throws CatalogError TableTagNotFound. */
  async require(tableId: string, name: string): Promise<TagRecord> {
    const tag = await this.#read(tableId, name);
    if (tag === undefined) throw tagNotFound(name);
    return tag.content;
  }

  /** Tags in the order of their names' bytes, beyond a name. */
  async page(tableId: string, after: string, limit: number): Promise<readonly NamedTag[]> {
    const found: NamedTag[] = [];
    if (limit <= 0) return found;
    for await (const { name, key, value } of children(this.#store, tagsOf(tableId), after)) {
      found.push({ name, tag: decodeTag(value), seen: unchanged({ key, value }) });
      if (found.length === limit) break;
    }
    return found;
  }

  async all(tableId: string): Promise<AllTags> {
    const tags: NamedTag[] = [];
    for await (const { name, key, value } of children(this.#store, tagsOf(tableId))) {
      tags.push({ name, tag: decodeTag(value), seen: unchanged({ key, value }) });
    }
    return { tags, checks: areAll(tableId, tags) };
  }

  /** @throws CatalogError TableTagAlreadyExists, InvalidInput for a name that no tag may have, and those of the change. */
  async create(move: TagMove): Promise<void> {
    checkTagName(move.name);
    await this.#change(move, async (table, tag, uncertain) => {
      const target = await targetOf(move, table);
      if (tag === undefined) return setTag(table, move.name, target);
      if (uncertain && names(tag.content, target)) return undefined;
      throw new CatalogError(
        'TableTagAlreadyExists',
        `the table already has a tag ${JSON.stringify(move.name)}`,
      );
    });
  }

  /** Makes a tag name another version. @throws CatalogError TableTagNotFound, and those of the change. */
  async update(move: TagMove): Promise<void> {
    await this.#change(move, async (table, tag) => {
      if (tag === undefined) throw tagNotFound(move.name);
      return setTag(table, move.name, await targetOf(move, table), tag);
    });
  }

  /** @throws CatalogError TableTagNotFound, and those of the change. */
  async remove(change: TagChange): Promise<void> {
    await this.#change(change, async (_, tag, uncertain) => {
      if (tag !== undefined) {
        return { checks: [unchanged(tag)], writes: [{ key: tag.key, value: null }] };
      }
      if (uncertain) return undefined;
      throw tagNotFound(change.name);
    });
  }

  /** One conditional commit; a step that is nothing says that it has taken effect already. */
  async #change(
    { name, table, seal, permitted, judge }: TagChange,
    step: (
      table: TableRecord,
      tag: Stored<TagRecord> | undefined,
      uncertain: boolean,
    ) => Promise<Pick<Extract<Plan<null>, { kind: 'commit' }>, 'checks' | 'writes'> | undefined>,
  ): Promise<void> {
    await commitLoop<null>({ committer: this.#committer, seal }, async (uncertain) => {
      const current = await table();
      const tag = await this.#read(current.content.id, name);
      if (tag !== undefined) permitted?.(tag.content);
      const next = await step(current.content, tag, uncertain);
      if (next === undefined) return { kind: 'done', result: null };
      await judge?.(current.content);
      const checks = [unchanged(current), ...next.checks];
      return { kind: 'commit', checks, writes: next.writes, result: null };
    });
  }

  async #read(tableId: string, name: string): Promise<Stored<TagRecord> | undefined> {
    const key = tagKey(tableId, name);
    const value = await this.#store.get(key);
    return value === undefined ? undefined : { key, value, content: decodeTag(value) };
  }
}

/** The checks that a table has these tags and no others. */
export function areAll(tableId: string, tags: readonly NamedTag[]): readonly ReadCheck[] {
  const count = { kind: 'count', ...prefixRange(tagsOf(tableId)), count: tags.length } as const;
  return [...tags.map(({ seen }) => seen), count];
}

async function targetOf(move: TagMove, table: TableRecord): Promise<Target> {
  const chain = (await move.chain?.(table)) ?? MAIN_CHAIN;
  return { chain, version: await move.version(table, chain) };
}

function names(tag: TagRecord, { chain, version }: Target): boolean {
  return tag.version === version.content.version && (tag.branch ?? MAIN) === chain.branch;
}

function setTag(
  table: TableRecord,
  name: string,
  { chain, version }: Target,
  before?: Stored<TagRecord>,
) {
  const key = tagKey(table.id, name);
  const now = Date.now();
  const record = {
    branch: chain.branch === MAIN ? null : chain.branch,
    version: version.content.version,
    manifestBytes: version.content.manifestBytes,
    createdMillis: before?.content.createdMillis ?? now,
    updatedMillis: now,
  };
  return {
    checks: [
      unchanged(version),
      ...chain.checks,
      before === undefined ? absent(key) : unchanged(before),
    ],
    writes: [{ key, value: encodeTag(record) }],
  };
}

function tagNotFound(name: string): CatalogError {
  return new CatalogError('TableTagNotFound', `the table has no tag ${JSON.stringify(name)}`);
}
