import type { OpenDataFile } from '../../format/memory/open-files.ts';
import { codeCentres, type CodeDirectory } from './code-file.ts';
import { codeMemory } from './code-kernels.ts';
import { centreFloats, codeLayout, SCRATCH } from './code-layout.ts';
import type { LoadedCodes, LoadedPartition, LoadedPortion } from './code-search.ts';

/**
 * Reserves memory for all portions of a file, of which none is read, and reads the centres of its
 * partitions. The memory takes room only as far as it is filled.
 * @returns The codes, and the bytes of memory that are filled or soon will be.
 */
export async function reserveCodes(
  opened: OpenDataFile,
  directory: CodeDirectory,
): Promise<{ readonly codes: LoadedCodes; readonly bytes: number }> {
  const { shape, partitions: parted } = directory;
  const centreBytes = parted === undefined ? 0 : 4 * centreFloats(shape) * (parted.count + 4);
  const first = aligned(SCRATCH.bytes + centreBytes);
  const { portions, end } = placesOf(directory, first);
  const memory = codeMemory(end);
  const codes = { directory, memory, loaded: new Uint8Array(portions.length) };
  if (parted === undefined) {
    const { step } = directory;
    const each = portions.map((portion) => ({ ...FROM_MEAN, step, portions: [portion] }));
    return { codes: { ...codes, centres: null, partitions: each }, bytes: first };
  }
  const bytes = await codeCentres(opened, directory);
  new Uint8Array(memory.buffer).set(bytes, SCRATCH.bytes);
  const centres = new Float32Array(memory.buffer, SCRATCH.bytes, bytes.length / 4);
  const partitions = partitionsOf(directory, centres, portions);
  return { codes: { ...codes, centres: SCRATCH.bytes, partitions }, bytes: first };
}

/** Files without partitions are encoded relative to the mean of the vectors. */
const FROM_MEAN = { centre: null, squared: 0, inner: 0, radius: 0 } as const;

/** Rounds up to a multiple of sixteen: portions are aligned. */
function aligned(bytes: number): number {
  return Math.ceil(bytes / 16) * 16;
}

function placesOf({ shape, portions, partitions }: CodeDirectory, start: number) {
  const placed: LoadedPortion[] = [];
  let [place, first] = [start, 0];
  for (const [number, { rows }] of portions.entries()) {
    const layout = codeLayout(shape, rows, partitions !== undefined);
    placed.push({ number, place, first, layout });
    place += aligned(layout.bytes);
    first += rows;
  }
  return { portions: placed, end: place };
}

function partitionsOf(
  { shape, portions, partitions }: CodeDirectory,
  centres: Float32Array,
  placed: readonly LoadedPortion[],
): readonly LoadedPartition[] {
  const floats = centreFloats(shape);
  const facts = Array.from({ length: partitions?.count ?? 0 }, (_, at) => {
    const centre = centres.subarray(at * floats, at * floats + shape.size);
    const squared = centre.reduce((sum, value) => sum + value * value, 0);
    return {
      centre,
      squared,
      inner: Infinity,
      radius: 0,
      step: 0,
      portions: [] as LoadedPortion[],
    };
  });
  for (const [at, { partition = 0, inner = 0, radius = 0, step = 0 }] of portions.entries()) {
    const own = facts[partition];
    const portion = placed[at];
    if (own === undefined || portion === undefined)
      throw new Error('its directory names no partition');
    own.portions.push(portion);
    own.inner = Math.min(own.inner, inner);
    own.radius = Math.max(own.radius, radius);
    own.step = Math.max(own.step, step);
  }
  return facts;
}
