import { describe, expect, it } from 'vitest';
import { dialectOf, statusOf } from '../../src/protocol/dialect.ts';
import { CatalogError, errorRow, errorTable, type ErrorName } from '../../src/protocol/errors.ts';
import { operationNames } from '../../src/protocol/operations/operations.ts';
import type { OperationName } from '../../src/protocol/operations/operation-name.ts';

/** Code, status to the namespace dialect, status to LanceDB. */
const statuses: readonly (readonly [ErrorName, number, number, number])[] = [
  ['Unsupported', 0, 406, 406],
  ['NamespaceNotFound', 1, 404, 400],
  ['NamespaceAlreadyExists', 2, 409, 400],
  ['NamespaceNotEmpty', 3, 409, 400],
  ['TableNotFound', 4, 404, 404],
  ['TableAlreadyExists', 5, 409, 400],
  ['TableIndexNotFound', 6, 404, 400],
  ['TableIndexAlreadyExists', 7, 409, 400],
  ['TableTagNotFound', 8, 404, 400],
  ['TableTagAlreadyExists', 9, 409, 400],
  ['TransactionNotFound', 10, 404, 400],
  ['TableVersionNotFound', 11, 404, 400],
  ['TableColumnNotFound', 12, 404, 400],
  ['InvalidInput', 13, 400, 400],
  ['ConcurrentModification', 14, 409, 409],
  ['PermissionDenied', 15, 403, 403],
  ['Unauthenticated', 16, 401, 401],
  ['ServiceUnavailable', 17, 503, 503],
  ['Internal', 18, 500, 500],
  ['InvalidTableState', 19, 409, 400],
  ['TableSchemaValidationError', 20, 400, 400],
  ['Throttling', 21, 429, 429],
  ['TableBranchNotFound', 22, 404, 400],
  ['TableBranchAlreadyExists', 23, 409, 400],
];

describe('the error table', () => {
  it('has every code of the protocol once, in order', () => {
    expect(errorTable.map(({ name, code }) => [name, code])).toEqual(
      statuses.map(([name, code]) => [name, code]),
    );
  });

  it.each(statuses)(
    'answers %s, code %i, with %i, and %i to LanceDB',
    (name, code, plain, lancedb) => {
      const { row } = new CatalogError(name, 'why');
      expect(row.code).toBe(code);
      expect(statusOf(row, 'namespace', 'DescribeTable')).toBe(plain);
      expect(statusOf(row, 'lancedb', 'DescribeTable')).toBe(lancedb);
      expect(statusOf(row, 'lancedb', undefined)).toBe(lancedb);
    },
  );

  it.each<[OperationName, number]>([
    ['DescribeJob', 404],
    ['CancelJob', 404],
    ['QueryJobEvents', 404],
    ['DescribeTransaction', 400],
    ['ListJobs', 400],
  ])('answers a missing job to LanceDB on %s with %i', (operation, status) => {
    expect(statusOf(errorRow('TransactionNotFound'), 'lancedb', operation)).toBe(status);
    expect(statusOf(errorRow('TableTagNotFound'), 'lancedb', operation)).toBe(400);
  });

  it.each<[OperationName, number]>([
    ['DropTableIndex', 404],
    ['PrewarmTableIndex', 404],
    ['DescribeTableIndexStats', 404],
    ['ListTableIndices', 400],
    ['CreateTableIndex', 400],
  ])('answers a missing index to LanceDB on %s with %i', (operation, status) => {
    expect(statusOf(errorRow('TableIndexNotFound'), 'lancedb', operation)).toBe(status);
    expect(statusOf(errorRow('TableTagNotFound'), 'lancedb', operation)).toBe(400);
  });
});

/** The only routes on which LanceDB is told by the status alone that something else than a table is missing. */
const special: Readonly<Partial<Record<ErrorName, readonly OperationName[]>>> = {
  TableIndexNotFound: ['DescribeTableIndexStats', 'DropTableIndex', 'PrewarmTableIndex'],
  TransactionNotFound: ['DescribeJob', 'CancelJob', 'QueryJobEvents'],
};

describe('every operation', () => {
  it.each(operationNames)(
    '%s answers each error as the table says, in both dialects',
    (operation) => {
      for (const [name, , plain, toLanceDb] of statuses) {
        const row = errorRow(name);
        expect([name, statusOf(row, 'namespace', operation)]).toEqual([name, plain]);
        const expected = special[name]?.includes(operation) === true ? 404 : toLanceDb;
        expect([name, statusOf(row, 'lancedb', operation)]).toEqual([name, expected]);
      }
    },
  );
});

describe('the dialect of a path that is no route', () => {
  it.each([
    ['/v1/nothing', undefined, 'namespace'],
    ['/v1/nothing/', undefined, 'lancedb'],
    ['/v1/nothing/?x=/', undefined, 'lancedb'],
    ['/v1/nothing?x=/', undefined, 'namespace'],
    ['/v1/nothing', 'LanceDB-Python-Client/0.38', 'lancedb'],
    ['/', undefined, 'lancedb'],
  ])('%s from %s is %s', (path, userAgent, dialect) => {
    expect(dialectOf(path, userAgent)).toBe(dialect);
  });
});
