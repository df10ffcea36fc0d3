import { CatalogError } from '../../../protocol/errors.ts';
import type { ReadCheck, Store } from '../../../store/store.ts';
import { children } from '../../catalog/records/children.ts';
import { COMMIT_ATTEMPTS, commitLoop, type Committer } from '../../catalog/records/commit-loop.ts';
import { prefixRange, tagKey, tagsOf } from '../../catalog/records/keys.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { Stored, TableRecord, TagRecord } from '../../format/records.ts';
import { decodeTag, encodeTag } from '../../catalog/records/records-codec.ts';
import {
  namesTarget,
  setTag,
  tagNotFound,
  targetOf,
  unsetTag,
  type PlacedTag,
  type TagChange,
  type TagCommit,
  type TagMove,
} from './tag-change.ts';
import {
  notProtected,
  taggedVersion,
  type IsProtected,
  type TagFolder,
  type TaggedTable,
} from './tag-folder.ts';

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
  /** Check that its record is unchanged; absent where it has none. */
  readonly seen?: ReadCheck;
}

/** The tags of a table, and the checks that they are still the same. */
interface AllTags {
  readonly tags: readonly NamedTag[];
  readonly checks: readonly ReadCheck[];
}

/**
 * The tags of tables: names for versions, each a record of its own in the store. A tag of a Lance
 * table has a file in its folder as well, which is written after the record. A reader that finds a
 * record whose file is not up to date updates the file first. Later changes of the files by Lance
 * clients count, unless a rule protects the tag.
 */
export class Tags {
  readonly #store: Store;
  readonly #committer: Committer;
  readonly #folder: TagFolder | undefined;

  /** @param folder Reaches the files of tags; without it the records alone count. */
  constructor(store: Store, committer: Committer, folder?: TagFolder) {
    this.#store = store;
    this.#committer = committer;
    this.#folder = folder;
  }

  /** @throws CatalogError TableTagNotFound. */
  async require(
    table: TaggedTable,
    name: string,
    isProtected: IsProtected = notProtected,
  ): Promise<TagRecord> {
    const record = await this.#settled(table, name, await this.#read(table.id, name));
    const tag = await this.#effective(table, name, record?.content, isProtected);
    if (tag === undefined) throw tagNotFound(name);
    return tag;
  }

  /** Tags in the order of their names' bytes, beyond a name. */
  async page(
    table: TaggedTable,
    after: string,
    limit: number,
    isProtected: IsProtected = notProtected,
  ): Promise<readonly NamedTag[]> {
    if (limit <= 0) return [];
    if (this.#folderOf(table) !== undefined) {
      const { tags } = await this.all(table, isProtected);
      return tags.filter(({ name }) => compareNames(name, after) > 0).slice(0, limit);
    }
    const found: NamedTag[] = [];
    for await (const tag of this.#records(table.id, after)) {
      found.push(tag);
      if (found.length === limit) break;
    }
    return found;
  }

  /** All tags, and the checks that the catalog has the same records. */
  async all(table: TaggedTable, isProtected: IsProtected = notProtected): Promise<AllTags> {
    const { tags, checks } = await this.records(table.id);
    const folder = this.#folderOf(table);
    if (folder === undefined) return { tags, checks };
    for (const { name, tag } of tags) {
      if (tag.pending !== undefined) {
        await this.#settled(table, name, await this.#read(table.id, name));
        return this.all(table, isProtected);
      }
    }
    const files = new Map((await folder.all(folderOf(table))).map(({ name, tag }) => [name, tag]));
    const records = new Map(tags.map((each) => [each.name, each]));
    const names = [...new Set([...files.keys(), ...records.keys()])].sort(compareNames);
    const merged = names.flatMap((name): NamedTag[] => {
      const record = records.get(name);
      const tag = taggedVersion(record?.tag, files.get(name), isProtected(name));
      return tag === undefined ? [] : [{ ...record, name, tag }];
    });
    return { tags: merged, checks };
  }

  /** The catalog's records of tags. */
  async records(tableId: string): Promise<AllTags> {
    const tags: NamedTag[] = [];
    for await (const tag of this.#records(tableId)) tags.push(tag);
    return { tags, checks: areAll(tableId, tags) };
  }

  async *#records(tableId: string, after?: string): AsyncGenerator<NamedTag> {
    for await (const { name, key, value } of children(this.#store, tagsOf(tableId), after)) {
      yield { name, tag: decodeTag(value), seen: unchanged({ key, value }) };
    }
  }

  /** @throws CatalogError TableTagAlreadyExists, InvalidInput for a name that no tag may have, and those of the change. */
  async create(move: TagMove): Promise<void> {
    checkTagName(move.name);
    await this.#change(move, async (table, { tag, record }, uncertain) => {
      const target = await targetOf(move, table);
      if (tag === undefined) return setTag(this.#placed(table, move.name), target, record);
      if (uncertain && namesTarget(tag, target)) return undefined;
      throw new CatalogError(
        'TableTagAlreadyExists',
        `the table already has a tag ${JSON.stringify(move.name)}`,
      );
    });
  }

