import { Agent } from 'node:http';
import { arrow } from '../clients/lancedb.ts';
import { LANCEDB, send, type Reply, type Sent } from '../service/http.ts';
import { columnsOf, told } from './judge.ts';
import {
  isAside,
  makesVersion,
  type Aside,
  type Change,
  type MergeStatement,
  type NearestStatement,
  type Outcome,
  type QueryStatement,
  type Side,
  type Statement,
} from './statement.ts';
import { waitUntil } from '../support/eventually.ts';
import { tableOf, type Column } from './value.ts';

/** A refusal of the service, on its way to the outcome. */
class Refusal extends Error {}

/** The service on one table, over HTTP. */
export class Subject implements Side {
  readonly #url: string;
  readonly #name: string;
  readonly #agent = new Agent({ keepAlive: true });
  #versions: number[] = [];

  readonly #compact: (name: string) => Promise<void>;

  /** @param compact Runs the command that compacts a table. */
  constructor(url: string, name: string, compact: (name: string) => Promise<void>) {
    this.#url = url;
    this.#name = name;
    this.#compact = compact;
  }

  async create(rows: readonly Column[]): Promise<void> {
    this.#versions = [versionOf(await this.#send('create', { body: streamOf(rows) }))];
  }

  /** Learns of a version that another writer made. */
  noteVersion(version: number): void {
    this.#versions.push(version);
  }

  async close(): Promise<void> {
    await this.#send('drop');
    this.#agent.destroy();
  }

  async run(statement: Statement): Promise<Outcome> {
    try {
      return await this.#run(statement);
    } catch (error) {
      if (error instanceof Refusal) return { kind: 'refused', message: error.message };
      throw error;
    }
  }

  async #run(statement: Statement): Promise<Outcome> {
    if (statement.kind === 'nearest') return this.#rows(nearestBody(statement));
    if (isAside(statement)) return this.#aside(statement);
    if (statement.kind !== 'query' && statement.kind !== 'count') return this.#changed(statement);
    const version = this.#numberOf(statement.version);
    if (statement.kind === 'query') return this.#rows({ ...queryBody(statement), version });
    const body = { predicate: statement.filter, version };
    return { kind: 'count', count: Number((await this.#send('count_rows', { body })).text) };
  }

  async #rows(body: object): Promise<Outcome> {
    const { bytes } = await this.#send('query', { body });
    return { kind: 'rows', columns: columnsOf(arrow.tableFromIPC(bytes)) };
  }

  #numberOf(version: number | null): number | null {
    return version === null ? null : this.#versions[version]!;
  }

