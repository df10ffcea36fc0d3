import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { tableKey, versionKey } from '../../../../src/engine/catalog/records/keys.ts';
import { encodeTable } from '../../../../src/engine/catalog/records/records-codec.ts';
import { MAIN } from '../../../../src/engine/format/chain.ts';
import type { Stored, TableRecord } from '../../../../src/engine/format/records.ts';
import { encodeVersion } from '../../../../src/engine/format/version-codec.ts';
import type { TagMove } from '../../../../src/engine/versions/lines/tag-change.ts';
import { Tags } from '../../../../src/engine/versions/lines/tags.ts';
import { LanceTagFolder } from '../../../../src/engine/versions/managed/lance-refs.ts';
import { LocalStorage } from '../../../../src/storage/local-storage.ts';
import { testFolders } from '../../../support/folder.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const newFolder = testFolders();
const storage = new LocalStorage();

/** A folder of tags whose first change of a file waits, as that of a process that was stopped. */
class StoppedFolder extends LanceTagFolder {
  readonly isReached: Promise<void>;
  #reach: () => void = () => undefined;
  #go: () => void = () => undefined;
  #gone: Promise<void> | undefined = new Promise((resolve) => {
    this.#go = resolve;
  });

  constructor() {
    super(storage, undefined);
    this.isReached = new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  goOn(): void {
    this.#go();
  }

  override async write(...change: Parameters<LanceTagFolder['write']>): Promise<void> {
    await this.#turn();
    return super.write(...change);
  }

  override async remove(...change: Parameters<LanceTagFolder['remove']>): Promise<void> {
    await this.#turn();
    return super.remove(...change);
  }

  async #turn(): Promise<void> {
    const gone = this.#gone;
    this.#gone = undefined;
    this.#reach();
    await gone;
  }
}

/** A Lance table of two versions, and its tags as two processes change them. */
async function tagged() {
  const store = new MemoryStore();
  const content: TableRecord = {
    id: randomUUID(),
    kind: 'lance',
    location: await newFolder(),
    properties: {},
    createdMillis: 1,
  };
  const table = { key: tableKey(['t']), value: encodeTable(content), content };
  const versions = [1n, 2n].map((version) => {
    const names = { manifest: 'm', staging: 'm', manifestBytes: 1, metadata: {} };
    const record = { version, timestampMillis: 1, ...names };
    const key = versionKey(content.id, MAIN, version);
    return { key, value: encodeVersion(record), content: record };
  });
  await store.commit([], [table, ...versions]);
  const move = (version: number): TagMove => ({
    name: 'a',
    table: async (): Promise<Stored<TableRecord>> => table,
    version: async () => versions[version - 1]!,
  });
  const stopped = new StoppedFolder();
  const listed = async (tags: Tags) =>
    (await tags.all(content)).tags.map(({ name, tag }) => `${name} ${tag.version}`);
  const other = new Tags(store, store, new LanceTagFolder(storage, undefined));
  return { move, stopped, slow: new Tags(store, store, stopped), other, listed };
}

describe('a tag of a Lance table whose process was stopped before it wrote the file', () => {
  it('stays removed when another process has removed it meanwhile', async () => {
    const { move, stopped, slow, other, listed } = await tagged();
    const made = slow.create(move(1));
    await stopped.isReached;
    expect(await listed(other)).toEqual(['a 1']);
    await other.remove(move(1));
    stopped.goOn();
    await made;
    expect(await listed(other)).toEqual([]);
  });

  it('stays where another process has moved it meanwhile', async () => {
    const { move, stopped, slow, other, listed } = await tagged();
    const made = slow.create(move(1));
    await stopped.isReached;
    await other.update(move(2));
    stopped.goOn();
    await made;
    expect(await listed(other)).toEqual(['a 2']);
  });

  it('is there when another process has made it anew while it was being removed', async () => {
    const { move, stopped, slow, other, listed } = await tagged();
    await other.create(move(1));
    const removed = slow.remove(move(1));
    await stopped.isReached;
    await other.create(move(2));
    stopped.goOn();
    await removed;
    expect(await listed(other)).toEqual(['a 2']);
  });
});
