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
  return new AttendedSource(source, signal);
}

/** Its parts are made when they are used: most requests need one of them. */
class AttendedSource implements BatchSource {
  readonly #source: BatchSource;
  readonly #signal: Attention;
  #indices: IndexSource | undefined;
  #vectors: VectorSource | undefined;
  #texts: TextSource | undefined;

  constructor(source: BatchSource, signal: Attention) {
    this.#source = source;
    this.#signal = signal;
  }

  get indices(): IndexSource | undefined {
    const { indices } = this.#source;
    return (this.#indices ??= indices && attendedIndices(indices, this.#signal));
  }

  get vectors(): VectorSource | undefined {
    const { vectors } = this.#source;
    return (this.#vectors ??= vectors && attendedVectors(vectors, this.#signal));
  }

  get texts(): TextSource | undefined {
    const { texts } = this.#source;
    return (this.#texts ??= texts && attendedTexts(texts, this.#signal));
  }

  get picked(): BatchSource['picked'] {
    const { picked } = this.#source;
    return picked && whileWaited((...args) => picked.apply(this.#source, args), this.#signal);
  }

  batches(...args: Parameters<BatchSource['batches']>): AsyncGenerator<FragmentBatch> {
    return untilAborted(this.#source.batches(...args), this.#signal);
  }

  async batch(...args: Parameters<BatchSource['batch']>): Promise<FragmentBatch> {
    this.#signal.throwIfAborted();
    return this.#source.batch(...args);
  }

  giveBack(memory: ArrayBufferLike): void {
    this.#source.giveBack?.(memory);
  }
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
    candidates: (...args) => {
      signal.throwIfAborted();
      return indices.candidates(...args);
    },
    rows: (...args) => {
      signal.throwIfAborted();
      return indices.rows(...args);
    },
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
