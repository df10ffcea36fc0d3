import type { Answer } from '../../protocol/backend.ts';
import { pageAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { emptyPage } from '../catalog/page.ts';
import type { Call, HandlerTable } from '../handler.ts';
import { pageParameters } from '../parameters.ts';
import { flagField } from '../query/fields.ts';

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

/** One route, two questions: the LanceDB client asks for the root's tables, everyone else for all (contract section 3). */
async function listAllTables(catalog: Catalog, pageLimit: number, call: Call): Promise<Answer> {
  const { request, permit } = call;
  if (request.dialect === 'lancedb') return listTables(catalog, pageLimit, call);
  const page = pageParameters(call, pageLimit);
  const filter = { declared: flagField(call.body, 'include_declared', true) };
  const tables = await catalog.allTablesPage(request.delimiter, page, filter, permit, request.root);
  return pageAnswer(call, 'tables', tables);
}
