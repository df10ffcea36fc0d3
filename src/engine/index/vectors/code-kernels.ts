import { readFileSync } from 'node:fs';

/** The exports of `kernels/codes.ts`. */
interface CodeKernels {
  near(
    codes: number,
    first: number,
    second: number,
    blocks: number,
    pairs: number,
    tables: number,
    rows: number,
    distances: number,
    scale: number,
    base: number,
    limit: number,
  ): number;
  measure(
    codes: number,
    first: number,
    step: number,
    head: number,
    stride: number,
    query: number,
    rows: number,
    count: number,
    distances: number,
    scale: number,
  ): void;
  squares(point: number, others: number, count: number, size: number, out: number): void;
}

interface Memory {
  readonly buffer: ArrayBuffer;
}

/**
 * The part of the WebAssembly JavaScript Interface (sections 5.1 to 5.3) in use; Node has no types
 * for it.
 */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (size: { readonly initial: number }) => Memory;
  readonly Instance: new (
    module: object,
    imports: { readonly env: { readonly memory: Memory } },
  ) => { readonly exports: CodeKernels };
};

const PAGE = 2 ** 16;

/** A separate memory with kernels. It is collected with its owner. */
export interface CodeMemory {
  readonly buffer: ArrayBuffer;
  readonly kernels: CodeKernels;
  /** What was brought last for the kernels to compare with. */
  brought: object | null;
}

let compiled: object | null | undefined;

/**
 * Whether kernels are available: not before a build, nor on processors without the instructions.
 */
export function hasCodeKernels(): boolean {
  compiled ??= compile();
  return compiled !== null;
}

/**
 * @throws Error without kernels, RangeError if the memory cannot be allocated.
 */
export function codeMemory(bytes: number): CodeMemory {
  compiled ??= compile();
  if (compiled === null) throw new Error('there are no kernels for codes of vectors');
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
  return { buffer: memory.buffer, kernels: exports, brought: null };
}

function compile(): object | null {
  try {
    const bytes = readFileSync(new URL('../../../../dist/kernels/codes.wasm', import.meta.url));
    return new WebAssembly.Module(bytes);
  } catch {
    return null;
  }
}
