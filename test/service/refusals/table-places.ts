import type { RefusalGroup } from '../refusal.ts';
import { goodRows } from '../table-bodies.ts';

const outside = 'lies outside the folders where tables may be';

/** Locations that neither DeclareTable nor RegisterTable takes, and why. */
const locations: readonly (readonly [string, string])[] = [
  ['', 'is neither an absolute path nor a file: or s3: URI'],
  ['tables/t', 'is neither an absolute path nor a file: or s3: URI'],
  ['../t', 'is neither an absolute path nor a file: or s3: URI'],
  ['gs://bucket/t', 'is neither an absolute path nor a file: or s3: URI'],
  ['s3://bucket/t', 'lies outside the folders where tables may be'],
  ['file://host/t', 'is not a file: URI of this machine'],
  ['file:///nowhere/%2Ft', 'is not a file: URI of this machine'],
  ['file:///nowhere/a%00b', 'holds a control character'],
  ['/nowhere/a\nb', 'holds a control character'],
  ['/', outside],
  ['/nowhere', outside],
  ['/etc/passwd', outside],
  ['/etc/passwd/t', outside],
  ['/nowhere/../../etc', outside],
  ['file:///nowhere/%2e%2e/etc', outside],
];

/** What is asked of a table that has no rows. */
const bodies: Readonly<Record<string, object>> = {
  count_rows: {},
  query: { vector: [], k: 1 },
  update: { updates: [['id', '1']] },
  delete: { predicate: 'true' },
  add_columns: { new_columns: [{ name: 'x', expression: '1' }] },
  drop_columns: { columns: ['id'] },
  restore: { version: 1 },
};

