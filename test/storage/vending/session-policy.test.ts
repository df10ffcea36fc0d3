import { describe, expect, it } from 'vitest';
import { Unvendable, type Access } from '../../../src/storage/vending/credential-vendor.ts';
import { sessionPolicy, tablePrefix } from '../../../src/storage/vending/session-policy.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
}

/** Judges an action on an object as AWS does; `*` stands for any characters. */
function allows(policy: string, action: string, resource: string): boolean {
  const { Statement: statements } = JSON.parse(policy) as { Statement: readonly Statement[] };
  const matches = (pattern: string): boolean =>
    new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`).test(resource);
  const found = statements.filter(
    ({ Action, Resource }) => Action.includes(action) && Resource.some(matches),
  );
  return found.length > 0 && found.every(({ Effect }) => Effect === 'Allow');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

const near = tablePrefix('/s3:/lake/tables/lance/t.lance');
const far = tablePrefix(`/s3:/lake/${'far/'.repeat(20)}t.lance`);
const names = {
  manifest: '_versions/1.manifest',
  staged: '_versions/1.manifest-u',
  branchManifest: 'tree/a/b/_versions/1.manifest',
  trickyManifest: 'tree/data/_versions/1.manifest',
  branchStaged: 'tree/a/b/_versions/1.manifest-u',
  data: 'data/f.lance',
  branchData: 'tree/a/data/f.lance',
  deletion: '_deletions/d.arrow',
  index: '_indices/u/i.idx',
  transaction: '_transactions/t.txn',
  ref: '_refs/tags/v.json',
  branchRef: 'tree/data/_refs/tags/v.json',
  other: 'other/f',
};
type Name = keyof typeof names;
const all = Object.keys(names) as readonly Name[];
const written: readonly Name[] = [
  'staged',
  'branchStaged',
  'data',
  'branchData',
  'deletion',
  'index',
  'transaction',
];
const commitReads: readonly Name[] = [
  'manifest',
  'staged',
  'branchManifest',
  'trickyManifest',
  'branchStaged',
  'transaction',
];

const cases: readonly (readonly [Access, string, readonly Name[]])[] = [
  ['read', 's3:GetObject', all],
  ['read', 's3:PutObject', []],
  ['read', 's3:DeleteObject', []],
  ['read', 's3:AbortMultipartUpload', []],
  ['commit', 's3:GetObject', commitReads],
  ['commit', 's3:PutObject', written],
  ['commit', 's3:DeleteObject', ['staged', 'branchStaged']],
  ['read and commit', 's3:GetObject', all],
  ['read and commit', 's3:PutObject', written],
  ['read and commit', 's3:DeleteObject', ['staged', 'branchStaged']],
];

describe.each([
  ['near', near],
  ['far', far],
])('a session policy of a table that lies %s', (_, table) => {
  it.each(cases)('to %s allows %s', (access, action, allowed) => {
    const policy = sessionPolicy(table, access);
    expect(policy.length).toBeLessThanOrEqual(2048);
    const at = (name: Name): string => `arn:aws:s3:::lake/${table.prefix}/${names[name]}`;
    expect(all.filter((name) => allows(policy, action, at(name)))).toEqual(
      all.filter((name) => allowed.includes(name)),
    );
    for (const place of [`${table.prefix}x/data/f`, 'data/f', 'tables/lance/u.lance/data/f']) {
      expect(allows(policy, action, `arn:aws:s3:::lake/${place}`)).toBe(false);
      expect(allows(policy, action, `arn:aws:s3:::other/${table.prefix}/data/f`)).toBe(false);
    }
  });

  it('lists its own prefix, and none that only begins with it', () => {
    const { Statement: statements } = JSON.parse(sessionPolicy(table, 'read'));
    expect(statements[0]).toEqual({
      Effect: 'Allow',
      Action: ['s3:ListBucket'],
      Resource: ['arn:aws:s3:::lake'],
      Condition: { StringLike: { 's3:prefix': `${table.prefix}/*` } },
    });
  });
});

describe('a location without a session policy', () => {
  it.each([
    '/s3:/lake',
    '/s3:/lake/a*',
    '/s3:/lake/a?',
    '/s3:/lake/${aws:username}',
    '/s3:/lake/ä',
  ])('%s', (location) => {
    expect(() => tablePrefix(location)).toThrow(Unvendable);
  });

  it('is one that is too long', () => {
    const table = tablePrefix(`/s3:/lake/${'a'.repeat(500)}`);
    expect(() => sessionPolicy(table, 'read and commit')).toThrow('may have 2048');
  });
});
