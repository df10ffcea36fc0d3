import type { Refusal, RefusalGroup } from '../refusal.ts';

const noParts =
  'this service takes the rows of a write in one stream: there are no writes of several parts, send them with insert';
const noBlobs =
  'this service keeps no values apart from their rows: ask for the column with a query';
const noLog =
  'this service keeps no log of merges beside its tables: a merge is part of the table, on stable storage, once it is answered';
const noComparison =
  'this service does not compare branches: query both, or insert into main what a query of the branch answers';

function refused(error: string, paths: readonly string[], body: object = {}): readonly Refusal[] {
  return paths.map((path) => [`POST /v1/table/ns$t/${path}`, { body }, '406 allow 0', error]);
}

export const absentParts: readonly RefusalGroup[] = [
  {
    what: 'what this service has not',
    rows: [
      ...refused(noParts, [
        'multipart_write/create',
        'multipart_write/complete?upload_id=x',
        'multipart_write/abort?upload_id=x',
      ]),
      ...refused(noBlobs, ['fetch_blobs'], { column: 'id', row_ids: [0] }),
      ['GET /v1/table/ns$t/blob/id/1/bytes', {}, '406 allow 0', noBlobs],
      ...refused(noLog, ['flush_lsm', 'compact_lsm', 'set_lsm_write_spec', 'unset_lsm_write_spec']),
      ...refused(noComparison, ['branches/diff', 'branches/cherry_pick'], { from_branch: 'kept' }),
    ],
  },
  {
    what: 'a clone',
    rows: [
      [
        'POST /v1/table/ns$new/clone',
        { body: { source_location: '/nowhere' } },
        '404 allow 4',
        'no table lies at "/nowhere"',
      ],
      [
        'POST /v1/table/ns$new/clone',
        { body: { source_location: 'ns$none' } },
        '404 allow 4',
        'table /ns/none does not exist',
      ],
      [
        'POST /v1/table/ns$new/clone',
        {},
        '400 allow 13',
        'CloneTableRequest: the field "source_location" is missing',
      ],
      [
        'POST /v1/table/none$new/clone',
        { body: { source_location: '/nowhere' } },
        '404/400 allow 1',
        'namespace /none does not exist',
      ],
      [
        'POST /v1/table/ns$new/clone',
        { body: { source_location: '/nowhere' }, key: 'reader' },
        '403 deny 15',
        'user:reader may not CloneTable on /ns/new',
      ],
    ],
  },
];
