import { describe, expect, it } from 'vitest';
import {
  extensionOperations,
  specifiedOperations,
} from '../../../src/protocol/operations/operation-name.ts';
import type { AccessGroup, Operation } from '../../../src/protocol/operations/operation.ts';
import {
  expandAction,
  isOperationName,
  namesObject,
  operationNames,
  operations,
  operationsOf,
} from '../../../src/protocol/operations/operations.ts';
import { isModelName } from '../../../src/protocol/models/models.ts';
import { queryParameters } from '../../../src/protocol/query-parameter.ts';
import { specified, type SpecifiedOperation } from '../specification.ts';

/** Query parameters that a row takes beside those of the specification. */
const furtherQuery: Readonly<Record<string, readonly string[]>> = {
  MergeInsertIntoTable: ['use_lsm'],
  InsertIntoTable: ['upload_id', 'upload_part_id'],
  AnalyzeTableQueryPlan: ['branch', 'distributed_metrics'],
};

/** The body of an answer that clients need although the specification has none. */
const furtherResponse: Readonly<Record<string, string>> = {
  CreateMaterializedView: 'application/json CreateMaterializedViewResponse',
};

function requestText({ body, request }: Operation): string {
  if (body === 'none') return 'none';
  if (body === 'arrow') return 'application/vnd.apache.arrow.stream string';
  return `application/json ${body === 'map' ? 'map<string,string>' : request}`;
}

const responseTexts: Readonly<Record<string, string>> = {
  none: 'no body',
  arrow: 'application/vnd.apache.arrow.file string',
  map: 'application/json map<string,string>',
  integer: 'application/json int64',
  text: 'application/json string',
};

function responseText({ response, responseModel }: Operation): string {
  return responseTexts[response] ?? `application/json ${responseModel}`;
}

function successOf({ statuses }: SpecifiedOperation): number {
  const first = Number(statuses.split(',')[0]);
  return first < 300 ? first : 200;
}

function refusalsOf({ statuses }: SpecifiedOperation): number[] {
  const named = statuses.split(',').filter((status) => !status.startsWith('2') && status !== '5XX');
  return [...named.map(Number), 500];
}

describe('the operation table and the specification', () => {
  it('have the same 54 operations, and beside them only the named routes of LanceDB', () => {
    const names = specified.map(({ operation }) => operation);
    expect([...specifiedOperations].sort()).toEqual([...names].sort());
    expect(names).toHaveLength(54);
    expect(Object.keys(operations).sort()).toEqual([...operationNames].sort());
    const extensions = operationNames.filter((name) => operations[name].extension);
    expect(extensions).toEqual([...extensionOperations]);
  });

  it.each(specified)('agree on $operation', (expected) => {
    if (!isOperationName(expected.operation)) throw new Error(`${expected.operation} is missing`);
    const row = operations[expected.operation];
    expect(row.name).toBe(expected.operation);
    expect(row.routes[0]).toEqual({ method: expected.method, path: expected.path });
    expect([row.access, row.object, row.mutates]).toEqual([
      expected.access,
      expected.object,
      expected.mutates,
    ]);
    expect(requestText(row)).toBe(expected.request);
    expect(responseText(row)).toBe(furtherResponse[row.name] ?? expected.response);
    expect(row.success).toBe(successOf(expected));
    expect(row.modeIn === 'body').toBe(expected.modeInBody !== undefined);
    expect(row.objectsInBody !== undefined).toBe(expected.objectsInBody !== undefined);
  });

  it.each(specified)('agree on the query of $operation', ({ operation, query }) => {
    if (!isOperationName(operation)) throw new Error(`${operation} is missing`);
    const further = operations[operation].query.filter((name) => !query.includes(name));
    expect(query.filter((name) => !operations[operation].query.includes(name))).toEqual([]);
    // A branch that the query names is never overlooked, wherever the body could name it.
    const allowed = furtherQuery[operation] ?? ['branch'];
    expect(further.filter((name) => !allowed.includes(name))).toEqual([]);
  });

  it.each(specified)('agree on the refusals of $operation', (expected) => {
    if (!isOperationName(expected.operation)) throw new Error(`${expected.operation} is missing`);
    const { refusals } = operations[expected.operation];
    const missing = refusalsOf(expected).filter((status) => !refusals.includes(status));
    // A table without data refuses some reads with code 19.
    const further = refusals.filter((status) => !refusalsOf(expected).includes(status));
    expect([missing, further.filter((status) => status !== 409)]).toEqual([[], []]);
  });
});

describe('each row', () => {
  const rows = operationNames.map((name) => operations[name]);

  it.each(rows)('of $name names models and parameters that exist', (row) => {
    const named = [row.request, row.responseModel].filter((name) => name !== undefined);
    expect(named.filter((name) => !isModelName(name))).toEqual([]);
    expect(row.query.filter((name) => !Object.hasOwn(queryParameters, name))).toEqual([]);
    expect(row.repeatable.filter((name) => !row.query.includes(name))).toEqual([]);
  });

  it.each(rows)('of $name asks in its modes for rights that exist', (row) => {
    const actions = Object.values(row.modes ?? {}).flatMap((need) => need.actions);
    expect(actions.filter((action) => expandAction(action).length === 0)).toEqual([]);
    expect(row.modes !== undefined && row.modeIn === undefined).toBe(false);
  });

  it('has a route of its own', () => {
    const routes = rows.flatMap((row) =>
      row.routes.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`),
    );
    expect(new Set(routes).size).toBe(routes.length);
  });

  it('names its object in the route unless only the body can', () => {
    const unnamed = rows.filter((row) => !namesObject(row)).map((row) => row.name);
    expect(unnamed).toEqual([
      'ListAllTables',
      'BatchCreateTableVersions',
      'BatchCommitTables',
      'ListJobs',
      'DescribeJob',
      'CancelJob',
      'QueryJobEvents',
      'CreateFunction',
      'GetFunction',
    ]);
  });
});

describe('modes', () => {
  it.each([
    ['CreateTable', 'overwrite', ['DropTable'], false],
    ['CreateTable', 'exist_ok', ['DescribeTable'], false],
    ['CreateNamespace', 'overwrite', ['DropNamespace'], false],
    ['CreateNamespace', 'exist_ok', ['DescribeNamespace'], false],
    ['RegisterTable', 'overwrite', ['DropTable'], false],
    ['InsertIntoTable', 'overwrite', ['modify'], true],
    ['BatchCommitTables', 'delete_table_versions', ['drop'], true],
  ] as const)('of %s: %s asks for %j', (name, mode, actions, instead) => {
    expect(operations[name].modes?.[mode]).toEqual({ actions, instead });
  });
});

describe('actions', () => {
  it('stand for an operation or for all of a group', () => {
    expect(expandAction('QueryTable')).toEqual(['QueryTable']);
    expect(expandAction('append')).toContain('InsertIntoTable');
    expect(expandAction('append')).not.toContain('QueryTable');
    expect(expandAction('audit')).toEqual([]);
  });

  it('put each operation in exactly one group', () => {
    const groups = new Set<AccessGroup>(operationNames.map((name) => operations[name].access));
    const grouped = [...groups].flatMap((group) => operationsOf(group));
    expect([...grouped].sort()).toEqual([...operationNames].sort());
  });

  it('are not found in what every object has', () => {
    expect(['constructor', 'toString', '__proto__'].some(isOperationName)).toBe(false);
  });
});
