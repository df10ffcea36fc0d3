import type { BatchSource, FragmentBatch, IndexSource } from '../table/fragment-reader.ts';
import type { TextSource } from '../text/text-source.ts';
import type { VectorSource } from '../vector-index/vector-source.ts';

/** A source that stops, with the signal's reason, once nobody waits for what is read. */
export function attended(source: BatchSource, signal: AbortSignal): BatchSource {
  const { indices, vectors, texts } = source;
  return {
    batches: (...asked) => untilAborted(source.batches(...asked), signal),
    batch: whileWaited((...asked) => source.batch(...asked), signal),
    indices: indices && attendedIndices(indices, signal),
    vectors: vectors && attendedVectors(vectors, signal),
    texts: texts && attendedTexts(texts, signal),
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

function whileWaited<Asked extends readonly unknown[], Result>(
  read: (...asked: Asked) => Promise<Result>,
  signal: AbortSignal,
): (...asked: Asked) => Promise<Result> {
  return async (...asked) => {
    signal.throwIfAborted();
    return read(...asked);
  };
}

function attendedIndices(indices: IndexSource, signal: AbortSignal): IndexSource {
  return {
    candidates: whileWaited((...asked) => indices.candidates(...asked), signal),
    rows: whileWaited((...asked) => indices.rows(...asked), signal),
  };
}

function attendedVectors(vectors: VectorSource, signal: AbortSignal): VectorSource {
  return {
    codes: whileWaited((...asked) => vectors.codes(...asked), signal),
    deletions: (...asked) => vectors.deletions(...asked),
    candidates: (...asked) => vectors.candidates(...asked),
  };
}

/** Words are looked for long after they were asked for. */
function attendedTexts(texts: TextSource, signal: AbortSignal): TextSource {
  return {
    lengths: whileWaited((...asked) => texts.lengths(...asked), signal),
    postings: whileWaited((...asked) => texts.postings(...asked), signal),
    visitTokens: (snapshot, file, from, { visit, turn }) => {
      const whileThere = whileWaited(turn, signal);
      return texts.visitTokens(snapshot, file, from, { visit, turn: whileThere });
    },
    deletions: (...asked) => texts.deletions(...asked),
    rows: (...asked) => texts.rows(...asked),
  };
}
