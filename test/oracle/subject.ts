import { Agent } from 'node:http';
import { arrow } from '../clients/lancedb.ts';
import { send, type Reply, type Sent } from '../service/http.ts';
import { columnsOf } from './judge.ts';
import type {
  Change,
  MergeStatement,
  NearestStatement,
  Outcome,
  QueryStatement,
  Side,
  Statement,
} from './statement.ts';
import { tableOf, type Column } from './value.ts';

/** A refusal of the service, on its way to the outcome. */
class Refusal extends Error {}

/** The service on one table, over HTTP. */
export class Subject implements Side {
  readonly #url: string;
  readonly #name: string;
  readonly #agent = new Agent({ keepAlive: true });
  #versions: number[] = [];

  constructor(url: string, name: string) {
    this.#url = url;
    this.#name = name;
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
