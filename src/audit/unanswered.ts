import { textValues, wordValues } from '../arrow/value-column.ts';
import { linePieces } from './chain/log-files.ts';
import { partsOfInstance, readPart, type LogPart } from './segments/log-part.ts';
import { decodeRecord } from './record/decoding.ts';
import { recordAt } from './record/columns.ts';
import type { LoggedRecord, Phase } from './record/record.ts';
import type { OpenSegment } from './segments/segment-file.ts';

/** Phase and decision of a record; the record itself is read on demand. */
interface Half {
  readonly phase: Phase;
  readonly decisionId: string;
  load(): Promise<LoggedRecord>;
}

/** Attempts of an instance without an outcome in the same instance. */
export async function unansweredAttempts(
  folder: string,
  instance: string,
): Promise<readonly LoggedRecord[]> {
  const parts = await partsOfInstance(folder, instance);
  const open = new Set<string>();
  for (const part of parts) {
    for await (const { phase, decisionId } of halvesOf(part)) {
      if (phase === 'attempt') open.add(decisionId);
      else open.delete(decisionId);
    }
  }
  return open.size === 0 ? [] : loaded(parts, open);
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

async function loaded(
  parts: readonly LogPart[],
  open: ReadonlySet<string>,
): Promise<readonly LoggedRecord[]> {
  const found: LoggedRecord[] = [];
  for (const part of parts) {
    for await (const half of halvesOf(part)) {
      if (open.has(half.decisionId)) found.push(await half.load());
    }
  }
  return found;
}

function halvesOf(part: LogPart): AsyncGenerator<Half> {
  return readPart(part, { lines: halvesOfLines, segment: halvesOfSegment });
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const OUTCOME = 'o'.charCodeAt(0);
const PHASE = Buffer.from('"phase":"');
const DECISION = Buffer.from('"decision_id":"');

/** Finds the fields by their names: earlier fields hold no text of a caller that could look like them. */
async function* halvesOfLines(path: string): AsyncGenerator<Half> {
  for await (const { bytes, torn } of linePieces(path)) {
    if (torn) return;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(NEWLINE, start);
      const phase = bytes.indexOf(PHASE, start) + PHASE.length;
      const id = bytes.indexOf(DECISION, phase) + DECISION.length;
      const line = { from: start, to: end };
      yield {
        phase: bytes[phase] === OUTCOME ? 'outcome' : 'attempt',
        decisionId: bytes.toString('latin1', id, bytes.indexOf(QUOTE, id)),
        load: async () => decodeRecord(bytes.toString('utf8', line.from, line.to)),
      };
      start = end + 1;
    }
  }
}

async function* halvesOfSegment({ file }: OpenSegment): AsyncGenerator<Half> {
  for (let index = 0; index < file.batchRows.length; index++) {
    const { data } = await file.readBatch(index, ['phase', 'decision_id']);
    for (let row = 0; row < data.length; row++) {
      yield {
        phase: wordValues.read(data.children[0]!, row) === 'outcome' ? 'outcome' : 'attempt',
        decisionId: textValues.read(data.children[1]!, row)!,
        load: async () => {
          const rows = { start: row, count: 1 };
          return recordAt(await file.readBatch(index, undefined, { rows }), 0);
        },
      };
    }
  }
}
