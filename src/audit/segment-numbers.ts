import { ArrowError } from '../arrow/errors.ts';
import { int64 } from '../arrow/value-column.ts';
import { isAbsent } from './log-part.ts';
import { RecordFault } from './record-decoding.ts';
import { openSegment } from './segment-file.ts';

/** The numbers that the records of a segment give themselves, in the order in which they stand. */
export async function numbersOfSegment(path: string): Promise<readonly (bigint | null)[]> {
  const segment = await openSegment(path);
  const { file } = segment;
  try {
    const numbers: (bigint | null)[] = [];
    for (const [index, rows] of file.batchRows.entries()) {
      const column = (await file.readBatch(index, ['sequence'])).data.children[0]!;
      for (let row = 0; row < rows; row++) numbers.push(int64.read(column, row));
    }
    return numbers;
  } finally {
    await segment.close();
  }
}

/** Whether an error says that a segment is damaged, or not there. */
export function isDamage(error: unknown): boolean {
  if (error instanceof ArrowError || error instanceof RecordFault) return true;
  return error instanceof RangeError || error instanceof TypeError || isAbsent(error);
}
