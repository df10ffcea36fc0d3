// The main module of a library process: node library-main.js MEMORY SCRATCH. The gateway's socket is file 3.
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import type * as LanceDb from '@lancedb/lancedb';
import { FrameReader, sendFrame } from '../wire/frames.ts';
import type { FromLibrary, LibraryTask, TablePlace, ToLibrary } from '../wire/messages.ts';
import { readsInto } from '../wire/reads.ts';
import { BatchMemory } from './batch-memory.ts';
import { CatalogEndpoint, type AnswerVersions } from './catalog-endpoint.ts';
import { ChangeTables } from './change-tables.ts';
import { OpenTables } from './open-tables.ts';
import { RunningTask } from './running-task.ts';
import { changedTable } from './table-change.ts';
import { scannedRows } from './table-scan.ts';
import { taskPieces, type ReadTask } from './tasks.ts';

/** How often the process reports its memory, in ms. */
const MEMORY_MILLIS = 500;

/** The library with the tables that it has open, for reads and for changes. */
interface Library {
  readonly library: typeof LanceDb;
  readonly endpoint: CatalogEndpoint;
  readonly tables: OpenTables;
  readonly changes: ChangeTables;
}

const memory = new BatchMemory(Number(process.argv[2]));
const running = new Map<number, RunningTask>();
const onread = readsInto(new FrameReader<ToLibrary>(receive));
const options = { fd: 3, readable: true, writable: true, onread };
const socket = new Socket(options);
// The gateway has ended, however it did.
socket.on('close', leave);
socket.on('error', leave);

const opened = openLibrary(Number(process.argv[2]));
opened.then(
  () => send({ kind: 'ready' }),
  (error: unknown) => send({ kind: 'unusable', reason: String(error) }),
);
setInterval(() => {
  send({ kind: 'memory', bytes: process.memoryUsage.rss() });
}, MEMORY_MILLIS).unref();

/** Nobody else removes the temporary files of a gateway that was killed before its next start. */
function leave(): never {
  try {
    rmSync(process.argv[3]!, { recursive: true, force: true });
  } finally {
    process.exit(0);
  }
}

/** @param memory Memory of the process, in bytes. */
async function openLibrary(memory: number): Promise<Library> {
  const require = createRequire(import.meta.url);
  const library = require('@lancedb/lancedb') as typeof LanceDb;
  const endpoint = await CatalogEndpoint.open();
  const { url: uri, headers } = endpoint;
  const session = new library.Session(
    BigInt(Math.floor(memory / 4)),
    BigInt(Math.floor(memory / 8)),
  );
  const connection = await library.connectNamespace('rest', { uri, headers }, { session });
  const changes = new ChangeTables({ library, endpoint, memory });
  return { library, endpoint, tables: new OpenTables(connection, endpoint), changes };
}

function receive(message: ToLibrary, bytes: Uint8Array): void {
  if (message.kind === 'begin') {
    void begin(message, floatsOf(bytes));
    return;
  }
  if (message.kind === 'store') {
    renew(message);
    return;
  }
  const task = running.get(message.id);
  if (message.kind === 'more') task?.more();
  else if (message.kind === 'rows') task?.take(bytes);
  else if (message.kind === 'told') task?.told(message.call, message.reply);
  else task?.cancel();
}

function renew({ location, store }: Pick<TablePlace, 'location' | 'store'>): void {
  if (store === undefined) return;
  opened.then(
    ({ endpoint }) => endpoint.renew(location, store),
    () => undefined,
  );
}

async function begin(
  { id, task, millis, rows }: Extract<ToLibrary, { readonly kind: 'begin' }>,
  vectors: Float32Array,
): Promise<void> {
  const rowBytes = (task.kind === 'change' && task.rowBytes) || 0;
  const current = new RunningTask(id, millis, send, rowBytes);
  running.set(id, current);
  if (rows !== undefined) void current.readRows(rows);
  renew(task.table);
  await current.run(resultOf(task, vectors, current));
  running.delete(id);
}

function resultOf(
  task: LibraryTask,
  vectors: Float32Array,
  current: RunningTask,
): AsyncGenerator<Uint8Array> {
  if (task.kind === 'change') return changePieces(task, current);
  return task.kind === 'scan' ? scanPieces(task, current) : piecesOf(task, vectors, current);
}

async function* scanPieces(
  task: Extract<LibraryTask, { readonly kind: 'scan' }>,
  current: RunningTask,
): AsyncGenerator<Uint8Array> {
  const { library, endpoint } = await opened;
  const until = <Result>(work: Promise<Result>): Promise<Result> => current.until(work);
  try {
    yield* scannedRows({ library, endpoint, until }, task);
  } finally {
    memory.readEnded();
  }
}

async function* changePieces(
  task: Extract<LibraryTask, { readonly kind: 'change' }>,
  current: RunningTask,
): AsyncGenerator<Uint8Array> {
  const { library, changes: tables } = await opened;
  const { table: place, newest, isKept, change, rowBytes } = task;
  const rows = rowBytes !== null ? await current.rows() : new Uint8Array(0);
  const until = <Result>(work: Promise<Result>): Promise<Result> => current.until(work);
  const ask: AnswerVersions = (question) => current.ask(question);
  const parts = { library, tables, place, newest, isKept, rows, ask, until };
  const counts = await changedTable(parts, change);
  yield Buffer.from(JSON.stringify(counts));
}

async function* piecesOf(
  task: ReadTask,
  vectors: Float32Array,
  current: RunningTask,
): AsyncGenerator<Uint8Array> {
  const { library, tables } = await opened;
  const until = <Result>(work: Promise<Result>): Promise<Result> => current.until(work);
  const table = await tables.lend(task.table, until);
  try {
    yield* taskPieces({ library, table: table.opened, vectors, until }, task);
  } catch (error) {
    table.spoil();
    throw error;
  } finally {
    table.giveBack();
    memory.readEnded();
  }
}

function floatsOf({ buffer }: Uint8Array): Float32Array {
  return new Float32Array(buffer);
}

function send(message: FromLibrary, ...parts: readonly Uint8Array[]): void {
  sendFrame(socket, message, ...parts);
  for (const { byteLength } of parts) memory.sent(byteLength);
}
