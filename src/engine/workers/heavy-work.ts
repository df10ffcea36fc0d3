import type { RecordBatch, Vector } from 'apache-arrow';
import type { QueryRequest } from '../request/request.ts';
import { PORTION_BYTES } from '../query/scan/gather.ts';
import { stepsOf, workOf } from '../request/formula.ts';
import type { FormulaThreads, Statement, Formula } from '../base/statement.ts';
import { columnBytes, reservedBytes } from '../query/plan/reserved-bytes.ts';
import { allFiles, type NearestPlan, type QueryPlan } from '../query/plan/plan.ts';
import { prunedFiles } from '../query/scan/pruning.ts';
import { keepsBest } from '../query/rows/best-rows.ts';
import type { ScanFile } from '../query/scan/scan.ts';
import { MemoryReservation, type MemoryBudget } from '../format/memory/memory-budget.ts';
import { batchBytes } from '../format/small-batches.ts';
import { RequestMemory } from '../format/memory/request-memory.ts';
import { AnswerMemory, type MemoryClaim } from '../format/memory/answer-memory.ts';
import { indexFileOf } from '../index/keys/index-upkeep.ts';
import { isCovered } from '../index/vectors/index-use.ts';
import { fragmentDataBytes, type Snapshot } from '../format/snapshot.ts';
import { defaultTextOptions, piecesOfCharacter } from '../tokens/text-options.ts';
import { unindexed, type TextPlan } from '../index/text/text-plan.ts';
import { leavesOf, type TextQuery } from '../request/text-query.ts';
import type { VirtualRows } from '../query/scan/virtual-rows.ts';
import type { VisibleSnapshot } from '../query/scan/visible-snapshot.ts';
import { rowsFor } from './caller-rows.ts';
import { formulaMessage, decodeRowNumbers, valuesOfStream } from './formula-task.ts';
import { snapshotMessage, type Task } from './task.ts';
import type { ThreadPool } from './thread-pool.ts';

/** Sorts of more rows leave the main thread. */
const MANY_ROWS = 50_000;

/** Text searches in more bytes leave the main thread. */
const LIGHT_TEXT = 2 ** 20;

/** Memory of an answer of a thread. */
interface ThreadClaim extends Required<MemoryClaim> {
  readonly memory: AnswerMemory;
  readonly reserved: number;
}

/** Decides which work leaves the main thread and runs it on worker threads. */
export class HeavyWork implements FormulaThreads {
  readonly #pool: ThreadPool;
  /** Scans of more bytes leave the main thread. */
  readonly #lightBytes: number;
  readonly #memory: MemoryReservation;
  readonly #requests: RequestMemory;
  /** Shared by the answers of threads. */
  readonly #answers = AnswerMemory.forThreads();

  /**
   * @param memory Caches that give way to the memory of sorts.
   * @param requests Shared memory that sorts wait for.
   */
  constructor(
    pool: ThreadPool,
    memory: MemoryBudget,
    requests: RequestMemory = new RequestMemory(Infinity),
  ) {
    this.#requests = requests;
    this.#pool = pool;
    this.#lightBytes = memory.bytes;
    this.#memory = new MemoryReservation(memory);
  }

