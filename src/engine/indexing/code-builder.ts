import type { Field } from 'apache-arrow';
import { CatalogError } from '../../protocol/errors.ts';
import { Pace } from '../base/pace.ts';
import type { IndexWork } from './index-builder.ts';
import type { FragmentIndex } from '../format/snapshot.ts';
import { hasCodeKernels } from '../index/vectors/code-kernels.ts';
import { CodeWriter } from '../index/vectors/code-file.ts';
import { partitionsFor, portionRows } from '../index/vectors/code-layout.ts';
import { VectorEncoder } from '../index/vectors/vector-encoder.ts';
import { VectorSample } from '../index/vectors/vector-sample.ts';
import { VectorSums } from '../index/vectors/vector-sums.ts';
import { vectorValues, type VectorValues } from '../index/vectors/vector-values.ts';
import { PartitionBuilder, sampleFor } from './partition-builder.ts';
import { shapeOf, type VectorIndex } from '../index/vectors/vector-kind.ts';
import { childData } from '../../arrow/data.ts';
import type { MaybePromise } from '../../protocol/maybe-promise.ts';

/** A fragment with vectors to index. */
type VectorWork = IndexWork & { readonly index: VectorIndex };

/** Other requests get a turn after this many values. */
const NUMBERS_AT_ONCE = 2 ** 15;

/**
 * Writes the codes of a fragment's vectors, including deleted rows, so that the file stays valid
 * whatever rows are deleted later. The file is durable when this returns and removed if it throws.
 */
export async function indexVectors(work: VectorWork): Promise<FragmentIndex> {
  const { snapshot, fragment, index } = work;
  const { distance } = index;
  const shape = shapeOf(fieldOf(work).type, distance);
  const rows = fragment.physicalRows;
  const partitions = hasCodeKernels() ? partitionsFor(shape, rows) : 1;
  const sums = new VectorSums(shape.whole ? 0 : shape.size, distance);
  const sample = new VectorSample(shape.size, rows, partitions === 1 ? 0 : sampleFor(partitions));
  if (!shape.whole) {
    await eachRow(work, false, (vectors, row, at) => {
      sums.add(vectors, row);
      sample.add(vectors, row, at);
    });
  }
  const { middle, odd } = sums;
  const parted = partitions > 1 && odd === 0;
  const encoder = new VectorEncoder(shape, distance, middle, parted);
  const writer = await CodeWriter.create(snapshot, index.uuid, parted);
  const header = () => {
    const { error, step } = encoder;
    return { shape, distance, middle: [...middle], error, step, odd };
  };
  try {
    if (!parted) {
      await writePortions(work, encoder, writer, portionRows(shape));
      return await writer.finish(index, header());
    }
    const parts = { shape, encoder, writer, sample, rows, turn: turnOf(work) };
    const builder = await PartitionBuilder.train(parts, header());
    await eachRow(work, true, (...row) => builder.add(...row));
    const facts = await builder.finish();
    return await writer.finish(index, { ...header(), partitions: facts });
  } catch (fault) {
    await writer.abandon();
    throw fault;
  }
}

/** Gives way to other requests, and stops with the work. */
function turnOf({ onRows }: VectorWork): () => Promise<void> {
  const pace = new Pace();
  return () => {
    onRows(0);
    return pace.turn();
  };
}

async function writePortions(
  work: VectorWork,
  encoder: VectorEncoder,
  writer: CodeWriter,
  size: number,
): Promise<void> {
  const { physicalRows } = work.fragment;
  let first = 0;
  encoder.begin(Math.min(size, physicalRows));
  const next = async () => {
    await writer.portion(encoder.end(), size);
    first += size;
    encoder.begin(Math.min(size, physicalRows - first));
  };
  await eachRow(work, true, (vectors, row, at) => {
    const encode = () => encoder.encode(vectors, row, at - first);
    return at === first + size ? next().then(encode) : encode();
  });
  if (physicalRows > first) await writer.portion(encoder.end(), physicalRows - first);
}

/**
 * Iterates over the vectors of all rows of the fragment, including deleted ones.
 * @param counts Whether the rows count as progress.
 * @param each Called with a row of the vectors and its position in the fragment.
 */
async function eachRow(
  work: VectorWork,
  counts: boolean,
  each: (vectors: VectorValues, row: number, at: number) => MaybePromise<void>,
): Promise<void> {
  const { source, snapshot, fragment, onRows } = work;
  const whole = { ...fragment, deletions: null, rows: fragment.physicalRows };
  const { name, type } = fieldOf(work);
  const step = Math.max(1, Math.floor(NUMBERS_AT_ONCE / shapeOf(type, 'l2').size));
  const pace = new Pace();
  for await (const { batch, start, release } of source.batches(snapshot, whole, [name])) {
    const vectors = vectorValues(childData(batch.data));
    for (let row = 0; row < vectors.rows; row++) {
      const waits = each(vectors, row, start + row);
      if (waits !== undefined) await waits;
      if ((row + 1) % step !== 0) continue;
      onRows(counts ? step : 0);
      await pace.turn();
    }
    onRows(counts ? vectors.rows % step : 0);
    release?.();
  }
}

function fieldOf({ snapshot, index }: VectorWork): Field {
  const field = snapshot.schema.fields[snapshot.fieldIds.indexOf(index.field)];
  if (field !== undefined) return field;
  throw new CatalogError('TableColumnNotFound', `the column of the index ${index.name} is gone`);
}
