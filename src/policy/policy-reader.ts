import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runOnThread } from '../protocol/thread-run.ts';
import { PolicyError } from './lines/policy-error.ts';
import type { PolicyTexts } from './policy-folder.ts';
import type { PolicyQuestion, PolicyReading } from './policy-reading.ts';
import { refuseRules, type RulesCheck } from './rules-check.ts';
import { servedPolicy, type ServedPolicy } from './served-policy.ts';

const THREAD = new URL('../../dist/policy/reading-thread.js', import.meta.url);

/** Maximum duration of a reading, in ms. The policy in force stays when it ends. */
export const POLICY_READING_MILLIS = 300_000;

/** Reads the policy of a folder. */
export type ReadPolicy = (question: PolicyQuestion) => Promise<PolicyReading>;

/**
 * Reads policies on a thread, one at a time: the event loop has no part in the work that grows with their
 * lines.
 */
export class PolicyReader {
  readonly #closing = new AbortController();
  #last: Promise<unknown> = Promise.resolve();

  /** @throws Error if the thread ends early, takes too long or is stopped by `close`. */
  readonly read: ReadPolicy = (question) => {
    const reading = this.#last.then(() =>
      runOnThread<PolicyReading>({
        module: THREAD,
        data: question,
        name: 'the reading of the policy files',
        millis: POLICY_READING_MILLIS,
        signal: this.#closing.signal,
      }),
    );
    this.#last = reading.catch(() => undefined);
    return reading;
  };

  /** Stops the reading in progress. */
  close(): void {
    this.#closing.abort();
  }
}

/** Larger folders leave more garbage than a start should: it stays in the heap of the process. */
const SMALL_BYTES = 2 ** 18;

/**
 * Reads the policy that a start waits for. A thread would load all modules again, so it reads large folders
 * alone.
 */
export function firstReading(reader: PolicyReader): ReadPolicy {
  return async (question) => {
    if (!(await isSmall(question.folder))) return reader.read(question);
    const { readPolicy } = await import('./policy-reading.ts');
    return readPolicy(question);
  };
}

async function isSmall(folder: string): Promise<boolean> {
  try {
    const names = await readdir(folder);
    const files = await Promise.all(names.map((name) => stat(join(folder, name))));
    return files.reduce((sum, { size }) => sum + size, 0) <= SMALL_BYTES;
  } catch {
    // What cannot be read is named by the reading itself.
    return true;
  }
}

/** Keeps the texts of a good policy before it decides anything. */
export type KeepTexts = (texts: PolicyTexts, digest: string) => Promise<void>;

/** How a service reads policies. */
export interface ReadOptions {
  readonly read: ReadPolicy;
  readonly keep?: KeepTexts | undefined;
  readonly check?: RulesCheck | undefined;
}

/** The first policy of a folder. @throws PolicyError with everything that keeps it from being in force */
export async function firstPolicyOf(
  folder: string,
  { read, keep, check = () => [] }: ReadOptions,
): Promise<ServedPolicy> {
  const reading = await read({ folder, known: [], current: undefined });
  if (reading.kind !== 'read') throw readingError(reading);
  const policy = await servedPolicy(reading.policy);
  refuseRules(policy.snapshot, check);
  await keep?.(policy.texts, policy.snapshot.digest);
  return policy;
}

/** The error of a reading without a policy. */
export function readingError(reading: Exclude<PolicyReading, { kind: 'read' }>): PolicyError {
  if (reading.kind === 'refused') return new PolicyError(reading.findings, reading.passing);
  return new PolicyError([`the policy ${reading.digest} was not handed over`], true);
}
