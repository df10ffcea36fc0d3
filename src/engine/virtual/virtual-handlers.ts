import { schemaToJson } from '../../arrow/json-schema.ts';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import { operationNames, operations } from '../../protocol/operations/operations.ts';
import type { VirtualTable } from '../../protocol/virtual-table.ts';
import { jsonAnswer } from '../handlers/call/answers.ts';
import type { Call, Handler, HandlerTable } from '../handlers/call/handler.ts';
import { namedBranch } from '../handlers/call/parameters.ts';
import { restrictedRows } from '../handlers/call/restricted-reads.ts';
import { statementOf } from '../base/statement.ts';
import { bindRestrictions } from '../query/restrict/bound-restrictions.ts';
import type { MaskSecret } from '../query/restrict/mask-secret.ts';
import { countField, textField } from '../base/fields.ts';
import { parseQueryRequest } from '../request/request.ts';
import { MAIN } from '../format/chain.ts';
import { countOfRows, rowsOfQuery, type VirtualReads } from './row-answers.ts';
import { ONLY_VERSION, VirtualRows } from '../query/scan/virtual-rows.ts';

/** Parts of the operations on virtual tables. */
interface VirtualTableReads extends VirtualReads {
  /** The key of the hashes of masks. */
  readonly maskSecret: MaskSecret;
}

type VirtualHandler = (
  table: VirtualTable,
  call: Call,
  reads: VirtualTableReads,
) => Promise<Answer>;

const own: Readonly<Partial<Record<OperationName, VirtualHandler>>> = {
  DescribeTable: describe,
  QueryTable: query,
  CountTableRows: count,
};

/** Handlers that also serve virtual tables; other operations on these are refused. */
export function withVirtualTables(
  tables: readonly VirtualTable[],
  handlers: HandlerTable,
  reads: VirtualTableReads,
): HandlerTable {
  const guarded = operationNames.flatMap((name): [OperationName, Handler][] => {
    const handler = handlers[name];
    if (handler === undefined || operations[name].object !== 'table') return [];
    return [[name, guard(name, handler)]];
  });
  return { ...handlers, ...Object.fromEntries(guarded) };

  async function answered(name: OperationName, table: VirtualTable, call: Call): Promise<Answer> {
    const answer = own[name];
    if (answer === undefined) throw notOf(name, table);
    requireOnly(table, call);
    return answer(table, call, reads);
  }

  function guard(name: OperationName, handler: Handler): Handler {
    return (call) => {
      const { object } = call.request;
      const table = tables.find(({ path }) => isSamePath(path, object));
      return table === undefined ? handler(call) : answered(name, table, call);
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

/** The rows of a virtual table that the caller may see. */
async function rowsOf(
  table: VirtualTable,
  call: Call,
  { maskSecret }: VirtualTableReads,
): Promise<VirtualRows> {
  const rows = await VirtualRows.of(table);
  const restrictions = call.permit.restrictionsOn(call.request.object);
  if (restrictions === null) return rows;
  try {
    const source = { snapshot: rows.snapshot, reader: rows, open: () => rows.again(), maskSecret };
    return await restrictedRows(source, call, restrictions);
  } finally {
    await rows.close();
  }
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

async function describe(table: VirtualTable, call: Call): Promise<Answer> {
  const { path } = table;
  const restrictions = call.permit.restrictionsOn(call.request.object);
  const use = { statement: statementOf(call) };
  const { schema } =
    restrictions === null ? table : bindRestrictions(table.schema, restrictions, path, use);
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

async function query(table: VirtualTable, call: Call, reads: VirtualTableReads): Promise<Answer> {
  const request = parseQueryRequest(call.body);
  return rowsOfQuery(await rowsOf(table, call, reads), request, call, reads);
}

async function count(table: VirtualTable, call: Call, reads: VirtualTableReads): Promise<Answer> {
  const predicate = textField(call.body, 'predicate');
  return countOfRows(await rowsOf(table, call, reads), predicate, call, reads.heavy);
}
