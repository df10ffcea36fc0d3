import { isPlainKey, nameInBucket } from '../object-key.ts';
import { Unvendable, type Access } from './credential-vendor.ts';

/** Where a table lies in its bucket. */
export interface TablePrefix {
  readonly bucket: string;
  /** Names with `/` between them and none at the ends. */
  readonly prefix: string;
}

/** Longest session policy that AWS accepts, in characters. */
const LONGEST_POLICY = 2048;

/** Folders that a commit of a Lance client adds files to. */
const WRITTEN = ['data', '_deletions', '_indices', '_transactions'];
/** Folders that a commit reads, without the rows. */
const COMMIT_READS = ['_versions', '_transactions'];
const STAGED = '_versions/*.manifest-*';
/** Canonical manifests and refs, whose writers decide what a version is. */
const CATALOG_WRITES = ['*.manifest', '*_refs/*'];

/** Bucket and prefix of the key of a table. @throws Unvendable for one that a policy cannot name exactly */
export function tablePrefix(location: string): TablePrefix {
  const { bucket, name } = nameInBucket(location);
  // Other characters are patterns, variables or escapes of the policy language.
  if (name !== '' && isPlainKey(location)) return { bucket, prefix: name };
  throw new Unvendable(
    'a session policy cannot name its location: use letters, digits and . _ = @ + -',
  );
}

/** Patterns of a file's name on the main line and on all branches. */
type OnLines = (name: string) => readonly string[];

const exact: OnLines = (name) => [name, `tree/*/${name}`];
/** Half as long, and allows further folders of the table whose names end alike: no file there is ever read. */
const short: OnLines = (name) => [`*${name}`];

/**
 * A session policy that allows one table and nothing beside it. Canonical manifests and refs are never
 * written with it: the catalog alone writes these.
 * @throws Unvendable if it would be too long
 */
export function sessionPolicy(table: TablePrefix, access: Access): string {
  const texts = [exact, short].map((onLines) => policyText(table, access, onLines));
  const text = texts.find(({ length }) => length <= LONGEST_POLICY);
  if (text !== undefined) return text;
  throw new Unvendable(
    `a session policy for its location has ${texts.at(-1)!.length} characters and may have ${LONGEST_POLICY}: use a shorter location`,
  );
}

function policyText(table: TablePrefix, access: Access, onLines: OnLines): string {
  const objects = (names: readonly string[]) => objectsOf(table, names);
  const folders = (names: readonly string[]) => names.flatMap((name) => onLines(`${name}/*`));
  const readable = access === 'commit' ? folders(COMMIT_READS) : ['*'];
  const put = ['s3:PutObject', 's3:AbortMultipartUpload'];
  const writing = [
    allow(put, objects(folders(WRITTEN))),
    allow([...put, 's3:DeleteObject'], objects(onLines(STAGED))),
    // The name of a branch may contain a folder that is allowed above.
    { ...allow(['s3:PutObject', 's3:DeleteObject'], objects(CATALOG_WRITES)), Effect: 'Deny' },
  ];
  const reading = [listing(table), allow(['s3:GetObject'], objects(readable))];
  const Statement = access === 'read' ? reading : [...reading, ...writing];
  return JSON.stringify({ Version: '2012-10-17', Statement });
}

/** With the slash: without it, the neighbours whose names begin like the table's would be listed. */
function listing({ bucket, prefix }: TablePrefix): object {
  const Condition = { StringLike: { 's3:prefix': `${prefix}/*` } };
  return { ...allow(['s3:ListBucket'], [`arn:aws:s3:::${bucket}`]), Condition };
}

function objectsOf({ bucket, prefix }: TablePrefix, names: readonly string[]): readonly string[] {
  return names.map((name) => `arn:aws:s3:::${bucket}/${prefix}/${name}`);
}

function allow(Action: readonly string[], Resource: readonly string[]): object {
  return { Effect: 'Allow', Action, Resource };
}
