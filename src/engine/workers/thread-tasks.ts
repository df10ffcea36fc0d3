import { copyBytes } from '../../arrow/data.ts';
import { unpacked } from '../../arrow/ipc/body.ts';
import { zstdReady } from '../../arrow/ipc/codec-zstd.ts';
import { analyzePlan } from '../query/analyze.ts';
import { rowsAnswer } from '../query/plan/answer.ts';
import { attended } from '../query/scan/attended.ts';
import { countRows } from '../query/rows/count.ts';
import { execute } from '../query/execute.ts';
import { planQuery } from '../query/plan/plan.ts';
import { ownStatement } from '../base/statement.ts';
import type { RequestBudget } from '../../protocol/budget.ts';
import type { BatchSource } from '../query/scan/batch-source.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { callerRows, type AskCaller } from './caller-rows.ts';
import { asRefusal, type IncomingLimits } from '../format/incoming.ts';
import { evaluated } from './formula-task.ts';
import { snapshotOf, snapshotMessage, visibleOf, type Task, type IndexStep } from './task.ts';
import type { ByteStream } from '../../protocol/backend.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { indexHere, type FragmentIndexer } from '../indexing/index-files.ts';
import type { IndexWork } from '../indexing/index-builder.ts';
import { fragmentDataBytes, type FragmentIndex } from '../format/snapshot.ts';
import { defaultTextOptions, piecesOfCharacter } from '../tokens/text-options.ts';
import type { ThreadPool } from './thread-pool.ts';

/** Smaller fragments are indexed sooner than a thread starts, in bytes. */
const LIGHT_BYTES = 2 ** 22;

/** Indexes large fragments on threads: sorting keys blocks a thread. */
export function indexerOn(pool: ThreadPool): FragmentIndexer {
  return (work) => {
    const { fragment, index } = work;
    const pieces = piecesOfCharacter(index.text ?? defaultTextOptions);
    const isMuch = fragmentDataBytes(fragment) * pieces > LIGHT_BYTES;
    return pool.size > 0 && isMuch ? onThread(pool, work) : indexHere(work);
  };
}

async function onThread(
  pool: ThreadPool,
  { snapshot, fragment, index, onRows }: IndexWork,
): Promise<FragmentIndex> {
  const message = snapshotMessage({ ...snapshot, fragments: [fragment] });
  const task = { kind: 'index', snapshot: message, index } as const;
  let file: FragmentIndex | undefined;
  // If the consumer stops, the thread's work stops.
  for await (const bytes of await pool.run(task, new AbortController().signal, {
    owner: 'index',
  })) {
    const step = JSON.parse(new TextDecoder().decode(bytes)) as IndexStep;
    if ('file' in step) file = step.file;
    else onRows(step.rows);
  }
  if (file !== undefined) return file;
  throw new Error('a thread has indexed a fragment and named no file');
}

/**
 * Decompresses batches on a thread of the pool. Bodies of several requests take turns, buffer by
 * buffer.
 */
export function unpackerOn(pool: ThreadPool): NonNullable<IncomingLimits['unpack']> {
  return async (batch, signal) => {
    const buffers: Uint8Array[] = [];
    for await (const bytes of await pool.run({ kind: 'unpack', batch }, signal))
      buffers.push(bytes);
    return buffers;
  };
}

/** Reads the files of tables in a thread. */
type ThreadSource = BatchSource & Pick<FragmentReader, 'storage'>;

/** Interval of progress messages, in ms. */
const TELL_MILLIS = 100;

/** Indexes a fragment until the signal, and tells how far it has come; leaving early ends the work, too. */
async function* indexSteps(
  work: Omit<IndexWork, 'onRows'>,
  signal: AbortSignal,
): AsyncGenerator<IndexStep> {
  let rows = 0;
  let left = false;
  const onRows = (more: number): void => {
    signal.throwIfAborted();
    if (left) throw new Error('nobody waits for the index any more');
    rows += more;
  };
  const indexing = indexHere({ ...work, onRows });
  const ended = indexing.then(
    () => true,
    () => true,
  );
  try {
    while (!(await Promise.race([ended, sleep(TELL_MILLIS, false)]))) {
      const step = { rows };
      rows = 0;
      yield step;
    }
    const file = await indexing;
    yield { rows };
    yield { file };
  } finally {
    left = true;
    await ended;
  }
}

