import type { BatchSource, FragmentBatch, IndexSource } from './fragment-reader.ts';
import type { TextSource } from '../../index/text/text-source.ts';
import type { VectorSource } from '../../index/vectors/code-store.ts';

/** Throws once the client is gone. */
type Attention = Pick<AbortSignal, 'throwIfAborted'>;

/** Number of reads before a signal is created. */
const UNATTENDED = 8;

/** A signal that is created after some reads. */
export function whenMuchIsRead(signal: () => AbortSignal): Attention {
  let reads = 0;
  return {
    throwIfAborted: () => {
      reads++;
      if (reads > UNATTENDED) signal().throwIfAborted();
    },
  };
}

/** A source that throws the signal's reason once it is aborted. */
export function attended(source: BatchSource, signal: Attention): BatchSource {
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
  signal: Attention,
): AsyncGenerator<FragmentBatch> {
  for await (const batch of batches) {
    signal.throwIfAborted();
    yield batch;
  }
}

function whileWaited<Arguments extends readonly unknown[], Result>(
  read: (...asked: Arguments) => Promise<Result>,
  signal: Attention,
): (...asked: Arguments) => Promise<Result> {
  return async (...asked) => {
    signal.throwIfAborted();
    return read(...asked);
  };
}

function attendedIndices(indices: IndexSource, signal: Attention): IndexSource {
  return {
    candidates: whileWaited((...asked) => indices.candidates(...asked), signal),
    rows: whileWaited((...asked) => indices.rows(...asked), signal),
  };
}

function attendedVectors(vectors: VectorSource, signal: Attention): VectorSource {
  return {
    codes: whileWaited((...asked) => vectors.codes(...asked), signal),
    deletions: (...asked) => vectors.deletions(...asked),
    candidates: (...asked) => vectors.candidates(...asked),
  };
}

/** Text searches continue long after their request. */
function attendedTexts(texts: TextSource, signal: Attention): TextSource {
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
