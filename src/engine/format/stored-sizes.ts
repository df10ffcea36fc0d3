import { layoutOf, type Layout } from '../../arrow/layout.ts';
import { bodyAlignment } from '../../arrow/ipc/body-writer.ts';
import { childrenOf } from '../../arrow/nested-type.ts';
import type { DataType } from 'apache-arrow';
import type { ColumnPlan } from './column-plan.ts';
import type { OpenFiles } from './memory/open-files.ts';

/** Size of a fragment's batch when its columns are written as they are stored. */
export interface BatchSize {
  readonly rows: number;
  /** Bytes of the buffers. */
  readonly bytes: number;
  /** Bytes of the message body, with padding between buffers. */
  readonly bodyBytes: number;
}

/**
 * Layouts whose buffers keep their length when they are written again; views and dictionaries are
 * rebuilt.
 */
const retained: ReadonlySet<Layout> = new Set<Layout>([
  'bool',
  'fixed',
  'bytes',
  'large-bytes',
  'list',
  'large-list',
  'fixed-list',
  'struct',
]);

/**
 * Sizes of a fragment's batches with some columns, from the footers of its files; null if the
 * footers do not tell.
 */
export async function storedSizes(
  files: OpenFiles,
  plan: ColumnPlan,
): Promise<readonly BatchSize[] | null> {
  const { schema, sources } = plan;
  if (sources.includes(null) || !schema.fields.every(({ type }) => isKept(type))) return null;
  const sizes: { rows: number; bytes: number; bodyBytes: number }[] = [];
  for (const [at, { stored }] of plan.files.entries()) {
    await files.use(stored, async ({ file }) => {
      for (const [index, rows] of file.batchRows.entries()) {
        const size = (sizes[index] ??= { rows, bytes: 0, bodyBytes: 0 });
        for (const source of sources) {
          if (source?.file !== at) continue;
          for (const bytes of file.bufferBytes(index, source.place)) add(size, bytes);
        }
      }
    });
  }
  return sizes;
}

function add(size: { bytes: number; bodyBytes: number }, bytes: number): void {
  size.bytes += bytes;
  size.bodyBytes += Math.ceil(bytes / bodyAlignment) * bodyAlignment;
}

function isKept(type: DataType): boolean {
  return retained.has(layoutOf(type)) && childrenOf(type).every((child) => isKept(child.type));
}
