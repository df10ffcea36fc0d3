import { DataType, Vector, type Dictionary, type RecordBatch } from 'apache-arrow';
import { batchOfData, retyped } from './data.ts';
import { concatData } from './concat.ts';
import { ArrowError } from './arrow-error.ts';
import { GrowingDictionary, remapIndices } from './growing-dictionary.ts';
import { fieldIndex } from './select.ts';

/** Several dictionaries made one. */
interface UnifiedDictionary {
  readonly dictionary: Vector;
  /** For each dictionary, the indices of its values in the new one. */
  readonly maps: readonly Int32Array[];
}

/**
 * One dictionary with the values of several of one type, equal ones once, in
 * the order in which they first come. Throws `limit` if indices of the given
 * dictionary type cannot tell them apart.
 */
export function unifyDictionaries(
  dictionaries: readonly Vector[],
  type: Dictionary,
): UnifiedDictionary {
  const growing = new GrowingDictionary(type);
  const maps = dictionaries.map((dictionary) => growing.add(dictionary));
  const chunks = growing.chunks();
  if (chunks.length === 0)
    throw new ArrowError('mismatch', 'There are no dictionaries to put together.');
  return { dictionary: new Vector([concatData(chunks)]), maps };
}

/**
 * The batch with the indices of one dictionary column led into another
 * dictionary by a map from `unifyDictionaries`. Throws `mismatch` if the batch
 * has no such column.
 */
export function remap(
  batch: RecordBatch,
  column: string,
  map: Int32Array,
  dictionary: Vector,
): RecordBatch {
  const index = fieldIndex(batch.schema, column);
  const data = batch.data.children[index]!;
  if (!DataType.isDictionary(data.type)) {
    throw new ArrowError('mismatch', `Column "${column}" has no dictionary.`);
  }
  const moved = remapIndices(data, map);
  const children = [...batch.data.children];
  children[index] = retyped(moved, moved.type, moved.children, dictionary);
  return batchOfData(batch.schema, children, batch.numRows);
}
