import type { BatchSource, FragmentBatch, IndexSource } from './batch-source.ts';
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
  const { indices, vectors, texts, picked } = source;
  return {
    batches: (...args) => untilAborted(source.batches(...args), signal),
    batch: whileWaited((...args) => source.batch(...args), signal),
    picked: picked && whileWaited((...args) => picked.apply(source, args), signal),
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
  read: (...args: Arguments) => Promise<Result>,
  signal: Attention,
): (...args: Arguments) => Promise<Result> {
  return async (...args) => {
    signal.throwIfAborted();
    return read(...args);
  };
}

function attendedIndices(indices: IndexSource, signal: Attention): IndexSource {
  return {
    candidates: whileWaited((...args) => indices.candidates(...args), signal),
    rows: whileWaited((...args) => indices.rows(...args), signal),
    together:
      indices.together &&
      ((...args) => {
        signal.throwIfAborted();
        return indices.together!(...args);
      }),
  };
}

function attendedVectors(vectors: VectorSource, signal: Attention): VectorSource {
  return {
    codes: whileWaited((...args) => vectors.codes(...args), signal),
    load: whileWaited((...args) => vectors.load(...args), signal),
    deletions: (...args) => vectors.deletions(...args),
    candidates: (...args) => vectors.candidates(...args),
  };
}

/** Text searches continue long after their request. */
function attendedTexts(texts: TextSource, signal: Attention): TextSource {
  return {
    lengths: whileWaited((...args) => texts.lengths(...args), signal),
    postings: whileWaited((...args) => texts.postings(...args), signal),
    visitTokens: (snapshot, file, from, { visit, turn }) => {
      const whileThere = whileWaited(turn, signal);
      return texts.visitTokens(snapshot, file, from, { visit, turn: whileThere });
    },
    deletions: (...args) => texts.deletions(...args),
    rows: (...args) => texts.rows(...args),
  };
}
