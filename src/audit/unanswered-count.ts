import { linePieces } from './line-pieces.ts';
import { isAbsent, partsOf, type LogPart } from './log-part.ts';
import { openSegment } from './segment-file.ts';
import { isWord, wordsWhere } from './word-codes.ts';

const ATTEMPT = Buffer.from(',"phase":"attempt","time":"');
const OUTCOME = Buffer.from(',"phase":"outcome","time":"');

/** How many attempts of a log have no outcome: counts are compared, records are not read. */
export async function countUnanswered(folder: string): Promise<number> {
  let open = 0;
  for (const part of await partsOf(folder)) open += await balanceOf(part);
  // Outcomes are kept longer than their attempts where these are at the end of a segment.
  return Math.max(0, open);
}

async function balanceOf({ file, seal }: LogPart): Promise<number> {
  try {
    return seal === undefined ? await balanceOfLines(file.path) : await balanceOfSegment(file.path);
  } catch (error) {
    // It was sealed, or removed since it was kept long enough.
    if (isAbsent(error)) return 0;
    throw error;
  }
}

async function balanceOfLines(path: string): Promise<number> {
  let open = 0;
  for await (const { bytes, torn } of linePieces(path)) {
    if (!torn) open += occurrences(bytes, ATTEMPT) - occurrences(bytes, OUTCOME);
  }
  return open;
}

function occurrences(bytes: Buffer, text: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length))
    count += 1;
  return count;
}

async function balanceOfSegment(path: string): Promise<number> {
  const segment = await openSegment(path);
  const { file, scratch } = segment;
  const isAttempt = wordsWhere(isWord('attempt'));
  try {
    let open = 0;
    for (let index = 0; index < file.batchRows.length; index++) {
      const { data } = await file.readBatch(index, ['phase'], { access: scratch });
      const attempts = isAttempt(data.children[0]!)?.reduce((sum, mark) => sum + mark, 0) ?? 0;
      open += 2 * attempts - data.length;
      scratch.reset();
    }
    return open;
  } finally {
    await segment.close();
  }
}
