import type { Output } from './output.ts';

/** One run of the command line: where it writes, and how it will exit. */
export interface Run {
  output: Output;
  /** 0 for yes, 1 for a finding, 2 for a usage error. */
  code: 0 | 1 | 2;
}
