import type { RefusalGroup } from '../refusal.ts';
import { goodRows } from '../table-bodies.ts';

export const access: readonly RefusalGroup[] = [
  {
    what: 'credentials',
    rows: [
      [
        'POST /v1/table/ns$t/describe',
        { key: null },
        '401 unauthenticated 16',
        'a key is needed, in the header x-api-key or as "Authorization: Bearer"',
      ],
      [
        'POST /v1/table/ns$t/describe',
        { key: 'wrong' },
        '401 unauthenticated 16',
        'the credential is not known',
      ],
      [
        'POST /v1/table/ns$t/describe',
        { key: `agk_abcdefgh_${'x'.repeat(43)}` },
        '401 unauthenticated 16',
        'the credential is not known',
      ],
      [
        'POST /v1/table/ns$t/describe',
        { key: null, headers: { authorization: 'Bearer wrong' } },
        '401 unauthenticated 16',
        'the credential is not known',
      ],
      [
        'POST /v1/table/ns$t/describe',
        { key: null, headers: { authorization: 'Basic YTpi' } },
        '401 unauthenticated 16',
        'the Authorization header is not "Bearer" and a token',
      ],
      [
        'POST /v1/table/ns$t/describe',
        { headers: { authorization: 'Bearer wrong' } },
        '401 unauthenticated 16',
        'the credential is not known',
      ],
      [
        'POST /v1/table/none/drop',
        { key: null },
        '401 unauthenticated 16',
        'a key is needed, in the header x-api-key or as "Authorization: Bearer"',
      ],
      [
        'POST /v1/table/new/create',
        { body: goodRows, key: null },
        '401 unauthenticated 16',
        'a key is needed, in the header x-api-key or as "Authorization: Bearer"',
      ],
      [
        'POST /v1/table/ns$t/describe',
        { headers: { 'x-api-key': ['a', 'b'] } },
        '400 invalid 13',
        'the header x-api-key is given more than once',
      ],
    ],
  },
  {
    what: 'rights',
    rows: [
      [
        'POST /v1/table/ns$t/drop',
        { key: 'reader' },
        '403 deny 15',
        'user:reader may not DropTable on /ns/t',
      ],
      [
        'POST /v1/table/ns$t/insert',
        { body: goodRows, key: 'reader' },
        '403 deny 15',
        'user:reader may not InsertIntoTable on /ns/t',
      ],
      [
        'POST /v1/table/ns$t/insert?mode=overwrite',
        { body: goodRows, key: 'loader' },
        '403 deny 15',
        'user:loader may not modify on /ns/t',
      ],
      [
        'POST /v1/table/ns$new/create',
        { body: goodRows, key: 'loader' },
        '403 deny 15',
        'user:loader may not CreateTable on /ns/new',
      ],
      [
        'POST /v1/table/ns$t/create?mode=overwrite',
        { body: goodRows, key: 'maker' },
        '403 deny 15',
        'user:maker may not DropTable on /ns/t',
      ],
      [
        'POST /v1/table/ns$t/query',
        { body: { vector: [] }, key: 'loader' },
        '403 deny 15',
        'user:loader may not QueryTable on /ns/t',
      ],
      [
        'POST /v1/table/secret$none/describe',
        { key: 'reader' },
        '403 deny 15',
        'user:reader may not DescribeTable on /secret/none',
      ],
      [
        'POST /v1/table/none/describe',
        { key: 'loader' },
        '403 deny 15',
        'user:loader may not DescribeTable on /none',
      ],
      [
        'POST /v1/namespace/ns/drop',
        { key: 'reader' },
        '403 deny 15',
        'user:reader may not DropNamespace on /ns',
      ],
      [
        'POST /v1/namespace/ns/drop',
        { body: { behavior: 'cascade' }, key: 'dropper' },
        '403 deny 15',
        'namespace /ns holds something that the caller may not drop',
      ],
      [
        'POST /v1/namespace/new/create',
        { body: { mode: 'overwrite' }, key: 'maker' },
        '403 deny 15',
        'user:maker may not DropNamespace on /new',
      ],
      [
        'POST /v1/namespace/new/create',
        { key: 'reader' },
        '403 deny 15',
        'user:reader may not CreateNamespace on /new',
      ],
      [
        'POST /v1/table/ns$t/rename/to/other',
        { key: 'dropper' },
        '403 deny 15',
        'user:dropper may not CreateTable on /other',
      ],
      [
        'POST /v1/table/ns$t/describe',
        { key: 'nobody' },
        '403 deny 15',
        'user:nobody may not DescribeTable on /ns/t',
      ],
      ['POST /v1/jobs/list', { key: 'nobody' }, '403 deny 15', 'user:nobody may not ListJobs on /'],
      [
        'POST /v1/transaction/some/describe',
        { key: 'nobody' },
        '403 deny 15',
        'user:nobody may not DescribeTransaction on /',
      ],
      [
        'POST /v1/transaction/some/alter',
        { body: { actions: [] }, key: 'reader' },
        '403 deny 15',
        'user:reader may not AlterTransaction on /',
      ],
      [
        'POST /v1/jobs/cancel',
        { body: { job_id: 'some' }, key: 'reader' },
        '403 deny 15',
        'user:reader may not CancelJob on /',
      ],
      [
        'POST /v1/table/ns$t/backfill_column',
        { body: { column: 'id' }, key: 'reader' },
        '403 deny 15',
        'user:reader may not AlterTableBackfillColumns on /ns/t',
      ],
    ],
  },
];