  /** Whether a query should leave the main thread. Passing rows on is light work. */
  isHeavyQuery(plan: QueryPlan): boolean {
    const { snapshot, files, filter, nearest, text, sort, need, filterNeed } = plan;
    if (this.#pool.size === 0) return false;
    if (sort !== null && snapshot.rows > MANY_ROWS) return true;
    if (text !== null && this.#isMuchText(snapshot, text)) return true;
    const bytesOfRows = (rows: number) => averageBytes(snapshot) * rows;
    const scanned = scannedRows(files);
    if (filter !== null && isLong(filter, scanned, bytesOfRows(scanned))) return true;
    const answered = answeredRows(plan);
    if (formulasOf(plan).some((each) => isLong(each, answered, bytesOfRows(answered)))) return true;
    if (filter === null && nearest === null) return false;
    if (nearest?.index != null && this.#isLightSearch(plan, nearest)) return false;
    const searched = nearest === null ? [] : [nearest.column.column];
    const names = [...filterNeed.stored, ...searched, ...(filter === null ? [] : need.stored)];
    return this.#isMuch(snapshot, files, names);
  }

  /** With an index, uncovered vectors and the cached codes are compared. */
  #isLightSearch(
    { snapshot, files, filterNeed }: QueryPlan,
    { index, column }: NearestPlan,
  ): boolean {
    if (index === null) return false;
    const codes = files.map(({ fragment }) => indexFileOf(fragment, index.index)?.bytes ?? 0);
    if (codes.reduce((sum, bytes) => sum + bytes, 0) > this.#lightBytes / 2) return false;
    const tail = files.filter(({ fragment }) => !isCovered(fragment, index.index));
    return (
      !this.#isMuch(snapshot, tail, [column.column]) &&
      !this.#isMuch(snapshot, files, filterNeed.stored)
    );
  }

  /** Whether a count should leave the main thread. */
  isHeavyCount(snapshot: Snapshot, predicate: Formula): boolean {
    if (this.#pool.size === 0) return false;
    const files = prunedFiles(snapshot, allFiles(snapshot), predicate);
    const open = files.filter(({ certain }) => certain !== true);
    const rows = scannedRows(open);
    const bytes = averageBytes(snapshot) * rows;
    return isLong(predicate, rows, bytes) || this.#isMuch(snapshot, open, predicate.columns);
  }

  /**
   * The bytes of the answer.
   * @param rows Where the rows lie in no files; closed by the caller.
   * @throws CatalogError as when the query is run here.
   */
  async query(
    request: QueryRequest,
    plan: QueryPlan,
    rows?: VirtualRows,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const { statement, snapshot } = plan;
    statement.signal().throwIfAborted();
    const message = snapshotMessage(snapshot);
    const virtual = rows !== undefined;
    const { now } = statement;
    const task = { kind: 'query', request, snapshot: message, virtual, now } as const;
    // Sorts of more use files.
    const bytes = Math.min(heldBytes(plan), statement.budget.limits.memory);
    // The estimate may be too high, so it is no reason to refuse the query.
    const shared = Math.min(bytes, this.#requests.bytes);
    await this.#requests.take(shared);
    if (statement.signal().aborted) this.#requests.give(shared);
    statement.signal().throwIfAborted();
    const release = this.#memory.hold(bytes);
    const done = (): void => {
      this.#requests.give(shared);
      release();
    };
    return this.#run(task, statement, done, rows);
  }

  /** The memory that the answer of a query takes while a thread works on it. */
  claimOf(plan: QueryPlan): ThreadClaim {
    const { owner, signal } = plan.statement;
    const { reserved } = reservedBytes(plan);
    return { memory: this.#answers, reserved, owner, signal };
  }

  /** The plan of a query that is run, as text. @throws CatalogError as when it is run here. */
  async analyze(
    request: QueryRequest,
    { statement, snapshot }: QueryPlan,
    rows?: VirtualRows,
  ): Promise<string> {
    const message = snapshotMessage(snapshot);
    const task = {
      kind: 'analyze',
      request,
      snapshot: message,
      virtual: rows !== undefined,
    } as const;
    return Buffer.concat(await this.#all(task, statement, rows)).toString();
  }

  /** Counts rows on a thread. @throws CatalogError as the count itself does. */
  async count(
    predicate: string,
    snapshot: VisibleSnapshot,
    statement: Statement,
    rows?: VirtualRows,
  ): Promise<bigint> {
    const message = snapshotMessage(snapshot);
    const virtual = rows !== undefined;
    const task = { kind: 'count', predicate, snapshot: message, virtual } as const;
    return BigInt(Buffer.concat(await this.#all(task, statement, rows)).toString());
  }

  /** Whether evaluating a formula for the rows of a batch should leave the main thread. */
  isLong(formula: Formula, batch: RecordBatch): boolean {
    return this.#pool.size > 0 && isLong(formula, batch.numRows, batchBytes(batch));
  }

  async rowsWhere(formula: Formula, batch: RecordBatch): Promise<Uint32Array> {
    return decodeRowNumbers(Buffer.concat(await this.#evaluated(formula, batch)));
  }

  async valuesOf(formula: Formula, batch: RecordBatch): Promise<Vector> {
    return valuesOfStream(await this.#evaluated(formula, batch));
  }

  #evaluated(formula: Formula, batch: RecordBatch): Promise<readonly Uint8Array[]> {
    const task = { kind: 'formula', formula: formulaMessage(formula, batch) } as const;
    return this.#all(task, formula.statement);
  }

  /** The whole result of a task. Its bytes are charged as held memory. */
  async #all(task: Task, statement: Statement, rows?: VirtualRows): Promise<readonly Uint8Array[]> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const piece of await this.#run(task, statement, undefined, rows)) {
        statement.budget.charge(piece.byteLength);
        bytes += piece.byteLength;
        pieces.push(piece);
      }
    } finally {
      statement.budget.release(bytes);
    }
    return pieces;
  }

  /** Runs a task with the remaining budget of its request. */
  #run(
    task: Task,
    { budget, owner, signal }: Statement,
    done: () => void = () => undefined,
    rows?: VirtualRows,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const ended = (spent: number): void => {
      budget.add(spent);
      done();
    };
    return this.#pool.run({ ...task, budget: budget.message() }, signal(), {
      owner,
      ended,
      rows: rows && rowsFor(rows),
    });
  }

  /** Texts without an index are tokenised for each search. */
  #isMuchText(snapshot: Snapshot, text: TextPlan): boolean {
    if (text.fastSearch) return false;
    const fragments = unindexed(text, snapshot);
    const pieces = text.texts.reduce(
      (sum, { column, index }) =>
        sum +
        columnBytes(snapshot.schema, fragments, [column]) *
          piecesOfCharacter(index.text ?? defaultTextOptions),
      0,
    );
    return pieces * (1 + misspelt(text.query)) > Math.min(this.#lightBytes, LIGHT_TEXT);
  }

  #isMuch({ schema }: Snapshot, files: readonly ScanFile[], names: readonly string[]): boolean {
    const scanned = files.filter(({ lookup }) => lookup?.narrow !== true);
    if (scanned.length === 0) return false;
    const fragments = [...new Set(scanned.map(({ fragment }) => fragment))];
    return columnBytes(schema, fragments, names) > this.#lightBytes;
  }
}

/** Greatest number of steps on the main thread: about a tenth of a second. */
const LONG_STEPS = 2 ** 25;
/** Expressions of fewer steps are judged by bytes alone. */
const FEW_STEPS = 30;

/** Greatest number of processed bytes on the main thread. */
const LONG_BYTES = 2 ** 24;

/** Whether evaluating a formula for some rows of a given size takes long. */
function isLong(formula: Formula, rows: number, bytes: number): boolean {
  const steps = stepsOf(formula);
  if (steps >= FEW_STEPS && steps * rows > LONG_STEPS) return true;
  return rows > 0 && workOf(formula, rows, bytes) > LONG_BYTES;
}

/** Approximate bytes of a row. */
function averageBytes({ fragments }: Snapshot): number {
  const rows = fragments.reduce((sum, { physicalRows }) => sum + physicalRows, 0);
  return (
    fragments.reduce((sum, fragment) => sum + fragmentDataBytes(fragment), 0) / Math.max(1, rows)
  );
}

function scannedRows(files: readonly ScanFile[]): number {
  const scanned = files.filter(({ lookup }) => lookup?.narrow !== true);
  return scanned.reduce((sum, file) => sum + (file.rows ?? file.fragment.physicalRows), 0);
}

/** Greatest number of rows for which projections are computed. */
function answeredRows({ files, window }: QueryPlan): number {
  const rows = files.reduce((sum, file) => sum + (file.rows ?? file.fragment.physicalRows), 0);
  return Math.min(rows, window.limit ?? Infinity);
}

function formulasOf({ projections }: QueryPlan): readonly Formula[] {
  return projections.flatMap((each) => (each.kind === 'formula' ? [each.formula] : []));
}

/** Approximate number of fuzzy words: each word of a text is compared with all of them. */
function misspelt(query: TextQuery): number {
  return leavesOf(query).reduce(
    (sum, leaf) =>
      leaf.kind === 'match' && leaf.fuzziness !== 0 ? sum + leaf.terms.length / 8 : sum,
    0,
  );
}

/** Bytes per row that a sort holds beside its keys. */
const ROW_BYTES = 20;
/** Usual number of rows of a large batch. */
const BATCH_ROWS = 2 ** 16;

/** Estimated bytes that a query holds until its answer is sent; only sorts hold much. */
function heldBytes(plan: QueryPlan): number {
  const { sort, nearest, text, snapshot, files } = plan;
  if (sort === null || nearest !== null) return 0;
  const fragments = [...new Set(files.map(({ fragment }) => fragment))];
  const rows = files.reduce((sum, file) => sum + (file.rows ?? file.fragment.physicalRows), 0);
  const total = fragments.reduce((sum, fragment) => sum + fragmentDataBytes(fragment), 0);
  // Keys are held twice: as read and joined; so is a portion of rows.
  const keys = columnBytes(snapshot.schema, fragments, sort.columns);
  const held = text === null && keepsBest(plan, sort) ? bestShare(plan, rows) : 1;
  return held * (2 * keys + ROW_BYTES * rows) + 3 * Math.min(PORTION_BYTES, total);
}

/** Share of rows that a sort holds at once if it keeps the best only. */
function bestShare({ window: { offset, limit } }: QueryPlan, rows: number): number {
  const most = 2 * (offset + (limit ?? 0)) + BATCH_ROWS;
  return Math.min(1, most / Math.max(1, rows));
}