export const tablePlaces: readonly RefusalGroup[] = [
  {
    what: 'places of tables',
    rows: locations.flatMap(([location, why]) =>
      ['declare', 'register'].map(
        (action) =>
          [
            `POST /v1/table/new/${action}`,
            { body: { location } },
            '400 allow 13',
            `the location ${JSON.stringify(location)} ${why}`,
          ] as const,
      ),
    ),
  },
  {
    what: 'names of tables that are declared or registered',
    rows: ['declare', 'register'].flatMap((action) => {
      const sent = { body: action === 'declare' ? {} : { location: '/nowhere/t' } };
      return [
        [`POST /v1/table/ns$t/${action}`, sent, '409/400 allow 5', 'table /ns/t already exists'],
        [
          `POST /v1/table/ns$declared/${action}`,
          sent,
          '409/400 allow 5',
          'table /ns/declared already exists',
        ],
        [
          `POST /v1/table/ns/${action}`,
          sent,
          '409/400 allow 2',
          'the name /ns is taken by a namespace',
        ],
        [
          `POST /v1/table/none$new/${action}`,
          sent,
          '404/400 allow 1',
          'namespace /none does not exist',
        ],
        [
          `POST /v1/table/system$new/${action}`,
          sent,
          '400 allow 13',
          'the namespace "system" is reserved: nothing is created in it',
        ],
        [
          `POST /v1/table/new/${action}`,
          { ...sent, key: 'reader' },
          '403 deny 15',
          `user:reader may not ${action === 'declare' ? 'DeclareTable' : 'RegisterTable'} on /new`,
        ],
      ] as const;
    }),
  },
  {
    what: 'what more a declaration or a registration needs',
    rows: [
      [
        'POST /v1/table/new/declare',
        { key: 'maker', body: { vend_credentials: true } },
        '403 deny 15',
        'user:maker may not CreateTableVersion on /new',
      ],
      [
        'POST /v1/table/ns$declared/describe',
        { key: 'loader', body: { vend_credentials: true } },
        '403 deny 15',
        'user:loader may not DescribeTable on /ns/declared',
      ],
      [
        'POST /v1/table/new/register',
        { key: 'maker', body: { location: '/nowhere/t', mode: 'overwrite' } },
        '403 deny 15',
        'user:maker may not DropTable on /new',
      ],
      [
        'POST /v1/table/new/register',
        { body: { location: '/nowhere/t', mode: 'exist_ok' } },
        '400 allow 13',
        '"exist_ok" is no mode of RegisterTable; it knows create, overwrite',
      ],
      [
        'POST /v1/table/new/register',
        { body: {} },
        '400 allow 13',
        'RegisterTableRequest: the field "location" is missing',
      ],
      [
        'POST /v1/table/new/declare',
        { body: { properties: { x: 'y'.repeat(65_536) } } },
        '400 allow 13',
        'properties may have at most 65536 bytes, not 65537',
      ],
    ],
  },
  {
    what: 'a table that is declared and has no data',
    rows: [
      ...Object.entries(bodies).map(
        ([action, body]) =>
          [
            `POST /v1/table/ns$declared/${action}`,
            { body },
            '409/400 allow 19',
            'table /ns/declared is declared and has no data',
          ] as const,
      ),
      [
        'POST /v1/table/ns$declared/insert',
        { body: goodRows },
        '409/400 allow 19',
        'table /ns/declared is declared and has no data',
      ],
      [
        'POST /v1/table/ns$declared/tags/list',
        {},
        '409/400 allow 19',
        'table /ns/declared is declared and has no data',
      ],
      [
        'POST /v1/table/ns$declared/describe',
        { body: { version: 1 } },
        '404/400 allow 11',
        'the table has no version 1',
      ],
      [
        'POST /v1/table/ns$declared/version/describe',
        {},
        '404/400 allow 11',
        'the table has no version',
      ],
      [
        'POST /v1/table/ns$declared/create',
        { body: goodRows },
        '409/400 allow 5',
        'table /ns/declared already exists',
      ],
    ],
  },
  {
    what: 'commits of Lance clients',
    rows: [
      [
        'POST /v1/table/ns$t/version/create',
        { body: { version: 3, manifest_path: 'x' } },
        '409/400 allow 19',
        "table /ns/t is written by this service: its versions come from insert, update and the other operations on its rows, not from a client's manifest",
      ],
      [
        'POST /v1/table/none/version/create',
        { body: { version: 1, manifest_path: 'x' } },
        '404 allow 4',
        'table /none does not exist',
      ],
      [
        'POST /v1/table/ns$declared/version/create',
        { body: { version: 1, manifest_path: 'x' } },
        '400 allow 13',
        'manifest_path "x" does not lie in the folder _versions of the table',
      ],
      [
        'POST /v1/table/ns$t/version/create',
        { key: 'maker', body: { version: 3, manifest_path: 'x' } },
        '403 deny 15',
        'user:maker may not CreateTableVersion on /ns/t',
      ],
      [
        'POST /v1/table/ns$declared/version/create',
        { body: { version: 0, manifest_path: 'x/_versions/1.manifest-x' } },
        '400 allow 13',
        'manifest_path "x/_versions/1.manifest-x" does not lie in the folder _versions of the table',
      ],
      [
        'POST /v1/table/ns$declared/version/create',
        { body: { version: 1 } },
        '400 allow 13',
        'CreateTableVersionRequest: the field "manifest_path" is missing',
      ],
      [
        'POST /v1/table/version/batch-create',
        { body: { entries: [{ id: ['ns', 't'], version: 3, manifest_path: 'x' }] } },
        '409/400 allow 19',
        "table /ns/t is written by this service: its versions come from insert, update and the other operations on its rows, not from a client's manifest",
      ],
      [
        'POST /v1/table/version/batch-create',
        { body: { entries: [{ id: [], version: 3, manifest_path: 'x' }] } },
        '400 allow 13',
        'entries[0] must name a table by its id',
      ],
      [
        'POST /v1/table/batch-commit',
        { body: { operations: [{ deregister_table: { id: ['ns', 'none'] } }] } },
        '404 allow 4',
        'table /ns/none does not exist',
      ],
      [
        'POST /v1/table/batch-commit',
        {
          body: {
            operations: [
              { deregister_table: { id: ['ns', 'declared'] } },
              { declare_table: { id: ['ns', 't'] } },
            ],
          },
        },
        '409/400 allow 5',
        'table /ns/t already exists',
      ],
      [
        'POST /v1/table/batch-commit',
        { body: { operations: [{}] } },
        '400 allow 13',
        'operations[0] must hold exactly one of declare_table, create_table_version, delete_table_versions, deregister_table, not 0',
      ],
    ],
  },
];
