import { parentPort } from 'node:worker_threads';
import { giveWay } from '../../store/process-mark.ts';
import type { ChainHead } from '../chain/hash-chain.ts';
import { UnfitSegment, writeSegment, type WrittenSegment } from './segment-file.ts';

/** A task of the thread. */
export interface SealingTask {
  readonly lines: string;
  readonly path: string;
  readonly before: ChainHead;
  /** Number of further files that wait. */
  readonly waiting: number;
}

/** Its result: a segment, or the reason why it cannot be written. */
export type SealingResult =
  | { readonly kind: 'written'; readonly segment: WrittenSegment }
  | { readonly kind: 'unfit'; readonly why: string };

async function result({ lines, path, before }: SealingTask): Promise<SealingResult> {
  try {
    return { kind: 'written', segment: await writeSegment(lines, path, before) };
  } catch (error) {
    if (error instanceof UnfitSegment) return { kind: 'unfit', why: error.message };
    throw error;
  }
}

async function answer(task: SealingTask): Promise<void> {
  giveWay(task.waiting);
  parentPort?.postMessage(await result(task), []);
}

// A failure ends the thread, and is the error that its owner gets.
parentPort?.on('message', (task: SealingTask) => void answer(task));