/** Size of a message to another thread, in bytes. */
const ENOUGH = 2 ** 18;

/**
 * Bytes in larger chunks, each in memory of its own, so that it can be handed over to another thread.
 * A piece is copied before the next one is read.
 */
async function* inChunks(
  stream: ByteStream | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let chunk = new Uint8Array(ENOUGH);
  let filled = 0;
  for await (const piece of stream) {
    for (let at = 0; at < piece.byteLength;) {
      const part = piece.subarray(at, at + ENOUGH - filled);
      chunk.set(part, filled);
      filled += part.byteLength;
      at += part.byteLength;
      if (filled < ENOUGH) break;
      yield chunk;
      chunk = new Uint8Array(ENOUGH);
      filled = 0;
    }
    if ('sent' in stream) stream.sent?.(piece);
  }
  if (filled > 0) yield copyBytes(chunk, 0, filled);
}

/** Bytes in memory of their own. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}

type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>>;
type Run<Kind extends Task['kind']> = (
  task: Extract<Task, { readonly kind: Kind }>,
  source: ThreadSource,
  use: TaskUse,
) => Chunks;

/** Budget of a task, and the signal of its cancellation. */
interface TaskUse {
  readonly signal: AbortSignal;
  readonly budget: RequestBudget;
  readonly ask: AskCaller;
}

/** Implementation of each kind of task; the result is a sequence of bytes. */
const runs: { readonly [Kind in Task['kind']]: Run<Kind> } = {
  query: async function* ({ request, snapshot: message, virtual, now }, reader, use) {
    const { signal, budget, ask } = use;
    const snapshot = visibleOf(message, reader.storage);
    const source: BatchSource = virtual === true ? callerRows(snapshot, ask) : reader;
    const plan = planQuery(request, snapshot, { ...ownStatement(budget), now });
    const { body } = await rowsAnswer({
      schema: plan.schema,
      batches: execute(plan, attended(source, signal)),
      version: snapshot.version,
      signal,
      giveBack: (memory) => source.giveBack?.(memory),
    });
    if (body !== null && typeof body !== 'string') yield* inChunks(body);
  },
  count: async function* ({ predicate, snapshot: message, virtual }, source, use) {
    const { signal, budget, ask } = use;
    const snapshot = visibleOf(message, source.storage);
    const read = attended(virtual === true ? callerRows(snapshot, ask) : source, signal);
    const statement = ownStatement(budget);
    const count = await countRows(read, snapshot, predicate, statement);
    yield new TextEncoder().encode(String(count));
  },
  analyze: async function* ({ request, snapshot: message, virtual }, source, use) {
    const { signal, budget, ask } = use;
    const snapshot = visibleOf(message, source.storage);
    const read = attended(virtual === true ? callerRows(snapshot, ask) : source, signal);
    const plan = planQuery(request, snapshot, ownStatement(budget));
    yield new TextEncoder().encode(await analyzePlan(plan, read));
  },
  formula: async function* ({ formula }, _, { budget }) {
    const statement = { ...ownStatement(budget), now: formula.now };
    yield* inChunks(evaluated(formula, statement));
  },
  unpack: async function* ({ batch }) {
    try {
      await zstdReady;
      for (const bytes of unpacked(batch)) yield owned(bytes);
    } catch (error) {
      throw asRefusal(error);
    }
  },
  index: async function* ({ index, snapshot: message }, source, { signal }) {
    const snapshot = snapshotOf(message, source.storage);
    const [fragment] = snapshot.fragments;
    if (fragment === undefined) throw new Error('there is no fragment to index');
    const work = { source: attended(source, signal), snapshot, fragment, index };
    for await (const step of indexSteps(work, signal)) {
      yield new TextEncoder().encode(JSON.stringify(step));
    }
  },
};

/** Does a task. @throws CatalogError for a refusal. */
export function runTask(task: Task, source: ThreadSource, use: TaskUse): Chunks {
  return runs[task.kind](task as never, source, use);
}
