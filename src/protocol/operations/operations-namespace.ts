import { rootRefusals, row } from './operation.ts';

const page = ['page_token', 'limit'];

/** Rows of namespaces, and of the objects in them. */
export const namespaceOperations = {
  CreateNamespace: row('CreateNamespace', {
    access: 'create',
    object: 'namespace',
    mutates: true,
    restricted: 'harmless',
    routes: ['POST /v1/namespace/{id}/create'],
    modeIn: 'body',
    choices: { mode: ['create', 'exist_ok', 'overwrite'] },
    modes: {
      exist_ok: { actions: ['DescribeNamespace'], instead: false },
      overwrite: { actions: ['DropNamespace'], instead: false },
    },
  }),
  ListNamespaces: row('ListNamespaces', {
    access: 'list',
    object: 'namespace',
    mutates: false,
    restricted: 'harmless',
    routes: ['GET /v1/namespace/{id}/list', 'POST /v1/namespace/{id}/list'],
    query: page,
    body: 'none',
  }),
  DescribeNamespace: row('DescribeNamespace', {
    access: 'describe',
    object: 'namespace',
    mutates: false,
    restricted: 'harmless',
    routes: ['POST /v1/namespace/{id}/describe'],
  }),
  DropNamespace: row('DropNamespace', {
    access: 'drop',
    object: 'namespace',
    mutates: true,
    restricted: 'harmless',
    routes: ['POST /v1/namespace/{id}/drop'],
    modeIn: 'body',
    choices: { mode: ['fail', 'skip'], behavior: ['restrict', 'cascade'] },
  }),
  NamespaceExists: row('NamespaceExists', {
    access: 'describe',
    object: 'namespace',
    mutates: false,
    restricted: 'harmless',
    routes: ['POST /v1/namespace/{id}/exists'],
    response: 'none',
  }),
  ListTables: row('ListTables', {
    access: 'list',
    object: 'namespace',
    mutates: false,
    restricted: 'harmless',
    routes: ['GET /v1/namespace/{id}/table/list', 'POST /v1/namespace/{id}/table/list'],
    query: [...page, 'include_declared'],
    body: 'none',
  }),
  ListAllTables: row('ListAllTables', {
    access: 'list',
    object: 'root',
    mutates: false,
    restricted: 'harmless',
    routes: ['GET /v1/table'],
    query: [...page, 'include_declared'],
    body: 'none',
    responseModel: 'ListTablesResponse',
    refusals: rootRefusals,
  }),
};
