import { row, stateRefusals } from './operation.ts';

const onTable = { object: 'table', extension: true } as const;
const onBranch = { ...onTable, query: ['branch'] } as const;
const onNothing = { object: 'none', extension: true } as const;

/** Rows of the table routes that LanceDB calls beside the specification. */
export const tableExtensions = {
  CloneTable: row('CloneTable', {
    ...onTable,
    access: 'create',
    mutates: true,
    routes: ['POST /v1/table/{id}/clone'],
    objectsInBody: 'source_location, the table that is read',
  }),
  CreateMultipartWrite: row('CreateMultipartWrite', {
    ...onBranch,
    access: 'append',
    mutates: true,
    routes: ['POST /v1/table/{id}/multipart_write/create'],
    body: 'none',
  }),
  CompleteMultipartWrite: row('CompleteMultipartWrite', {
    ...onBranch,
    access: 'append',
    mutates: true,
    routes: ['POST /v1/table/{id}/multipart_write/complete'],
    query: ['branch', 'upload_id'],
    body: 'none',
  }),
  AbortMultipartWrite: row('AbortMultipartWrite', {
    ...onBranch,
    access: 'append',
    mutates: true,
    routes: ['POST /v1/table/{id}/multipart_write/abort'],
    query: ['branch', 'upload_id'],
    body: 'none',
  }),
  FetchBlobs: row('FetchBlobs', {
    ...onBranch,
    access: 'read',
    mutates: false,
    routes: ['POST /v1/table/{id}/fetch_blobs'],
    response: 'arrow',
    refusals: stateRefusals,
  }),
  ReadBlob: row('ReadBlob', {
    ...onTable,
    access: 'read',
    mutates: false,
    routes: ['GET /v1/table/{id}/blob/{column}/{row_id}/bytes'],
    query: ['branch', 'version'],
    headers: ['range'],
    body: 'none',
    response: 'bytes',
    refusals: stateRefusals,
  }),
  FlushLsm: row('FlushLsm', {
    ...onBranch,
    access: 'modify',
    mutates: true,
    routes: ['POST /v1/table/{id}/flush_lsm'],
    body: 'none',
  }),
  CompactLsm: row('CompactLsm', {
    ...onBranch,
    access: 'modify',
    mutates: true,
    routes: ['POST /v1/table/{id}/compact_lsm'],
    body: 'none',
  }),
  GetLsmStats: row('GetLsmStats', {
    ...onBranch,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/get_lsm_stats'],
  }),
  SetLsmWriteSpec: row('SetLsmWriteSpec', {
    ...onBranch,
    access: 'modify',
    mutates: true,
    routes: ['POST /v1/table/{id}/set_lsm_write_spec'],
  }),
  UnsetLsmWriteSpec: row('UnsetLsmWriteSpec', {
    ...onBranch,
    access: 'modify',
    mutates: true,
    routes: ['POST /v1/table/{id}/unset_lsm_write_spec'],
    body: 'none',
  }),
  GetLsmWriteSpec: row('GetLsmWriteSpec', {
    ...onBranch,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/table/{id}/get_lsm_write_spec'],
    body: 'none',
  }),
  PrewarmTableIndex: row('PrewarmTableIndex', {
    ...onBranch,
    access: 'read',
    mutates: false,
    routes: ['POST /v1/table/{id}/index/{index_name}/prewarm'],
    response: 'none',
    body: 'none',
    refusals: stateRefusals,
  }),
  PrewarmPageCache: row('PrewarmPageCache', {
    ...onBranch,
    access: 'read',
    mutates: false,
    routes: ['POST /v1/table/{id}/page_cache/prewarm'],
    response: 'none',
    refusals: stateRefusals,
  }),
  DiffTableBranch: row('DiffTableBranch', {
    ...onTable,
    access: 'read',
    mutates: false,
    routes: ['POST /v1/table/{id}/branches/diff'],
    refusals: stateRefusals,
  }),
  CherryPickTableBranch: row('CherryPickTableBranch', {
    ...onTable,
    access: 'branch',
    mutates: true,
    routes: ['POST /v1/table/{id}/branches/cherry_pick'],
  }),
};

/** Rows of the jobs and functions of the LanceDB API; their routes name no object. */
export const jobExtensions = {
  ListJobs: row('ListJobs', {
    ...onNothing,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/jobs/list'],
    objectsInBody: 'the tables of the jobs',
  }),
  DescribeJob: row('DescribeJob', {
    ...onNothing,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/jobs/describe'],
    objectsInBody: 'job_id, the table of the job',
  }),
  CancelJob: row('CancelJob', {
    ...onNothing,
    access: 'manage',
    mutates: true,
    routes: ['POST /v1/jobs/cancel'],
    objectsInBody: 'job_id, the table of the job',
  }),
  QueryJobEvents: row('QueryJobEvents', {
    ...onNothing,
    access: 'describe',
    mutates: false,
    routes: ['POST /v1/jobs/query_events'],
    objectsInBody: 'job_id, the table of the job',
    response: 'stream',
  }),
  CreateFunction: row('CreateFunction', {
    ...onNothing,
    access: 'manage',
    mutates: true,
    routes: ['POST /v1/functions/create'],
  }),
  GetFunction: row('GetFunction', {
    ...onNothing,
    access: 'manage',
    mutates: false,
    routes: ['POST /v1/functions/get'],
  }),
};
