import type { Row } from '../harness/table.ts';
import type { Service, ServiceOptions } from '../../test/support/service.ts';

/** One of the two builds that are compared. */
export interface Build {
  readonly name: 'old' | 'new';
  /** Starts its service with a fresh data folder. The area stops it. */
  start(options?: ServiceOptions): Promise<Service>;
}

/** One measurement of one build. Both builds have the same ones, in the same order. */
export interface Measurement {
  readonly work: string;
  readonly unit: Row['unit'];
  /** How often it runs before it is measured; once when absent. */
  readonly warmups?: number;
  /** Maximum number of rounds per sitting, for work that takes long. */
  readonly rounds?: number;
  /** Runs once before the warm-up. */
  prepare?(): Promise<void>;
  /** A value in `unit`. @throws Error for a wrong answer. */
  measure(): Promise<number>;
}

/** The measurements of one build, with its service running. */
export interface OpenArea {
  readonly measurements: readonly Measurement[];
  close(): Promise<void>;
}

/** Starts the service of a build and fills it. */
export type Area = (build: Build, quick: boolean) => Promise<OpenArea>;
