import { isDatabaseRoot } from '../../../protocol/database.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Answer } from '../../../protocol/backend.ts';
import { requireMode, emptyAnswer, jsonAnswer, pageAnswer } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { CreateMode } from '../../catalog/namespace-create.ts';
import type { DroppedNamespace } from '../../catalog/namespace-drop.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import { emptyPage } from '../../catalog/records/page.ts';
import type { NamespaceRecord } from '../../format/records.ts';
import type { InnerTable } from '../../catalog/subtree.ts';
import type { Call, HandlerTable } from '../call/handler.ts';
import { judgeLeaving } from '../../rules/place-judge.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import type { TableView } from '../call/read-place.ts';
import {
  choiceField,
  pageParameters,
  propertiesField,
  propertiesWarning,
} from '../call/parameters.ts';
import { flagField } from '../../base/fields.ts';

/** The operations on namespaces. */
export function namespaceHandlers(
  catalog: Catalog,
  tables: TableView,
  pageLimit: number,
): HandlerTable {
  return {
    CreateNamespace: (call) => create(catalog, call),
    ListNamespaces: (call) => list(catalog, pageLimit, call),
    DescribeNamespace: (call) => describe(catalog, call),
    DropNamespace: (call) => drop(catalog, tables, call),
    NamespaceExists: (call) => exists(catalog, call),
  };
}

async function create(catalog: Catalog, call: Call): Promise<Answer> {
  const mode = choiceField(call, 'mode');
  if (mode === 'overwrite') requireNoRoot(call);
  requireMode(call, mode);
  const given = call.body['properties'] === undefined ? undefined : propertiesField(call);
  const answer = ({ properties }: NamespaceRecord): Answer =>
    jsonAnswer(call, { properties, ...propertiesWarning(given, properties) }, { mode });
  const record = await catalog.createNamespace(
    call.request.object,
    createModeOf(mode),
    propertiesField(call),
    call.once.seal(answer),
  );
  return answer(record);
}

function createModeOf(mode: string): CreateMode {
  return mode === 'exist_ok' || mode === 'overwrite' ? mode : 'create';
}

async function list(catalog: Catalog, pageLimit: number, call: Call): Promise<Answer> {
  const { request, permit } = call;
  const page = pageParameters(call, pageLimit);
  if (!permit.sees(request.object, 'namespace')) {
    return pageAnswer(call, 'namespaces', emptyPage('namespace', permit));
  }
  await catalog.requireNamespace(request.object);
  return pageAnswer(call, 'namespaces', await catalog.namespacePage(request.object, page, permit));
}

async function describe(catalog: Catalog, call: Call): Promise<Answer> {
  const { properties } = await required(catalog, call);
  return jsonAnswer(call, { properties });
}

async function drop(catalog: Catalog, tables: TableView, call: Call): Promise<Answer> {
  requireNoRoot(call);
  const behavior = choiceField(call, 'behavior');
  const options = {
    skip: choiceField(call, 'mode') === 'skip',
    cascade: behavior === 'cascade',
    judge: (table: InnerTable) => judgeLeaving(call.rules, tables, table, 'drop'),
  };
  const answer = (dropped: DroppedNamespace | undefined): Answer =>
    jsonAnswer(
      call,
      { properties: dropped?.record.properties },
      {
        mode: behavior,
        objects: dropped?.objects ?? [],
        ...(call.rules.names.length > 0 && { commit: placeSummary('drop_namespace') }),
      },
    );
  const { request, permit, once } = call;
  const seal = once.seal(answer);
  return answer(await catalog.dropNamespace(request.object, options, permit, seal));
}

/** The root of a database cannot be dropped, nor can the root of the catalog. */
function requireNoRoot({ request }: Call): void {
  if (!isDatabaseRoot(request, request.object)) return;
  throw new CatalogError('InvalidInput', 'the root namespace of a database cannot be dropped');
}

/** The namespace of a request, the only basis of its answer. */
async function required(
  catalog: Catalog,
  { request: { object }, reportBasis }: Call,
): Promise<NamespaceRecord> {
  const stored = await catalog.storedNamespace(object);
  if (stored === undefined) return catalog.requireNamespace(object);
  reportBasis?.({ records: [unchanged(stored)], newest: null });
  return stored.content;
}

async function exists(catalog: Catalog, call: Call): Promise<Answer> {
  await required(catalog, call);
  return emptyAnswer(call);
}

/** The listings of tables. */
export function tableListHandlers(catalog: Catalog, pageLimit: number): HandlerTable {
  return {
    ListTables: (call) => listTables(catalog, pageLimit, call),
    ListAllTables: (call) => listAllTables(catalog, pageLimit, call),
  };
}

async function listTables(catalog: Catalog, pageLimit: number, call: Call): Promise<Answer> {
  const { request, permit } = call;
  const page = pageParameters(call, pageLimit);
  const filter = { declared: flagField(call.body, 'include_declared', true) };
  if (!permit.sees(request.object, 'namespace')) {
    return pageAnswer(call, 'tables', emptyPage('table', permit));
  }
  await catalog.requireNamespace(request.object);
  return pageAnswer(call, 'tables', await catalog.tablePage(request.object, page, filter, permit));
}

/** The LanceDB client expects the root's tables of this route, other clients expect all tables. */
async function listAllTables(catalog: Catalog, pageLimit: number, call: Call): Promise<Answer> {
  const { request, permit } = call;
  if (request.dialect === 'lancedb') return listTables(catalog, pageLimit, call);
  const page = pageParameters(call, pageLimit);
  const filter = { declared: flagField(call.body, 'include_declared', true) };
  const tables = await catalog.allTablesPage(request.delimiter, page, filter, permit, request.root);
  return pageAnswer(call, 'tables', tables);
}
