import type { RefusalGroup } from '../refusal.ts';

export const branches: readonly RefusalGroup[] = [
  {
    what: 'branches',
    rows: [
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: 'kept' } },
        '409/400 allow 23',
        'the table already has a branch "kept"',
      ],
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: 'new', from_branch: 'nowhere' } },
        '404/400 allow 22',
        'the table has no branch "nowhere"',
      ],
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: 'new', from_version: 99 } },
        '404/400 allow 11',
        'the table has no version 99',
      ],
      [
        'POST /v1/table/ns$t/branches/delete',
        { body: { name: 'nowhere' } },
        '404/400 allow 22',
        'the table has no branch "nowhere"',
      ],
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: 'main' } },
        '400 allow 13',
        'the branch name "main" is that of the branch that every table begins with',
      ],
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: '../main' } },
        '400 allow 13',
        'the branch name "../main" may not hold ".." nor be "." anywhere',
      ],
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: 'x'.repeat(5000) } },
        '400 allow 13',
        `the branch name "${'x'.repeat(5000)}" is longer than 255 bytes`,
      ],
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: 7 } },
        '400 allow 13',
        'CreateTableBranchRequest: the field "name" must be a string, not the number 7',
      ],
      [
        'POST /v1/table/ns$t/branches/delete',
        { body: { name: 'stem' } },
        '409/400 allow 19',
        'the branch "stem" cannot be deleted: the branch "twig" came from it',
      ],
      [
        'POST /v1/table/ns$t/branches/delete',
        { body: { name: 'main' } },
        '400 allow 13',
        'the branch "main" cannot be deleted: it is that which every table begins with',
      ],
      [
        'POST /v1/table/ns$none/branches/create',
        { body: { name: 'new' } },
        '404 allow 4',
        'table /ns/none does not exist',
      ],
      [
        'POST /v1/table/ns$t/branches/create',
        { body: { name: 'new' }, key: 'reader' },
        '403 deny 15',
        'user:reader may not CreateTableBranch on /ns/t',
      ],
      [
        'POST /v1/table/ns$t/branches/delete',
        { body: { name: 'kept' }, key: 'reader' },
        '403 deny 15',
        'user:reader may not DeleteTableBranch on /ns/t',
      ],
      [
        'POST /v1/table/ns$t/restore',
        { body: { version: 99, branch: 'kept' } },
        '404/400 allow 11',
        'the table has no version 99',
      ],
      [
        `POST /v1/table/ns$t/insert?branch=${'x'.repeat(3000)}`,
        {},
        '404/400 allow 22',
        `the table has no branch "${'x'.repeat(3000)}"`,
      ],
    ],
  },
];
