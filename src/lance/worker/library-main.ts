// The main module of a library process: node library-main.js MEMORY. The gateway's socket is file 3.
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import type * as LanceDb from '@lancedb/lancedb';
import { FrameReader, sendFrame } from '../wire/frames.ts';
import type { FromLibrary, LibraryTask, ToLibrary } from '../wire/messages.ts';
import { CatalogEndpoint } from './catalog-endpoint.ts';
import { OpenTables } from './open-tables.ts';
import { RunningTask } from './running-task.ts';
import { taskPieces } from './tasks.ts';

/** How often the process reports its memory, in ms. */
const MEMORY_MILLIS = 500;

/** The library with the tables that it has open. */
interface Library {
  readonly library: typeof LanceDb;
  readonly tables: OpenTables;
}

const running = new Map<number, RunningTask>();
const socket = new Socket({ fd: 3, readable: true, writable: true });
const frames = new FrameReader<ToLibrary>(receive);
socket.on('data', (chunk: Buffer) => frames.add(chunk));
// The gateway has ended, however it did.
socket.on('close', () => process.exit(0));
socket.on('error', () => process.exit(0));

const opened = openLibrary(Number(process.argv[2]));
opened.then(
  () => send({ kind: 'ready' }),
  (error: unknown) => send({ kind: 'unusable', reason: String(error) }),
);
setInterval(() => {
  send({ kind: 'memory', bytes: process.memoryUsage.rss() });
}, MEMORY_MILLIS).unref();

/** @param memory Memory of the process, in bytes. */
async function openLibrary(memory: number): Promise<Library> {
  const require = createRequire(import.meta.url);
  const library = require('@lancedb/lancedb') as typeof LanceDb;
  const endpoint = await CatalogEndpoint.open();
  const session = new library.Session(BigInt(memory >> 2), BigInt(memory >> 3));
  const connection = await library.connectNamespace(
    'rest',
    { uri: endpoint.url, headers: endpoint.headers },
    { session },
  );
  return { library, tables: new OpenTables(connection, endpoint) };
}

function receive(message: ToLibrary, bytes: Uint8Array): void {
  if (message.kind === 'begin') void begin(message, floatsOf(bytes));
  else if (message.kind === 'more') running.get(message.id)?.more();
  else running.get(message.id)?.cancel();
}

async function begin(
  { id, task, millis }: Extract<ToLibrary, { readonly kind: 'begin' }>,
  vectors: Float32Array,
): Promise<void> {
  const current = new RunningTask(id, millis, send);
  running.set(id, current);
  await current.run(piecesOf(task, vectors, current));
  running.delete(id);
}

async function* piecesOf(
  task: LibraryTask,
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
    dropBatches();
  }
}

/** Batches that nobody reads any more hold memory that only a collection returns. */
function dropBatches(): void {
  if (process.memoryUsage.rss() > Number(process.argv[2]) / 2) globalThis.gc?.();
}

function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

function send(message: FromLibrary, bytes?: Uint8Array): void {
  sendFrame(socket, message, bytes);
}
