import { row, stateRefusals } from './operation-row.ts';

const index = { object: 'table', query: ['branch'] } as const;

/** Rows of indices. */
export const indexOperations = {
  CreateTableIndex: row('CreateTableIndex', {
    ...index,
    access: 'index',
    mutates: true,
    routes: ['POST /v1/table/{id}/create_index'],
  }),
  CreateTableScalarIndex: row('CreateTableScalarIndex', {
    ...index,
    access: 'index',
    mutates: true,
    routes: ['POST /v1/table/{id}/create_scalar_index'],
    request: 'CreateTableIndexRequest',
  }),
  ListTableIndices: row('ListTableIndices', {
    ...index,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/index/list', 'GET /v1/table/{id}/index/list'],
    refusals: stateRefusals,
  }),
  DescribeTableIndexStats: row('DescribeTableIndexStats', {
    ...index,
    access: 'describe',
    mutates: false,
    routes: [
      'POST /v1/table/{id}/index/{index_name}/stats',
      'GET /v1/table/{id}/index/{index_name}/stats',
    ],
    refusals: stateRefusals,
  }),
  DropTableIndex: row('DropTableIndex', {
    ...index,
    access: 'index',
    mutates: true,
    routes: ['POST /v1/table/{id}/index/{index_name}/drop'],
    body: 'none',
  }),
};
