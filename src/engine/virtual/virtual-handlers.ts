import type { RecordBatch } from 'apache-arrow';
import { schemaToJson } from '../../arrow/json-schema.ts';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import { stringifyJson } from '../../protocol/json.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import { operationNames, operations } from '../../protocol/operations/operations.ts';
import type { VirtualTable } from '../../protocol/virtual-table.ts';
import { jsonAnswer } from '../handlers/call/answers.ts';
import type { Call, Handler, HandlerTable } from '../handlers/call/handler.ts';
import { namedBranch } from '../handlers/call/parameters.ts';
import { attended } from '../query/scan/attended.ts';
import type { AnswerMemory } from '../format/memory/answer-memory.ts';
import { repeatedAnswer } from '../query/plan/answer-body.ts';
import { reservedBytes } from '../query/plan/reserved-bytes.ts';
import { rowsAfter } from '../query/rows-after.ts';
import type { BatchSource } from '../query/scan/fragment-reader.ts';
import { fileAnswer, rowsAnswer, versionHeaders } from '../query/plan/answer.ts';
import { countRows, predicateOf } from '../query/rows/count.ts';
import { execute } from '../query/execute.ts';
import { countField, textField } from '../base/fields.ts';
import { planQuery } from '../query/plan/plan.ts';
import { statementOf, type Statement } from '../base/statement.ts';
import { parseQueryRequest } from '../request/request.ts';
import type { HeavyWork } from '../workers/heavy-work.ts';
import { MAIN } from '../format/chain.ts';
import { ONLY_VERSION, VirtualRows } from '../query/scan/virtual-rows.ts';

/** Parts of the operations on virtual tables. */
interface VirtualReads {
  readonly heavy: HeavyWork;
  /** Memory that answers in flight share. */
  readonly answerMemory: AnswerMemory;
}

type VirtualHandler = (table: VirtualTable, call: Call, reads: VirtualReads) => Promise<Answer>;

const own: Readonly<Partial<Record<OperationName, VirtualHandler>>> = {
  DescribeTable: describe,
  QueryTable: query,
  CountTableRows: count,
};

/** Handlers that also serve virtual tables; other operations on these are refused. */
export function withVirtualTables(
  tables: readonly VirtualTable[],
  handlers: HandlerTable,
  reads: VirtualReads,
): HandlerTable {
  const guarded = operationNames.flatMap((name): [OperationName, Handler][] => {
    const handler = handlers[name];
    if (handler === undefined || operations[name].object !== 'table') return [];
    return [[name, guard(name, handler)]];
  });
  return { ...handlers, ...Object.fromEntries(guarded) };

  function guard(name: OperationName, handler: Handler): Handler {
    return async (call) => {
      const { object } = call.request;
      const table = tables.find(({ path }) => isSamePath(path, object));
      if (table === undefined) return handler(call);
      const answer = own[name];
      if (answer === undefined) throw notOf(name, table);
      requireOnly(table, call);
      return answer(table, call, reads);
    };
  }
}

function isSamePath(one: ObjectPath, other: ObjectPath): boolean {
  if (one.length !== other.length) return false;
  return one.every((segment, at) => segment === other[at]);
}

function notOf(name: OperationName, { path }: VirtualTable): CatalogError {
  const names = Object.keys(own).join(', ');
  return new CatalogError(
    'Unsupported',
    `${canonicalPath(path)} is a table of the service itself: it answers ${names}, not ${name}`,
  );
}

/** There is one line of one version. */
function requireOnly({ path }: VirtualTable, call: Call): void {
  const name = canonicalPath(path);
  const branch = namedBranch(call) ?? MAIN;
  if (branch !== MAIN) {
    throw new CatalogError(
      'TableBranchNotFound',
      `${name} has no branch ${JSON.stringify(branch)}`,
    );
  }
  const tag = textField(call.body, 'tag');
  if (tag !== null) {
    throw new CatalogError('TableTagNotFound', `${name} has no tag ${JSON.stringify(tag)}`);
  }
  const version = countField(call.body, 'version') ?? ONLY_VERSION;
  if (version !== ONLY_VERSION) {
    throw new CatalogError('TableVersionNotFound', `${name} has no version ${version}`);
  }
}

async function describe({ path, schema }: VirtualTable, call: Call): Promise<Answer> {
  const vocabulary = call.request.dialect === 'lancedb' ? 'lance' : 'namespace';
  return jsonAnswer(call, {
    table: path.at(-1),
    namespace: path.slice(0, -1),
    properties: {},
    is_only_declared: false,
    version: ONLY_VERSION,
    schema: schemaToJson(schema, vocabulary),
    metadata: {},
    managed_versioning: true,
  });
}

async function query(
  table: VirtualTable,
  call: Call,
  { heavy, answerMemory }: VirtualReads,
): Promise<Answer> {
  const request = parseQueryRequest(call.body);
  const rows = await VirtualRows.of(table);
  const plan = planQuery(request, rows.snapshot, statementOf(call));
  if (heavy.isHeavyQuery(plan)) {
    const run = () => opened(rows.again(), (own) => heavy.query(request, plan, own));
    return fileAnswer(ONLY_VERSION, await repeatedAnswer(run, heavy.claimOf(plan)));
  }
  const signal = call.request.signal();
  type Work = (source: BatchSource, own: VirtualRows) => AsyncGenerator<RecordBatch>;
  const read = (work: Work) => {
    const own = rows.again();
    return closing(own, () => work(attended(own, signal), own));
  };
  return rowsAnswer({
    schema: plan.schema,
    batches: read((source) => execute(plan, source)),
    memory: answerMemory,
    reserve: reservedBytes(plan),
    after: (sent) =>
      read((source, own) => rowsAfter(plan, source, (part) => own.batchRows(part), sent)),
    version: ONLY_VERSION,
    signal,
  });
}

/** An answer that has begun, and closes the rows at its end. */
async function opened(
  rows: VirtualRows,
  begin: (rows: VirtualRows) => Promise<AsyncGenerator<Uint8Array>>,
): Promise<AsyncGenerator<Uint8Array>> {
  try {
    const bytes = await begin(rows);
    return closing(rows, () => bytes);
  } catch (error) {
    await rows.close();
    throw error;
  }
}

async function* closing<Item>(
  rows: VirtualRows,
  read: () => AsyncGenerator<Item>,
): AsyncGenerator<Item> {
  try {
    yield* read();
  } finally {
    await rows.close();
  }
}

async function count(table: VirtualTable, call: Call, { heavy }: VirtualReads): Promise<Answer> {
  const predicate = textField(call.body, 'predicate');
  const rows = await VirtualRows.of(table);
  try {
    return {
      status: 200,
      contentType: 'application/json',
      headers: versionHeaders(ONLY_VERSION),
      body: stringifyJson(await counted(rows, predicate, statementOf(call), heavy)),
    };
  } finally {
    await rows.close();
  }
}

async function counted(
  rows: VirtualRows,
  predicate: string | null,
  statement: Statement,
  heavy: HeavyWork,
): Promise<bigint> {
  const { snapshot } = rows;
  if (predicate !== null) {
    const formula = predicateOf(snapshot, predicate, statement);
    if (heavy.isHeavyCount(snapshot, formula)) {
      return heavy.count(predicate, snapshot, statement, rows);
    }
  }
  return countRows(attended(rows, statement.signal()), snapshot, predicate, statement);
}
