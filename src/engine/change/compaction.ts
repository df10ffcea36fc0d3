import type { RecordBatch } from 'apache-arrow';
import { needOf, ROW_ID } from '../request/computed-columns.ts';
import { Pace } from '../base/pace.ts';
import { Scanner, type ScanFile } from '../query/scan/scan.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { newFragment } from '../format/change.ts';
import { ingest } from '../format/ingest.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../format/snapshot.ts';
import type { Derive } from './derived-commit.ts';
import { isFull, isSmall } from './small-runs.ts';
import { keptBatch, keptFragment, keptSchema } from './kept-rows.ts';
import type { Wrote } from './row-removal.ts';
import { childData } from '../../arrow/data.ts';

/** Result of a compaction. */
export interface Compacted {
  /** Number of replaced fragments, and of their replacements. */
  readonly merged: number;
  readonly made: number;
}

/**
 * Merges adjacent small fragments without their deleted rows. Rows, order and ids do not change.
 */
export function compactRows(reader: FragmentReader): Derive<Compacted> {
  const done = new Map<string, readonly Fragment[]>();
  return async (base, wrote) => {
    const result = { merged: 0, made: 0 };
    const fragments: Fragment[] = [];
    for (const run of runsOf(base.fragments)) {
      if (!isWorthIt(run)) {
        fragments.push(...run);
        continue;
      }
      const key = keyOf(run, base);
      const made = done.get(key) ?? (await mergeRun(reader, base, run, wrote));
      done.set(key, made);
      fragments.push(...made);
      result.merged += run.length;
      result.made += made.length;
    }
    return { fragments, nextRowId: base.nextRowId, result };
  };
}

/** Whether a compaction of a version would change anything. */
export function needsCompaction(fragments: readonly Fragment[]): boolean {
  return runsOf(fragments).some(isWorthIt);
}

/** Groups of adjacent small fragments, each up to full size; other fragments alone. */
function runsOf(fragments: readonly Fragment[]): readonly (readonly Fragment[])[] {
  const runs: Fragment[][] = [];
  let open: Fragment[] | undefined;
  for (const fragment of fragments) {
    if (!isSmall(fragment)) {
      runs.push([fragment]);
      open = undefined;
      continue;
    }
    if (open === undefined || isFull(open)) runs.push((open = []));
    open.push(fragment);
  }
  return runs;
}

/** A single small fragment is rewritten only to drop deleted rows or separate column files. */
function isWorthIt(run: readonly Fragment[]): boolean {
  const [first] = run;
  if (first === undefined || !isSmall(first)) return false;
  return run.length > 1 || first.deletions !== null || first.files.length > 1;
}

/** Identity of a merged fragment's input: columns, files and deleted rows. */
function keyOf(run: readonly Fragment[], { fieldIds }: Snapshot): string {
  const parts = run.map((fragment) => `${fragmentKey(fragment)} ${fragment.deletions}`);
  return [fieldIds.join(), ...parts].join('\n');
}

/**
 * Writes the rows of adjacent fragments into as few as possible. Rows keep order and ids.
 * @param checkRunning Called before each batch; its errors stop the work and remove its files.
 */
export async function mergeRun(
  reader: FragmentReader,
  base: Snapshot,
  run: readonly Fragment[],
  wrote: Wrote,
  checkRunning: () => void = () => undefined,
): Promise<readonly Fragment[]> {
  const keepsRowIds = !followEachOther(run);
  const schema = keepsRowIds ? keptSchema(base.schema) : base.schema;
  const rows = checked(rowsOf(reader, base, run, keepsRowIds), checkRunning);
  const files = await ingest(base, schema, rows);
  wrote(files.map(({ file }) => file));
  if (keepsRowIds) return files.map((file) => keptFragment(file, base.fieldIds));
  let nextRowId = run[0]?.firstRowId ?? 0n;
  return files.map((file) => {
    const fragment = newFragment(file, base.fieldIds, nextRowId);
    nextRowId += BigInt(file.rows);
    return fragment;
  });
}

/** Whether row ids are consecutive over all fragments, so that they need not be stored. */
function followEachOther(run: readonly Fragment[]): boolean {
  return run.every(({ storedRowIds, deletions, firstRowId }, index) => {
    const before = run[index - 1];
    const next = before && before.firstRowId + BigInt(before.physicalRows);
    return !storedRowIds && deletions === null && (next === undefined || next === firstRowId);
  });
}

async function* rowsOf(
  reader: FragmentReader,
  base: Snapshot,
  run: readonly Fragment[],
  keepsRowIds: boolean,
): AsyncGenerator<RecordBatch> {
  const names = base.schema.fields.map(({ name }) => name);
  const need = needOf(base.schema, keepsRowIds ? [...names, ROW_ID.name] : names);
  const files: readonly ScanFile[] = run.map((fragment) => ({ fragment, offset: 0 }));
  const pace = new Pace();
  for await (const { batch } of new Scanner(reader, base).scan(files, need)) {
    const columns = batch.data.children.slice(0, -1);
    yield keepsRowIds
      ? keptBatch(base.schema, columns, childData(batch.data, columns.length))
      : batch;
    await pace.turn();
  }
}

async function* checked(
  batches: AsyncIterable<RecordBatch>,
  check: () => void,
): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) {
    check();
    yield batch;
  }
}
