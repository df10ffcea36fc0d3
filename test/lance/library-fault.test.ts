import { expect, it } from 'vitest';
import { libraryFault } from '../../src/lance/library-fault.ts';
import type { LibraryTask } from '../../src/lance/wire/messages.ts';

const version = { version: 1, manifest: '_versions/1.manifest' };
const task: LibraryTask = {
  kind: 'count',
  predicate: "Naem = 'x'",
  name: '/rows',
  table: { id: 'one', location: '/folder/rows.lance', branch: 'main', at: version, main: version },
};

/** What the library says, and how the request is refused. */
const faults = [
  [
    'lance error: Invalid user input: Error optimizing sql filter: not n (LanceError(IO): Error during planning: Cannot infer common argument type for comparison operation Int32 IS DISTINCT FROM Boolean, /usr/local/src/lance-datafusion-8.0.0/src/planner.rs:929:20)',
    'InvalidInput',
    'Error optimizing sql filter: not n (LanceError(IO): Error during planning: Cannot infer common argument type for comparison operation Int32 IS DISTINCT FROM Boolean)',
  ],
  [
    'lance error: LanceError(IO): External error: Invalid user input: Fm only supports TextQuery, /usr/local/src/fmindex.rs:1338:28',
    'InvalidInput',
    'External error: Invalid user input: Fm only supports TextQuery',
  ],
  [
    'lance error: LanceError(IO): Generic LocalFileSystem error: Unable to open file /folder/rows.lance/data/1.lance',
    'Internal',
    'the Lance library cannot read a file of table /rows: Generic LocalFileSystem error: Unable to open file data/1.lance. Restore the file from a backup, or restore an older version of the table',
  ],
  [
    'Panic in async function',
    'Internal',
    'the Lance library cannot read a file of table /rows: Panic in async function. Restore the file from a backup, or restore an older version of the table. If a later Lance client wrote it, open it by that one',
  ],
  [
    'called `Option::unwrap()` on a `None` value',
    'Internal',
    'the Lance library cannot read a file of table /rows: called `Option::unwrap()` on a `None` value. Restore the file from a backup, or restore an older version of the table',
  ],
  [
    'Failed to get next batch from stream: lance error: Invalid user input: cannot read Ranges([0..3, 4..9]) from file with 5 rows, /usr/local/src/lance-file-8.0.0/src/reader.rs:1:1',
    'Internal',
    'the Lance library cannot read a file of table /rows: cannot read Ranges([0..3, 4..9]) from file with 5 rows. Restore the file from a backup, or restore an older version of the table',
  ],
  [
    'lance error: LanceError(Index): unsupported index version (maybe need to upgrade your lance version), /usr/local/src/lance-8.0.0/src/index.rs:1:1',
    'Unsupported',
    'table /rows has a format that the Lance library of this service does not know: unsupported index version (maybe need to upgrade your lance version). Open it at its location by the Lance client that wrote it',
  ],
  [
    'lance error: LanceError(Index): lance:ivf not found, /usr/local/src/lance-index-8.0.0/src/vector/storage.rs:1:1',
    'Internal',
    'the Lance library cannot read a file of table /rows: lance:ivf not found. Restore the file from a backup, or restore an older version of the table',
  ],
  [
    'lance error: LanceError(Arrow): missing field `dimension` at line 1 column 106, /usr/local/src/lance-core-8.0.0/src/error.rs:1:1',
    'Internal',
    'the Lance library cannot read a file of table /rows: missing field `dimension` at line 1 column 106. Restore the file from a backup, or restore an older version of the table',
  ],
  [
    "lance error: Field '_num_tokens' not found. Did you mean '_numtokens'?\nAvailable fields: ['_rowid', '_numtokens']",
    'Internal',
    "the Lance library cannot read a file of table /rows: Field '_num_tokens' not found. Did you mean '_numtokens'? Available fields: ['_rowid', '_numtokens']. Restore the file from a backup, or restore an older version of the table",
  ],
  [
    "lance error: Field 'naem' not found. Did you mean 'name'?\nAvailable fields: ['id', 'name']",
    'TableColumnNotFound',
    "Field 'naem' not found. Did you mean 'name'? Available fields: ['id', 'name']",
  ],
] as const;

it.each(faults)('%s', (text, name, message) => {
  const fault = libraryFault(task, text);
  expect([fault.row.name, fault.message]).toEqual([name, message]);
});