  /** Makes a tag name another version. @throws CatalogError TableTagNotFound, and those of the change. */
  async update(move: TagMove): Promise<void> {
    await this.#change(move, async (table, { tag, record }) => {
      if (tag === undefined) throw tagNotFound(move.name);
      return setTag(this.#placed(table, move.name), await targetOf(move, table), record, tag);
    });
  }

  /** @throws CatalogError TableTagNotFound, and those of the change. */
  async remove(change: TagChange): Promise<void> {
    await this.#change(change, async (table, { tag, record }, uncertain) => {
      if (tag !== undefined) return unsetTag(this.#placed(table, change.name), tag, record);
      if (uncertain) return undefined;
      throw tagNotFound(change.name);
    });
  }

  /** One conditional commit; a step that is nothing says that it has taken effect already. */
  async #change(
    { name, table, seal, isProtected = notProtected, permitted, judge }: TagChange,
    step: (
      table: TableRecord,
      current: CurrentTag,
      uncertain: boolean,
    ) => Promise<TagCommit | undefined>,
  ): Promise<void> {
    let last: TableRecord | undefined;
    await commitLoop<null>({ committer: this.#committer, seal }, async (uncertain) => {
      const current = await table();
      last = current.content;
      const found = await this.#read(last.id, name);
      const record = uncertain ? found : await this.#settled(last, name, found);
      const tag = await this.#effective(last, name, record?.content, isProtected);
      if (tag !== undefined) permitted?.(tag);
      const next = await step(last, { tag, record }, uncertain);
      if (next === undefined) return { kind: 'done', result: null };
      await judge?.(last);
      const checks = [unchanged(current), ...next.checks];
      return { kind: 'commit', checks, writes: next.writes, result: null };
    });
    if (last === undefined || this.#folderOf(last) === undefined) return;
    await this.#settled(last, name, await this.#read(last.id, name));
  }

  #placed(table: TableRecord, name: string): PlacedTag {
    return { key: tagKey(table.id, name), hasFile: this.#folderOf(table) !== undefined };
  }

  #folderOf({ kind }: TaggedTable): TagFolder | undefined {
    return kind === 'lance' ? this.#folder : undefined;
  }

  async #effective(
    table: TaggedTable,
    name: string,
    record: TagRecord | undefined,
    isProtected: IsProtected,
  ): Promise<TagRecord | undefined> {
    const folder = this.#folderOf(table);
    if (folder === undefined) return record;
    return taggedVersion(record, await folder.find(folderOf(table), name), isProtected(name));
  }

  /** Does to the file of a tag what its record says is left to do. */
  async #settled(
    table: TaggedTable,
    name: string,
    found: Stored<TagRecord> | undefined,
  ): Promise<Stored<TagRecord> | undefined> {
    const folder = this.#folderOf(table);
    let record = found;
    for (let attempt = 0; attempt < COMMIT_ATTEMPTS; attempt++) {
      if (folder === undefined || record?.content.pending === undefined) return record;
      const { pending, ...tag } = record.content;
      if (pending === 'write') await folder.write(folderOf(table), name, tag);
      else await folder.remove(folderOf(table), name);
      const value = pending === 'write' ? encodeTag(tag) : null;
      const { kind } = await this.#committer.commit(
        [unchanged(record)],
        [{ key: record.key, value }],
      );
      record = await this.#read(table.id, name);
      if (kind === 'conflict') await this.#repeatLast(table, name, record);
    }
    const why = `the tag ${JSON.stringify(name)} is changed by others all the time: repeat the request`;
    throw new CatalogError('ConcurrentModification', why);
  }

  /** Others were done with the file of a tag, and then it was changed once more: theirs was the last change. */
  async #repeatLast(
    table: TaggedTable,
    name: string,
    record: Stored<TagRecord> | undefined,
  ): Promise<void> {
    const folder = this.#folderOf(table);
    if (record === undefined) await folder?.remove(folderOf(table), name);
    else if (record.content.pending === undefined)
      await folder?.write(folderOf(table), name, record.content);
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
  return [...tags.flatMap(({ seen }) => seen ?? []), count];
}

/** A tag as it counts now, and its record. */
interface CurrentTag {
  readonly tag: TagRecord | undefined;
  readonly record: Stored<TagRecord> | undefined;
}

/** The folder of a Lance table. */
function folderOf({ id, location }: TaggedTable): string {
  if (location !== null) return location;
  throw new Error(`the table ${id} has no location`);
}

/** In the order of their UTF-8 bytes, as the store has them. */
function compareNames(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
