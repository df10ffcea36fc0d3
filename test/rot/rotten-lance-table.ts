import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { arrow, lancedb, tableOf } from '../clients/lancedb.ts';
import { send, type Reply, type Sent } from '../service/http.ts';
import type { Service } from '../support/service.ts';

/** Kinds of file by the folder of a Lance table that they lie in. */
export const lanceKinds = ['data', '_deletions', '_indices', '_versions', '_transactions'] as const;

/** A file of a Lance table: its path in the folder of the table. */
export interface LanceRotFile {
  readonly kind: (typeof lanceKinds)[number];
  readonly path: string;
  readonly bytes: number;
}

const { Field, FixedSizeList, Float32, Int32, List, Utf8 } = arrow;
const vector = new FixedSizeList(8, new Field('item', new Float32(), true));

/** Rows of a table, those that are added, and those that are deleted before it is damaged. */
const [ROWS, ADDED] = [600, 20];
const isDeleted = (id: number): boolean => id % 50 === 7;

function rowsFrom(first: number, count: number) {
  const ids = Array.from({ length: count }, (_, at) => first + at);
  return tableOf([
    { name: 'id', type: new Int32(), values: ids },
    { name: 'kind', type: new Utf8(), values: ids.map((id) => `k${id % 7}`) },
    {
      name: 'tags',
      type: new List(new Field('item', new Utf8(), true)),
      values: ids.map((id) => [`t${id % 3}`, `u${id % 11}`]),
    },
    { name: 'words', type: new Utf8(), values: ids.map((id) => `word${id % 10} and more ${id}`) },
    {
      name: 'v',
      type: vector,
      values: ids.map((id) => Array.from({ length: 8 }, (_, at) => Math.sin(id * (at + 1)))),
    },
  ]);
}

/** Makes a table with files of every kind: two inserts, an index of each sort, deletions, an update. */
export async function writeTable(folder: string, name: string): Promise<void> {
  const { Index } = lancedb;
  const local = await lancedb.connect(folder);
  const table = await local.createTable(name, rowsFrom(0, ROWS));
  await table.createIndex('id', { config: Index.btree() });
  await table.createIndex('kind', { config: Index.bitmap() });
  await table.createIndex('tags', { config: Index.labelList() });
  await table.createIndex('words', { config: Index.fts({ withPosition: true }) });
  await table.createIndex('v', { config: Index.ivfPq({ numPartitions: 2, numSubVectors: 2 }) });
  await table.add(rowsFrom(ROWS, ADDED));
  await table.delete('id % 50 = 7');
  await table.update({ where: 'id = 11', valuesSql: { kind: "'moved'" } });
}

/** The files of a table. */
export async function filesIn(folder: string): Promise<readonly LanceRotFile[]> {
  const entries = await readdir(folder, { recursive: true });
  const found: LanceRotFile[] = [];
  for (const path of entries.toSorted()) {
    const kind = lanceKinds.find((each) => path.startsWith(`${each}/`));
    const about = await stat(join(folder, path));
    if (kind !== undefined && about.isFile()) found.push({ kind, path, bytes: about.size });
  }
  return found;
}

/** What became of a file; undefined removes it. */
export type Damage = (bytes: Buffer) => Buffer | undefined;

type Request = readonly [action: string, sent: Sent];

const query = (body: object): Request => ['query', { body: { vector: [], k: -1, ...body } }];
const post = (action: string, body: object): Request => [action, { body }];
const byRow = { columns: ['id'] };

