import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Int64, List, Field, tableFromIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { expect } from 'vitest';
import type { DamagedFile } from '../../src/arrow/sealed/file-seal.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { tableKey } from '../../src/engine/catalog/records/keys.ts';
import { decodeTable } from '../../src/engine/catalog/records/records-codec.ts';
import { DeepCheck } from '../../src/engine/upkeep/verification/deep-check.ts';
import { CatalogError } from '../../src/protocol/errors.ts';
import { disk } from '../support/disk.ts';
import { freshEngine, openOther, type TestEngine } from '../support/engine.ts';
import { buildIndex } from '../support/indices.ts';
import { readManifestFile } from '../support/manifest-file.ts';
import { bytesOf, rowsOf } from '../support/query-answer.ts';
import { ask } from '../support/request.ts';
import { streamOf } from '../support/engine-table.ts';
import { vectorsOf } from '../support/vector-column.ts';

/** Kinds of file by the folder of a table that they lie in. */
export const kinds = ['data', 'deletions', 'indices', 'fragments', 'versions'] as const;
export type FileKind = (typeof kinds)[number];

/** A file of a table. */
export interface RotFile {
  readonly kind: FileKind;
  readonly path: string;
  readonly bytes: number;
  /** Whether the newest version needs it. */
  readonly isNeeded: boolean;
}

/** What a request answered: the rows, or the code and sentence of a refusal. */
type Outcome = string;

/** Requests that read all columns, deletions and indices of a table, by a name. */
const reads: Readonly<Record<string, readonly [action: string, body: object]>> = {
  scan: ['query', { vector: [], with_row_id: true }],
  filtered: ['query', { vector: [], filter: "name > 'n5' and id % 7 = 3", columns: ['id', 'v'] }],
  key: ['query', { vector: [], filter: 'id = 777', columns: ['id', 'name', 'text'] }],
  keys: ['query', { vector: [], filter: 'id >= 100 and id < 140', columns: ['id'] }],
  name: ['query', { vector: [], filter: "name = 'n17'", columns: ['id'] }],
  tags: ['query', { vector: [], filter: "array_has(tags, 't3')", columns: ['id'] }],
  text: ['query', { full_text_query: { query: 'word7 word9' }, columns: ['id'], k: 50 }],
  nearest: ['query', { vector: [3, 1, 4, 1, 5, 9, 2, 6], columns: ['id'], k: 20 }],
  count: ['count_rows', { predicate: 'id % 3 = 1' }],
};

const ROWS = 3000;

/** Columns of rows; equal numbers of rows give files of equal size. */
function columnsOf(first: number, seed: number) {
  const at = Array.from({ length: ROWS }, (_, row) => first + row);
  const mix = (row: number, to: number) => (row * 7919 + seed * 104_729) % to;
  return {
    id: vectorFromArray(at.map(BigInt), new Int64()),
    name: vectorFromArray(
      at.map((row) => `n${10 + mix(row, 90)}`),
      new Utf8(),
    ),
    tags: vectorFromArray(
      at.map((row) => [`t${mix(row, 9)}`, `t${mix(row + 3, 9)}`]),
      new List(new Field('item', new Utf8(), true)),
    ),
    text: vectorFromArray(
      at.map(
        (row) => `word${mix(row, 10)} and word${mix(row + 1, 10)} ${100_000 + mix(row, 90_000)}`,
      ),
      new Utf8(),
    ),
    v: vectorsOf(
      8,
      at.map((row) => Array.from({ length: 8 }, (_, item) => mix(row + item, 1000) / 100)),
    ),
  };
}

/** The table whose files are damaged, and others whose files have the same sizes. */
const names = ['t', 'u', 'v', 'w', 'x'] as const;

/** Tables with the same numbers of rows, and files of every kind. */
export class RottenTables {
  readonly engine: TestEngine;
  /** The names of the tables beside `t`. */
  readonly others: readonly string[];

  private constructor(engine: TestEngine, others: readonly string[]) {
    this.engine = engine;
    this.others = others;
  }

  /** @param others How many tables there are beside `t`. */
  static async open(others: number): Promise<RottenTables> {
    const engine = await freshEngine({ arrowBody: 2 ** 26 });
    engine.startWork((error) => {
      throw error;
    });
    const tables = new RottenTables(engine, names.slice(1, 1 + others));
    for (const [at, name] of ['t', ...tables.others].entries()) await tables.#fill(name, 1 + at);
    return tables;
  }

