import { fixture } from '../../arrow/support.ts';
import type { RefusalGroup } from '../refusal.ts';
import { columnCalled, goodRows, wrongRows } from '../table-bodies.ts';

export const arrowBodies: readonly RefusalGroup[] = [
  {
    what: 'Arrow bodies',
    rows: [
      ['POST /v1/table/ns$t/insert', {}, '400 allow 13', 'The stream is empty: it has no schema.'],
      [
        'POST /v1/table/ns$t/insert',
        { body: 'not an Arrow stream' },
        '400 allow 13',
        'The bytes are not an Arrow IPC stream: a message does not begin with its marker.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: { rows: [] } },
        '400 allow 13',
        'The bytes are not an Arrow IPC stream: a message does not begin with its marker.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: goodRows.subarray(0, 8) },
        '400 allow 13',
        'The stream ends before the metadata of a message.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: goodRows.subarray(0, 300) },
        '400 allow 13',
        'The stream ends after 292 of the 512 bytes of the metadata of a message.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: goodRows.subarray(0, -9) },
        '400 allow 13',
        'The stream ends after 407 of the 408 bytes of the body of a message.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: Buffer.concat([goodRows, Buffer.from('more')]) },
        '400 allow 13',
        'Bytes follow the end of the stream.',
      ],
      [
        'POST /v1/table/ns$t/insert?mode=overwrite',
        { body: goodRows.subarray(0, -9) },
        '400 allow 13',
        'The stream ends after 407 of the 408 bytes of the body of a message.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: wrongRows.extraColumn },
        '400 allow 20',
        'The table has no column "more".',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: wrongRows.missingKey },
        '400 allow 20',
        'Column "id" is missing and may not be null.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: wrongRows.wrongType },
        '400 allow 20',
        'Column "id" has the type utf8, the table has int64.',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: wrongRows.wrongLength },
        '400 allow 20',
        'Column "v" has the type fixed_size_list<float32>[4], the table has fixed_size_list<float32>[3].',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: wrongRows.nullInKey },
        '400 allow 20',
        'Column "id" is not nullable, but has nulls.',
      ],
      ['POST /v1/table/new/create', {}, '400 allow 13', 'The stream is empty: it has no schema.'],
      [
        'POST /v1/table/new/create',
        { body: goodRows.subarray(0, -9) },
        '400 allow 13',
        'The stream ends after 407 of the 408 bytes of the body of a message.',
      ],
      [
        'POST /v1/table/new/create?mode=exist_ok',
        { body: goodRows.subarray(0, -9) },
        '400 allow 13',
        'The stream ends after 407 of the 408 bytes of the body of a message.',
      ],
      [
        'POST /v1/table/one/create?mode=overwrite',
        { body: goodRows.subarray(0, -9) },
        '400 allow 13',
        'The stream ends after 407 of the 408 bytes of the body of a message.',
      ],
      [
        'POST /v1/table/new/create',
        { body: fixture('refused-list-view') },
        '400 allow 20',
        'Column "lv" has the type ListView, which is not supported.',
      ],
      [
        'POST /v1/table/new/create',
        { body: fixture('refused-run-end-encoded') },
        '400 allow 20',
        'Column "ree" has the type RunEndEncoded, which is not supported.',
      ],
      [
        'POST /v1/table/new/create',
        { body: fixture('refused-duplicate-names') },
        '400 allow 20',
        'The schema has two fields of the name "x".',
      ],
      [
        'POST /v1/table/new/create',
        { body: fixture('refused-legacy-framing') },
        '400 allow 20',
        'The stream uses the framing of Arrow before 0.15, which is not supported.',
      ],
      [
        'POST /v1/table/new/create',
        { body: columnCalled('_rowid') },
        '400 allow 20',
        'the column name _rowid is reserved for queries',
      ],
      [
        'POST /v1/table/new/create',
        { body: columnCalled('_distance') },
        '400 allow 20',
        'the column name _distance is reserved for queries',
      ],
      [
        'POST /v1/table/new/create',
        { body: wrongRows.badText },
        '400 allow 13',
        'Column "name" has text that is not valid UTF-8.',
      ],
      [
        'POST /v1/table/new/create',
        { body: wrongRows.badOffsets },
        '400 allow 13',
        'The offsets of column "name" fall or are negative.',
      ],
    ],
  },
];