/** Requests that read a table, by a name. */
export const reads: Readonly<Record<string, Request>> = {
  scan: query({}),
  'old version': query({ version: 1 }),
  key: query({ filter: 'id = 77', ...byRow }),
  keys: query({ filter: 'id >= 100 and id < 140', ...byRow }),
  kind: query({ filter: "kind = 'k3'", ...byRow }),
  tags: query({ filter: "array_has_any(tags, ['t1'])", ...byRow }),
  text: query({ full_text_query: { query: 'word7', columns: ['words'] }, k: 200, ...byRow }),
  phrase: query({
    full_text_query: { query: { phrase: { terms: 'word7 and', column: 'words' } } },
    k: 200,
    ...byRow,
  }),
  nearest: query({ vector: Array.from({ length: 8 }, () => 0.5), k: 9, ...byRow }),
  count: post('count_rows', { predicate: 'id % 3 = 1' }),
  plan: post('explain_plan', { query: { vector: [], k: 5, filter: 'id = 77' } }),
  describe: post('describe', {}),
  stats: post('stats', {}),
  versions: ['version/list', { body: {} }],
  indices: post('index/list', {}),
  'index of keys': post('index/id_idx/stats', {}),
  'index of vectors': post('index/v_idx/stats', {}),
  'index of texts': post('index/words_idx/stats', {}),
};

const rows = (first: number, count = 1): Uint8Array =>
  arrow.tableToIPC(rowsFrom(first, count), 'stream');

/** Requests that change a table, each other rows of it. */
export const changes: Readonly<Record<string, Request>> = {
  insert: ['insert', { body: rows(9001) }],
  update: post('update', { predicate: 'id = 3', updates: [['id', '9003']] }),
  delete: post('delete', { predicate: 'id = 4' }),
  merge: [
    'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true',
    { body: rows(9002) },
  ],
  column: post('add_columns', { new_columns: [{ name: 'twice', expression: 'id * 2' }] }),
  index: post('create_index', { column: 'id', index_type: 'BTREE', name: 'again' }),
  tag: post('tags/create', { tag: 'now', version: 1 }),
};

/** The ids in a table after some of the changes. */
export function idsAfter(done: ReadonlySet<string>): readonly number[] {
  const ids = Array.from({ length: ROWS + ADDED }, (_, id) => id).filter((id) => !isDeleted(id));
  const gone = [...(done.has('update') ? [3] : []), ...(done.has('delete') ? [4] : [])];
  const made = [
    ...(done.has('insert') ? [9001] : []),
    ...(done.has('merge') ? [9002] : []),
    ...(done.has('update') ? [9003] : []),
  ];
  return [...ids.filter((id) => !gone.includes(id)), ...made];
}

/** A copy of a table that a service knows under a name of its own. */
export class RottenLanceTable {
  readonly #service: Service;
  readonly name: string;
  readonly #location: string;

  private constructor(service: Service, name: string, location: string) {
    this.#service = service;
    this.name = name;
    this.#location = location;
  }

  static async copy(service: Service, source: string, name: string): Promise<RottenLanceTable> {
    const location = join(source, '..', `${name}.lance`);
    await cp(source, location, { recursive: true });
    const table = new RottenLanceTable(service, name, location);
    const { status, text } = await table.ask(['register', { body: { location } }]);
    if (status !== 200) throw new Error(text);
    return table;
  }

  ask([action, sent]: Request): Promise<Reply> {
    return send(this.#service.url, `POST /v1/table/${this.name}/${action}`, sent);
  }

  /** Sends another request to its service. */
  askOf(path: string): Promise<Reply> {
    return send(this.#service.url, `POST /v1/${path}`, { body: {} });
  }

  /** The ids of its rows, in their order. A failed read may leave parts of a damaged file in memory for the next one. */
  async ids(): Promise<readonly number[]> {
    const ask = () => this.ask(query(byRow));
    const first = await ask();
    const { status, bytes, text } = first.status === 200 ? first : await ask();
    if (status !== 200) throw new Error(text);
    const ids = [...(arrow.tableFromIPC(bytes).getChild('id') ?? [])].map(Number);
    return ids.toSorted((one, other) => one - other);
  }

  /** Damages a file. @returns What puts it back. */
  async damage(path: string, change: Damage): Promise<() => Promise<void>> {
    const file = join(this.#location, path);
    const bytes = await readFile(file);
    const damaged = change(Buffer.from(bytes));
    await (damaged === undefined ? rm(file) : writeFile(file, damaged));
    return () => writeFile(file, bytes);
  }

  async remove(): Promise<void> {
    await this.ask(['deregister', { body: {} }]);
    await rm(this.#location, { recursive: true });
  }
}
