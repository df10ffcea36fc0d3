import { CatalogError, type ErrorName } from '../protocol/errors.ts';
import type { LibraryTask, StoreAccess } from './wire/messages.ts';

/** Marks of files of a format that the library does not know: a later one wrote them. */
const LATER_FORMATS = [
  'Unknown Lance storage version',
  'Unsupported file version',
  'Unknown file version',
  'not supported in this version of Lance',
  'cannot be read by this version of Lance',
  'cannot be written by this version of Lance',
  'unsupported index version',
];

/** The library gives this name to errors of files, and to some mistakes of requests as well. */
const IO_FAULT = 'LanceError(IO)';

/** Marks of mistakes of requests: an expression that cannot be planned, an index that cannot answer. */
const MISTAKES = ['Error during planning', 'Invalid user input'];

/** Marks of errors in files: lost or damaged. Arrow files are those of deleted rows. */
const FILE_FAULTS = [
  'Not found:',
  'Object at location',
  'does not appear to be a Lance file',
  'Encountered corrupt file',
  'Encountered internal error',
  'Arrow file does not',
  'Unable to get root as',
  'from IPC Footer',
  'invalid seek',
  'failed to decode Protobuf',
  'panicked',
  'Panic in async function',
  'called `Option::unwrap()`',
  'called `Result::unwrap()`',
  'assertion failed',
  'assertion `left',
  'cannot read Range',
  'base_path id',
  'missing segment type',
  'must have row ids',
  'column indices',
  'specified the column index',
];

/** Places in the library that read files alone, and JSON in them. */
const FILE_READERS =
  /\/src\/(?:io\/deletion|vector\/storage)\.rs|LanceError\(Arrow\): .* at line \d+ column \d+/;

/** Marks of an object store that was not reached, or refuses the library. */
const STORE_FAULT =
  /Generic S3 error|error sending request|dispatch failure|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|PermissionDenied|Unauthenticated/;

const CONFLICT = 'ConcurrentModification';

/** Marks of errors in requests, the first that fits; any other is `InvalidInput`. */
const REQUEST_FAULTS: readonly (readonly [RegExp, ErrorName])[] = [
  [
    /No field named|Column \S+ not found|Field (?:path )?['`].*['`] not found/,
    'TableColumnNotFound',
  ],
  [/does not exist in (?:the schema|dataset schema|the dataset)/, 'TableColumnNotFound'],
  [
    /Column .* already exists|Type conflicts between|Duplicate field name/,
    'TableSchemaValidationError',
  ],
  [/Cannot cast column|contains NULL values/, 'TableSchemaValidationError'],
  [/cannot contain `\.`/, 'TableSchemaValidationError'],
  [/commit conflict for version|Incompatible transaction|Too many concurrent writers/i, CONFLICT],
  [/index not found: name=/, 'TableIndexNotFound'],
  [/Index name '.*' already exists/, 'TableIndexAlreadyExists'],
];

/** The error of a request, by what the library says. */
export function libraryFault(task: LibraryTask, text: string): CatalogError {
  const { name: table } = task;
  const { location, store } = task.table;
  if (store !== undefined && STORE_FAULT.test(text)) return storeUnavailable(table, store);
  const said = plainText(text, store?.folder ?? location.slice(1));
  const name = nameOf(text, task);
  if (name === CONFLICT) {
    return new CatalogError(name, `table ${table} was changed meanwhile: ${said}`);
  }
  if (name === 'Unsupported') {
    return new CatalogError(
      name,
      `table ${table} has a format that the Lance library of this service does not know: ${said}. Open it at its location by the Lance client that wrote it`,
    );
  }
  if (name !== 'Internal') return new CatalogError(name, said);
  // It panics on some formats and types that it does not know.
  const later = /panic/i.test(said)
    ? '. If a later Lance client wrote it, open it by that one'
    : '';
  return new CatalogError(
    name,
    `the Lance library cannot read a file of table ${table}: ${said}. Restore the file from a backup, or restore an older version of the table${later}`,
  );
}

function nameOf(text: string, task: LibraryTask): ErrorName {
  if (LATER_FORMATS.some((mark) => text.includes(mark))) return 'Unsupported';
  if (isOfFiles(text) || lacksOwnColumn(text, task)) return 'Internal';
  return REQUEST_FAULTS.find(([mark]) => mark.test(text))?.[1] ?? 'InvalidInput';
}

function isOfFiles(text: string): boolean {
  if (FILE_FAULTS.some((mark) => text.includes(mark)) || FILE_READERS.test(text)) return true;
  return text.includes(IO_FAULT) && !MISTAKES.some((mark) => text.includes(mark));
}

/** Whether a column is missing that the request does not name: a file of an index has others then. */
function lacksOwnColumn(text: string, task: LibraryTask): boolean {
  const [, column] = /Field '(\w+)' not found\. Did you mean/.exec(text) ?? [];
  if (column === undefined) return false;
  return !JSON.stringify(task).toLowerCase().includes(column.toLowerCase());
}

/** The text of the library is left out: it may repeat what the store says of the gateway's credentials. */
function storeUnavailable(table: string, { name, uri }: StoreAccess): CatalogError {
  const bucket = uri.split('/', 3).join('/');
  return new CatalogError(
    'ServiceUnavailable',
    `the Lance library cannot reach the object store ${name} of table ${table} (${bucket}): try again later, and compare endpoint, certificate and rights of the store with its entry in object_stores`,
  );
}

/** The first sentence of an error, without where in the library it arose and where the table lies. */
function plainText(text: string, folder: string): string {
  const said = text
    .split('Caused by:')[0]!
    .replaceAll(/, (?:\/[\w@.+-]+)+\.rs:\d+:\d+/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/: Schema \{.*/, '')
    .replace(/^(?:Failed to [\w ]+: )?(?:GenericFailure, )?/, '')
    .replace(/^lance error: /, '')
    .replace(/^(?:LanceError\(\w+\)|Invalid user input|Invalid input)[:,] /, '');
  return said.replaceAll(`/${folder}/`, '').replaceAll(`${folder}/`, '').trim().replace(/\.$/, '');
}