  /** What there is after a change by the other side, which made this version. */
  async look(statement: Statement, version: number): Promise<Outcome> {
    if (makesVersion(statement)) this.noteVersion(version);
    if (isAside(statement)) return this.#told(statement);
    return { ...(await this.#rows({ vector: [], k: -1 })), kind: 'changed', counts: [] } as Outcome;
  }

  async #aside(statement: Aside): Promise<Outcome> {
    if (makesVersion(statement)) this.#versions.push(this.#versions.at(-1)!);
    await this.#setAside(statement);
    if (makesVersion(statement)) {
      this.#versions.splice(-1, 1, versionOf(await this.#send('describe', { body: {} })));
    }
    return this.#told(statement);
  }

  /** Changes what a table has beside its rows. */
  async #setAside(statement: Aside): Promise<void> {
    switch (statement.kind) {
      case 'tag': {
        const { action, name, version } = statement;
        const body = { tag: name, version: this.#numberOf(version) };
        await this.#send(`tags/${action}`, { body: action === 'delete' ? { tag: name } : body });
        return;
      }
      case 'branch':
        return this.#branch(statement);
      case 'index': {
        const { name, column, type } = statement;
        const vector = type.startsWith('IVF') ? { num_partitions: 1, metric_type: 'l2' } : {};
        const body = { name, column, index_type: type, ...vector };
        const reply = await this.#send('create_index', { body, headers: LANCEDB });
        return this.#built(String(reply.json['transaction_id']));
      }
      case 'unindex':
        await this.#send(`index/${statement.name}/drop`, { body: {} });
        return;
      case 'compact':
        return this.#compact(this.#name);
      case 'stats':
    }
  }

  async #branch(statement: Extract<Aside, { kind: 'branch' }>): Promise<void> {
    const { action, name, version, rows } = statement;
    if (action === 'insert') {
      await this.#send(`insert?branch=${name}`, { body: streamOf(rows) });
      return;
    }
    const from = action === 'create' ? { from_version: this.#numberOf(version) } : {};
    await this.#send(`branches/${action}`, { body: { name, ...from } });
  }

  /** Waits for the end of a job. */
  async #built(id: string): Promise<void> {
    let reply: Reply | undefined;
    await waitUntil(async () => {
      const line = `POST /v1/transaction/${id}/describe`;
      reply = await send(this.#url, line, { body: {}, agent: this.#agent });
      return ['SUCCEEDED', 'FAILED'].includes(String(reply.json['status']));
    });
    if (reply?.json['status'] === 'FAILED') throw new Refusal(reply.text);
  }

  async #told({ kind }: Aside): Promise<Outcome> {
    if (kind === 'index' || kind === 'unindex') {
      const { json } = await this.#send('index/list', { body: {} });
      return told((json['indexes'] as readonly ListedIndex[]).map(indexText));
    }
    if (kind === 'stats') return told([statsText((await this.#send('stats', { body: {} })).json)]);
    if (kind === 'tag') {
      const { json } = await this.#send('tags/list', { body: {} });
      return this.#counts('tag', Object.keys(json['tags'] as object));
    }
    if (kind === 'branch') {
      const { json } = await this.#send('branches/list', { body: {} });
      return this.#counts('branch', Object.keys(json['branches'] as object));
    }
    return { ...(await this.#rows({ vector: [], k: -1 })), kind: 'changed', counts: [] } as Outcome;
  }

  /** The number of rows at each tag, or on each branch. */
  async #counts(what: 'tag' | 'branch', names: readonly string[]): Promise<Outcome> {
    const lines = names.map(async (name) => {
      const { text } = await this.#send('count_rows', { body: { [what]: name } });
      return `${name}: ${text} rows`;
    });
    return told(await Promise.all(lines));
  }

  /** The action that makes a change, and its body. */
  #requestOf(statement: Change): readonly [string, object] {
    switch (statement.kind) {
      case 'insert': {
        const mode = statement.overwrite ? 'overwrite' : 'append';
        return [`insert?mode=${mode}`, streamOf(statement.rows)];
      }
      case 'delete':
        return ['delete', { predicate: statement.filter }];
      case 'update': {
        const updates = Object.entries(statement.values);
        return ['update', { updates, predicate: statement.filter }];
      }
      case 'merge':
        return [`merge_insert?${mergeQuery(statement)}`, streamOf(statement.rows)];
      case 'add': {
        const { name, expression } = statement;
        return ['add_columns', { new_columns: [{ name, expression }] }];
      }
      case 'drop':
        return ['drop_columns', { columns: [statement.name] }];
      case 'rename':
        return altered({ path: statement.name, rename: statement.to });
      case 'retype':
        return altered({ path: statement.name, data_type: { type: statement.typeName } });
      case 'restore':
        break;
    }
    return ['restore', { version: this.#numberOf(statement.version) }];
  }

  /** Also a refused change counts among the versions, so that both sides count alike. */
  async #changed(statement: Change): Promise<Outcome> {
    this.#versions.push(this.#versions.at(-1)!);
    const [action, body] = this.#requestOf(statement);
    const reply = await this.#send(action, { body });
    this.#versions.splice(-1, 1, versionOf(reply));
    const { bytes } = await this.#send('query', { body: { vector: [] } });
    return {
      kind: 'changed',
      counts: countsIn(reply.json),
      columns: columnsOf(arrow.tableFromIPC(bytes)),
    };
  }

  async #send(action: string, sent: Sent = {}): Promise<Reply> {
    const line = `POST /v1/table/${this.#name}/${action}`;
    const reply = await send(this.#url, line, { ...sent, agent: this.#agent });
    if (reply.status === 200) return reply;
    if (reply.status >= 500) throw new Error(`the service failed: ${reply.status} ${reply.text}`);
    throw new Refusal(String(reply.json['error']));
  }
}

interface ListedIndex {
  readonly index_name: string;
  readonly index_type: string;
  readonly columns: readonly string[];
  readonly num_indexed_rows: number;
  readonly num_unindexed_rows: number;
}

function indexText(index: ListedIndex): string {
  const { index_name, index_type, columns, num_indexed_rows, num_unindexed_rows } = index;
  const type = index_type.toUpperCase().replaceAll('_', '');
  return `${index_name} ${type} ${columns.join()} ${num_indexed_rows} + ${num_unindexed_rows}`;
}

interface FragmentStats {
  readonly num_fragments: number;
  readonly num_small_fragments: number;
  readonly lengths: { readonly min: number; readonly max: number };
}

function statsText(json: Readonly<Record<string, unknown>>): string {
  const fragments = json['fragment_stats'] as FragmentStats;
  const { num_fragments, num_small_fragments, lengths } = fragments;
  const numbers = [json['num_rows'], json['num_indices'], num_fragments, num_small_fragments];
  return [...numbers, lengths.min, lengths.max].join();
}

function altered(alteration: object): readonly [string, object] {
  return ['alter_columns', { alterations: [alteration] }];
}

function streamOf(columns: readonly Column[]): Uint8Array {
  return arrow.tableToIPC(tableOf(columns), 'stream');
}

function versionOf({ json }: Reply): number {
  return Number(json['version']);
}

/** The counts of a change, in the order in which the judge gives them. */
function countsIn(json: Readonly<Record<string, unknown>>): readonly number[] {
  if ('num_attempts' in json) {
    return ['num_updated_rows', 'num_inserted_rows', 'num_deleted_rows'].map((name) =>
      Number(json[name]),
    );
  }
  const counted = ['num_deleted_rows', 'updated_rows'].filter((name) => name in json);
  return counted.map((name) => Number(json[name]));
}

function queryBody({ columns, filter, order, limit, offset }: QueryStatement): object {
  const terms = order.map(({ column, ascending, nullsFirst }) => ({
    column_name: column,
    ascending,
    nulls_first: nullsFirst,
  }));
  return {
    vector: [],
    filter,
    offset,
    k: limit ?? -1,
    ...(columns === null ? {} : { columns }),
    ...(terms.length === 0 ? {} : { order_by: terms }),
  };
}

function nearestBody(statement: NearestStatement): object {
  const { column, vector, metric, limit, offset, filter, prefilter, bounds } = statement;
  const [lower_bound, upper_bound] = bounds;
  const search = { vector_column: column, vector, distance_type: metric, lower_bound, upper_bound };
  return { ...search, k: limit, offset, filter, prefilter };
}

function mergeQuery(statement: MergeStatement): string {
  const query = new URLSearchParams(statement.on.map((name): [string, string] => ['on', name]));
  query.set('when_matched_update_all', String(statement.update));
  query.set('when_not_matched_insert_all', String(statement.insert));
  query.set('when_not_matched_by_source_delete', String(statement.remove));
  if (statement.updateIf !== null) query.set('when_matched_update_all_filt', statement.updateIf);
  if (statement.removeIf !== null) {
    query.set('when_not_matched_by_source_delete_filt', statement.removeIf);
  }
  return String(query);
}
