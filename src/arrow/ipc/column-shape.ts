import { DataType, type Field } from 'apache-arrow';
import { type Layout, layoutOf } from '../layout.ts';
import type { BatchHeader } from './message.ts';
import { childrenOf } from '../nested-type.ts';

/** Numbers of nodes, buffers and data-buffer counts of a column in a batch. */
interface ColumnShape {
  readonly nodes: number;
  /** Buffers, save the data buffers of views. */
  readonly buffers: number;
  readonly views: number;
}

const ownBuffers: Readonly<Record<Layout, number>> = {
  null: 0,
  bool: 2,
  fixed: 2,
  bytes: 3,
  'large-bytes': 3,
  view: 2,
  list: 2,
  'large-list': 2,
  'fixed-list': 1,
  struct: 1,
  'sparse-union': 1,
  'dense-union': 2,
  dictionary: 2,
};

/** The shape of a column of a type, its children included. */
function shapeOf(type: DataType, unionBitmaps: boolean): ColumnShape {
  const layout = layoutOf(type);
  const bitmap = unionBitmaps && DataType.isUnion(type) ? 1 : 0;
  return childrenOf(type)
    .map((child) => shapeOf(child.type, unionBitmaps))
    .reduce(addShapes, {
      nodes: 1,
      buffers: ownBuffers[layout] + bitmap,
      views: layout === 'view' ? 1 : 0,
    });
}

function addShapes(a: ColumnShape, b: ColumnShape): ColumnShape {
  return { nodes: a.nodes + b.nodes, buffers: a.buffers + b.buffers, views: a.views + b.views };
}

/** Indices of the parts of a top-level column in the lists of a batch. */
export interface ColumnPlace {
  readonly node: number;
  readonly buffer: number;
  readonly variadic: number;
  /** How many buffers it takes, those of views included. */
  readonly buffers: number;
}

/** Cached places of schemas whose columns have the same places in every batch. */
const cache = new WeakMap<readonly Field[], readonly ColumnPlace[]>();

/** The places of all top-level columns in a batch. The list of fields must not change afterwards. */
export function columnPlaces(
  fields: readonly Field[],
  header: BatchHeader,
): readonly ColumnPlace[] {
  if (header.variadic.length > 0 || header.unionBitmaps) return placesIn(fields, header);
  const places = cache.get(fields) ?? placesIn(fields, header);
  cache.set(fields, places);
  return places;
}

function placesIn(fields: readonly Field[], header: BatchHeader): ColumnPlace[] {
  let [node, buffer, variadic] = [0, 0, 0];
  return fields.map(({ type }) => {
    const shape = shapeOf(type, header.unionBitmaps);
    const counts = header.variadic.subarray(variadic, variadic + shape.views);
    const buffers = shape.buffers + counts.reduce((sum, count) => sum + Math.max(count, 0), 0);
    const place = { node, buffer, variadic, buffers };
    node += shape.nodes;
    buffer += buffers;
    variadic += shape.views;
    return place;
  });
}
