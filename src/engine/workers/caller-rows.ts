import type { RecordBatch } from 'apache-arrow';
import type { OpenPart } from '../../protocol/virtual-table.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { VirtualRows } from '../query/scan/virtual-rows.ts';
import { batchOfStream, streamOf } from './formula-task.ts';
import { errorOf, faultMessage, type RowsReply, type WantedRows } from './task.ts';

/** Requests rows from the caller of a task. Rejects with the error of the read. */
export type AskCaller = (wanted: WantedRows) => Promise<RowsReply>;

/** The rows of a virtual table, read by the caller of the task. */
export function callerRows(snapshot: Snapshot, ask: AskCaller): VirtualRows {
  return VirtualRows.from(snapshot, (part) => openedPart(part, ask));
}

async function openedPart(part: number, ask: AskCaller): Promise<OpenPart> {
  const found = checked(await ask({ part, batch: null, columns: [] }));
  return {
    batchRows: 'counts' in found ? found.counts : [],
    read: async (batch, columns) => batchIn(checked(await ask({ part, batch, columns }))),
    close: async () => undefined,
  };
}

type Found = Exclude<RowsReply, { readonly fault: unknown }>;

function checked(found: RowsReply): Found {
  if ('fault' in found) throw errorOf(found.fault);
  return found;
}

async function batchIn(found: Found): Promise<RecordBatch> {
  if ('stream' in found) return batchOfStream(found.stream);
  throw new Error('row counts were sent in place of rows');
}

/** Answers a thread that works on the rows of a virtual table. Does not reject: faults are sent. */
export function rowsFor(rows: VirtualRows): (wanted: WantedRows) => Promise<RowsReply> {
  return async ({ part, batch, columns }) => {
    try {
      const opened = await rows.part(part);
      if (batch === null) return { counts: opened.batchRows };
      return { stream: streamOf(await opened.read(batch, columns)) };
    } catch (error) {
      return { fault: faultMessage(error) };
    }
  };
}