  async #fill(name: string, seed: number): Promise<void> {
    const send = (action: string, body: object | Uint8Array) =>
      ask(this.engine.backend, `POST /v1/table/${name}/${action}`, { body });
    await send('create', streamOf(columnsOf(0, seed)));
    await send('insert', streamOf(columnsOf(ROWS, seed)));
    for (const [column, index_type] of [
      ['id', 'BTREE'],
      ['name', 'BITMAP'],
      ['tags', 'LABEL_LIST'],
      ['text', 'FTS'],
      ['v', 'IVF_RQ'],
    ]) {
      const built = await buildIndex(this.engine.backend, name, { column, index_type });
      expect(built.status).toBe('SUCCEEDED');
    }
    await send('delete', { predicate: `id % 5 = ${seed % 5}` });
    // A version that leaves the fragments as they are has them in a list.
    await send('schema_metadata/update', { owner: name });
  }

  /** The folder of a table. */
  async folderOf(name: string): Promise<string> {
    const described = await ask(this.engine.backend, `POST /v1/table/${name}/describe`, {
      body: { with_table_uri: true },
    });
    const { table_uri: uri } = described.json as { table_uri: string };
    return uri.replace('file://', '');
  }

  /** The files that versions of a table name, by path. */
  async filesOf(name: string): Promise<readonly RotFile[]> {
    const folder = await this.folderOf(name);
    const paths = (await readdir(folder, { recursive: true })).filter((path) =>
      path.endsWith('.arrow'),
    );
    const newest = paths
      .filter((path) => path.startsWith('versions'))
      .toSorted()
      .at(-1)!;
    const needed = new Set([newest, ...(await listsOf(folder, newest))]);
    const found: RotFile[] = [];
    for (const path of paths.toSorted()) {
      const kind = kinds.find((each) => path.startsWith(`${each}${sep}`));
      if (kind === undefined) continue;
      const isVersions = kind === 'versions' || kind === 'fragments';
      const isNeeded = !isVersions || needed.has(path);
      const bytes = (await stat(join(folder, path))).size;
      found.push({ kind, path: join(folder, path), bytes, isNeeded });
    }
    return found;
  }

  /** The files of a table that a deep verification finds damaged, by path. */
  async unsound(name: string): Promise<ReadonlySet<string>> {
    const { data, store } = this.engine;
    const record = decodeTable((await store.get(tableKey([name])))!);
    const folder = join(data, 'tables', record.id);
    const parts = { storage: disk, store, folder: () => folder };
    const found = new Set<string>();
    const check = new DeepCheck(parts, { bytesPerSecond: 0 });
    for await (const { file } of check.unsound({ name, record })) found.add(join(folder, file));
    return found;
  }

  /** What a process that has read nothing yet answers, and the damage that it found. */
  async outcomes(
    name: string,
    workers = 0,
  ): Promise<{
    readonly answers: ReadonlyMap<string, Outcome>;
    readonly damages: readonly DamagedFile[];
  }> {
    const damages: DamagedFile[] = [];
    const onDamage = (damage: DamagedFile) => void damages.push(damage);
    const other = await openOther(this.engine, { workers, onDamage });
    try {
      const answers = new Map<string, Outcome>();
      for (const read of Object.keys(reads)) answers.set(read, await outcomeOf(other, name, read));
      return { answers, damages };
    } finally {
      await other.close();
    }
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}

/** The lists of fragments that a manifest names. */
async function listsOf(folder: string, manifest: string): Promise<readonly string[]> {
  const { lists = [] } = await readManifestFile(folder, manifest);
  return lists.map(({ path }) => path);
}

async function outcomeOf({ backend }: Engine, name: string, read: string): Promise<Outcome> {
  const [action, body] = reads[read]!;
  try {
    const answer = await ask(backend, `POST /v1/table/${name}/${action}`, { body });
    if (typeof answer.body === 'string') return answer.body;
    const rows = rowsOf(tableFromIPC(await bytesOf(answer.body)));
    return JSON.stringify(rows, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  } catch (error) {
    if (error instanceof CatalogError) return `${error.row.code} ${error.message}`;
    return String(error);
  }
}

/** Whether an outcome is the refusal of a damaged file. The rows of an answer may have begun before. */
export function isDamage(outcome: Outcome): boolean {
  return (
    /^18 table \/[t-x]: .* does not match the seal of the file: restore/.test(outcome) ||
    /^DamagedFile: .* does not match the seal of the file$/.test(outcome)
  );
}

/** Runs work while a file has other bytes. The file gets a new inode, as when it is copied. */
export async function withBytes<Result>(
  path: string,
  change: (bytes: Buffer) => Buffer,
  work: () => Promise<Result>,
): Promise<Result> {
  const bytes = await readFile(path);
  await replace(path, change(Buffer.from(bytes)));
  try {
    return await work();
  } finally {
    await replace(path, bytes);
  }
}

async function replace(path: string, bytes: Buffer): Promise<void> {
  await writeFile(`${path}.aside`, bytes);
  await rename(`${path}.aside`, path);
}
