import { int64Values, textValues, wordValues } from '../arrow/value-column.ts';
import { firstSequence, lineOfRecord, sequenceOfLine } from './chain/line-position.ts';
import { linePieces, logStorage } from './chain/log-files.ts';
import type { AttemptsNote } from './chain/open-attempts.ts';
import { instancePrefix } from './record/encoding.ts';
import { partsOfInstance, readPart, type LogPart } from './segments/log-part.ts';
import { decodeRecord } from './record/decoding.ts';
import { recordAt } from './record/columns.ts';
import type { LoggedRecord, Phase } from './record/record.ts';
import { withSegment, type OpenSegment } from './segments/segment-file.ts';

/** Phase, decision and number of a record. */
interface Half {
  readonly phase: Phase;
  readonly decisionId: string;
  readonly sequence: bigint;
}

/** Attempts of an instance that are examined. */
export interface ExaminedInstance {
  readonly folder: string;
  readonly instance: string;
  /** The attempts that were open at some record; undefined if no record is known. */
  readonly note: AttemptsNote | undefined;
  /** Stops the reading after a file. */
  readonly signal?: AbortSignal | undefined;
}

/** Attempts of an instance without an outcome in the same instance. Reads the records after the note. */
export async function unansweredAttempts(
  examined: ExaminedInstance,
): Promise<readonly LoggedRecord[]> {
  const { note } = examined;
  const open = new Map(note?.open);
  const parts = await partsAfter(examined);
  for (const part of parts) {
    examined.signal?.throwIfAborted();
    for await (const { phase, decisionId, sequence } of halvesOf(part)) {
      if (note !== undefined && sequence <= note.count) continue;
      if (phase === 'attempt') open.set(decisionId, sequence);
      else open.delete(decisionId);
    }
  }
  return loaded(examined, open);
}

/** Number of bytes that `unansweredAttempts` reads at most. */
export async function bytesToExamine(examined: ExaminedInstance): Promise<number> {
  const parts = await partsAfter(examined);
  return parts.reduce((sum, { file }) => sum + (logStorage.stat(file.path)?.bytes ?? 0), 0);
}

/** The decisions that have an outcome in an instance. */
export async function answeredIn(
  folder: string,
  instance: string,
  decisions: ReadonlySet<string>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const part of await partsOfInstance(folder, instance)) {
    for await (const { phase, decisionId } of halvesOf(part)) {
      if (phase === 'outcome' && decisions.has(decisionId)) found.push(decisionId);
    }
  }
  return found;
}

/** The parts of an instance with records after its note. */
async function partsAfter({
  folder,
  instance,
  note,
}: ExaminedInstance): Promise<readonly LogPart[]> {
  const parts = await partsOfInstance(folder, instance);
  if (note === undefined) return parts;
  for (const [at, part] of [...parts.entries()].toReversed()) {
    const first = await firstOf(part);
    if (first !== undefined && first <= note.count + 1n) return parts.slice(at);
  }
  return parts;
}

/** Number of the first record of a part; undefined if it has none, or was sealed meanwhile. */
async function firstOf({ instance, file, seal }: LogPart): Promise<bigint | undefined> {
  if (seal !== undefined) return seal.before.count + 1n;
  return firstSequence(file.path, instance);
}

/** The attempts with these numbers. One that a later file replaced after a failed flush was never confirmed. */
async function loaded(
  { folder, instance }: ExaminedInstance,
  open: ReadonlyMap<string, bigint>,
): Promise<readonly LoggedRecord[]> {
  if (open.size === 0) return [];
  const parts = await partsOfInstance(folder, instance);
  const found: LoggedRecord[] = [];
  for (const [decision, sequence] of open) {
    const record = await recordNumbered(parts, instance, sequence);
    if (record?.decision_id === decision) found.push(record);
  }
  return found;
}

async function recordNumbered(
  parts: readonly LogPart[],
  instance: string,
  sequence: bigint,
): Promise<LoggedRecord | undefined> {
  const segment = parts.find(
    ({ seal }) =>
      seal !== undefined && seal.before.count < sequence && sequence <= seal.after.count,
  );
  if (segment !== undefined) return recordOfSegment(segment, sequence);
  const files = parts.filter(({ seal }) => seal === undefined).map(({ file }) => file);
  const line = await lineOfRecord(files, instance, sequence);
  return line && decodeRecord(line.bytes.toString());
}

async function recordOfSegment(
  { file, seal }: LogPart,
  sequence: bigint,
): Promise<LoggedRecord | undefined> {
  return withSegment(
    file.path,
    async (segment) => {
      let start = Number(sequence - seal!.before.count) - 1;
      for (const [index, count] of segment.file.batchRows.entries()) {
        const rows = { start, count: 1 };
        if (start < count)
          return recordAt(await segment.file.readBatch(index, undefined, { rows }), 0);
        start -= count;
      }
      return undefined;
    },
    seal?.portions,
  );
}

function halvesOf(part: LogPart): AsyncGenerator<Half> {
  return readPart(part, {
    lines: (path) => halvesOfLines(path, part.instance),
    segment: halvesOfSegment,
  });
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const OUTCOME = 'o'.charCodeAt(0);
const PHASE = Buffer.from('"phase":"');
const DECISION = Buffer.from('"decision_id":"');

/** Finds the fields by their names: earlier fields hold no text of a caller that could look like them. */
async function* halvesOfLines(path: string, instance: string): AsyncGenerator<Half> {
  const prefix = Buffer.from(instancePrefix(instance));
  for await (const { bytes, torn } of linePieces(path)) {
    if (torn) return;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(NEWLINE, start);
      const phase = bytes.indexOf(PHASE, start) + PHASE.length;
      const id = bytes.indexOf(DECISION, phase) + DECISION.length;
      yield {
        phase: bytes[phase] === OUTCOME ? 'outcome' : 'attempt',
        decisionId: bytes.toString('latin1', id, bytes.indexOf(QUOTE, id)),
        sequence: sequenceOfLine(bytes, start, prefix) ?? 0n,
      };
      start = end + 1;
    }
  }
}

async function* halvesOfSegment({ file }: OpenSegment): AsyncGenerator<Half> {
  for (let index = 0; index < file.batchRows.length; index++) {
    const { data } = await file.readBatch(index, ['phase', 'decision_id', 'sequence']);
    for (let row = 0; row < data.length; row++) {
      yield {
        phase: wordValues.read(data.children[0]!, row) === 'outcome' ? 'outcome' : 'attempt',
        decisionId: textValues.read(data.children[1]!, row)!,
        sequence: int64Values.read(data.children[2]!, row)!,
      };
    }
  }
}
