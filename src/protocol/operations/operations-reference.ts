import { row, stateRefusals } from './operation.ts';

const table = { object: 'table' } as const;
const page = ['page_token', 'limit'];

/** Rows of tags and branches. */
export const referenceOperations = {
  ListTableTags: row('ListTableTags', {
    ...table,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/tags/list', 'GET /v1/table/{id}/tags/list'],
    query: page,
    body: 'none',
    refusals: stateRefusals,
  }),
  GetTableTagVersion: row('GetTableTagVersion', {
    ...table,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/tags/version'],
    refusals: stateRefusals,
  }),
  CreateTableTag: row('CreateTableTag', {
    ...table,
    access: 'tag',
    mutates: true,
    routes: ['POST /v1/table/{id}/tags/create'],
    query: ['branch'],
  }),
  DeleteTableTag: row('DeleteTableTag', {
    ...table,
    access: 'tag',
    mutates: true,
    routes: ['POST /v1/table/{id}/tags/delete'],
  }),
  UpdateTableTag: row('UpdateTableTag', {
    ...table,
    access: 'tag',
    mutates: true,
    routes: ['POST /v1/table/{id}/tags/update'],
    query: ['branch'],
  }),
  ListTableBranches: row('ListTableBranches', {
    ...table,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/branches/list', 'GET /v1/table/{id}/branches/list'],
    query: page,
    body: 'none',
    refusals: stateRefusals,
  }),
  CreateTableBranch: row('CreateTableBranch', {
    ...table,
    access: 'branch',
    mutates: true,
    routes: ['POST /v1/table/{id}/branches/create'],
  }),
  DeleteTableBranch: row('DeleteTableBranch', {
    ...table,
    access: 'branch',
    mutates: true,
    routes: ['POST /v1/table/{id}/branches/delete'],
  }),
};
