import { DataType, type Field } from 'apache-arrow';
import { holdsBytes } from '../../../arrow/distance/hamming.ts';
import { typeName } from '../../../arrow/types.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { describe, fieldError, integerField, textField, type Fields } from '../../base/fields.ts';
import { searchMetrics, type SearchMetric } from '../../request/search-metric.ts';
import type { IndexDefinition, IndexType } from '../../format/snapshot.ts';
import { MOST_NUMBERS, partitionsFor, type CodeShape } from './code-layout.ts';

/** A vector index, whose definition includes its distance. */
export type VectorIndex = IndexDefinition & { readonly distance: SearchMetric };

/** Whether an index is a vector index. */
export function isVectorIndex(index: IndexDefinition): index is VectorIndex {
  return index.distance !== undefined;
}

/** The index that is built for any requested kind of vector index. */
interface VectorSpec {
  readonly indexType: IndexType;
  readonly distance: SearchMetric;
  /** The requested kind. */
  readonly asked: string;
}

/** Kinds that a request may name, without underscores. */
const kinds: ReadonlySet<string> = new Set([
  'IVFFLAT',
  'IVFSQ',
  'IVFPQ',
  'IVFRQ',
  'IVFHNSWFLAT',
  'IVFHNSWSQ',
  'IVFHNSWPQ',
  'HNSW',
  'VECTOR',
]);

/** Whether a request names a vector index, in any spelling. */
export function namesVectorIndex(text: string): boolean {
  return kinds.has(text.toUpperCase().replaceAll('_', ''));
}

/** Settings of the requested kinds. They are validated and have no effect. */
const settings = [
  'num_partitions',
  'num_sub_vectors',
  'num_bits',
  'sample_rate',
  'max_iterations',
  'target_partition_size',
  'm',
  'ef_construction',
] as const;

/**
 * Validates a request for a vector index.
 * @throws CatalogError InvalidInput for a column, distance or setting that does not fit.
 */
export function vectorSpec(body: Fields, column: Field): VectorSpec {
  const requested = textField(body, 'index_type') ?? '';
  checkColumn(requested, column);
  for (const name of settings) {
    const value = integerField(body, name);
    if (value !== null && value < 1n) throw fieldError(name, 'at least 1', String(value));
  }
  const distance = distanceField(body) ?? (holdsBytes(column.type) ? 'hamming' : 'l2');
  if (distance === 'hamming' && !holdsBytes(column.type)) {
    throw new CatalogError(
      'InvalidInput',
      `the distance hamming is one of vectors of uint8, the type of ${JSON.stringify(column.name)} is ${typeName(column.type)}`,
    );
  }
  checkLength(requested, distance, column);
  return { indexType: distance === 'hamming' ? 'IVF_FLAT' : 'IVF_RQ', distance, asked: requested };
}

function checkColumn(requested: string, { name, type }: Field): void {
  const item: DataType | undefined = DataType.isFixedSizeList(type) ? type.valueType : undefined;
  const isFit =
    item !== undefined && (DataType.isFloat(item) || (DataType.isInt(item) && item.bitWidth === 8));
  if (isFit) return;
  throw new CatalogError(
    'InvalidInput',
    `an index of type ${requested} is made of vectors, fixed-size lists of floats, int8 or uint8, and the column ${JSON.stringify(name)} is of type ${typeName(type)}`,
  );
}

function checkLength(requested: string, distance: SearchMetric, { name, type }: Field): void {
  const { size, whole } = shapeOf(type, distance);
  if (size >= 1 && size <= MOST_NUMBERS) return;
  const unit = whole ? 'bits' : 'numbers';
  throw new CatalogError(
    'InvalidInput',
    `an index of type ${requested} is made of vectors of 1 to ${MOST_NUMBERS} ${unit}, those of ${JSON.stringify(name)} have ${size}`,
  );
}

/** The shape of the codes of a column's vectors. */
export function shapeOf(column: DataType, distance: SearchMetric): CodeShape {
  const length = DataType.isFixedSizeList(column) ? column.listSize : 0;
  const whole = distance === 'hamming';
  return { size: whole ? 8 * length : length, whole };
}

/** LanceDB clients send `metric_type`, the protocol has `distance_type`. @throws CatalogError InvalidInput */
export function distanceField(body: Fields): SearchMetric | null {
  const said = ['metric_type', 'distance_type'].flatMap((name) => {
    const text = textField(body, name);
    return text === null ? [] : [{ name, metric: metricOf(name, text) }];
  });
  const [one, other] = said;
  if (other === undefined || one?.metric === other.metric) return one?.metric ?? null;
  throw fieldError('distance_type', 'the same as metric_type', JSON.stringify(other.metric));
}

function metricOf(name: string, text: string): SearchMetric {
  const found = searchMetrics.find((metric) => metric === text.toLowerCase());
  if (found !== undefined) return found;
  const expected = '"l2", "cosine", "dot" or "hamming"';
  throw fieldError(name, expected, text.length < 20 ? JSON.stringify(text) : describe(text));
}

/** Details of an index in listings. @param files Those that rows of the table lie in. */
export function vectorDetails(
  index: VectorIndex,
  column: DataType,
  files: readonly { readonly physicalRows: number }[],
): object {
  const shape = shapeOf(column, index.distance);
  const { size, whole } = shape;
  const parted = files.some(({ physicalRows }) => partitionsFor(shape, physicalRows) > 1);
  return {
    type: index.type,
    asked: index.asked,
    distance_type: index.distance,
    dimension: whole ? size / 8 : size,
    codes: whole ? 'the vectors themselves' : 'rotated, 1 bit and 8 bits a number',
    // Files of earlier programs have none, which only the files themselves tell.
    partitions: parted
      ? 'at most about the root of the rows of each file'
      : 'one for each file of rows',
  };
}
