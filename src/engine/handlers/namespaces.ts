import type { Answer } from '../../protocol/backend.ts';
import { askForMode } from '../ask.ts';
import { emptyAnswer, jsonAnswer, pageAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CreateMode } from '../catalog/namespace-create.ts';
import { emptyPage } from '../catalog/page.ts';
import type { Call, HandlerTable } from '../handler.ts';
import { choiceField, pageParameters, propertiesField } from '../parameters.ts';

/** The operations on namespaces. */
export function namespaceHandlers(catalog: Catalog, pageLimit: number): HandlerTable {
  return {
    CreateNamespace: (call) => create(catalog, call),
    ListNamespaces: (call) => list(catalog, pageLimit, call),
    DescribeNamespace: (call) => describe(catalog, call),
    DropNamespace: (call) => drop(catalog, call),
    NamespaceExists: (call) => exists(catalog, call),
  };
}

async function create(catalog: Catalog, call: Call): Promise<Answer> {
  const mode = choiceField(call, 'mode');
  askForMode(call, mode);
  const record = await catalog.createNamespace(
    call.request.object,
    createModeOf(mode),
    propertiesField(call),
  );
  return jsonAnswer(call, { properties: record.properties }, { mode });
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
  const record = await catalog.requireNamespace(call.request.object);
  return jsonAnswer(call, { properties: record.properties });
}

async function drop(catalog: Catalog, call: Call): Promise<Answer> {
  const behavior = choiceField(call, 'behavior');
  const options = {
    skip: choiceField(call, 'mode') === 'skip',
    cascade: behavior === 'cascade',
  };
  const dropped = await catalog.dropNamespace(call.request.object, options, call.permit);
  const notes = { mode: behavior, objects: dropped?.objects ?? [] };
  return jsonAnswer(call, { properties: dropped?.record.properties }, notes);
}

async function exists(catalog: Catalog, call: Call): Promise<Answer> {
  await catalog.requireNamespace(call.request.object);
  return emptyAnswer(call);
}
