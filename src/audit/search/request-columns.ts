import { Field, Schema, type RecordBatch } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { moment } from '../../arrow/value-column.ts';
import { batchOfRecords, recordFields } from '../record/columns.ts';
import type { FoundRequest } from './search.ts';
import { microsOf } from '../record/time.ts';

/* Requests that were found as a table: when each came, and the columns of its record. */

const records = new Schema([...recordFields]);

export const requestSchema = new Schema([new Field('began', moment.type, false), ...recordFields]);

/** Requests as a batch of `requestSchema`. */
export function batchOfRequests(requests: readonly FoundRequest[]): RecordBatch {
  const { data } = batchOfRecords(
    records,
    requests.map(({ record }) => record),
  );
  const began = moment.data(requests.map((request) => microsOf(request.began)));
  return batchOfData(requestSchema, [began, ...data.children], requests.length);
}
