import type { BatchSource, FragmentBatch } from '../table/fragment-reader.ts';

/** A source that stops, with the signal's reason, once nobody waits for what is read. */
export function attended(source: BatchSource, signal: AbortSignal): BatchSource {
  return {
    batches: (...asked) => untilAborted(source.batches(...asked), signal),
    batch: async (...asked) => {
      signal.throwIfAborted();
      return source.batch(...asked);
    },
    indices: source.indices,
    vectors: source.vectors,
    texts: source.texts,
    giveBack: (memory) => source.giveBack?.(memory),
  };
}

async function* untilAborted(
  batches: AsyncGenerator<FragmentBatch>,
  signal: AbortSignal,
): AsyncGenerator<FragmentBatch> {
  for await (const batch of batches) {
    signal.throwIfAborted();
    yield batch;
  }
}
