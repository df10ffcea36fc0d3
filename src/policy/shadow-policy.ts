import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PolicyFollower } from './policy-follower.ts';
import type { ReadOptions } from './policy-reader.ts';
import type { ServedPolicy } from './served-policy.ts';
import type { PolicySnapshot } from './decide/snapshot.ts';
import { watchStill } from './still-folder.ts';
import { refusalOf } from './watch.ts';

/** The folder, inside of the policy's, of a policy that is tried out. */
export const SHADOW_FOLDER = 'shadow';

/** Options of the shadow policy. */
export interface ShadowSource {
  /** The last good one; undefined where there is none. */
  current(): PolicySnapshot | undefined;
  /** Faults of its files in their current state. */
  refused(): string | undefined;
}

/** A shadow policy that follows its folder. */
export interface ShadowWatch extends ShadowSource {
  close(): void;
}

interface ShadowOptions extends ReadOptions {
  readonly onChange: (snapshot: PolicySnapshot | undefined) => void;
  readonly onRefused: (findings: readonly string[]) => void;
}

/**
 * Follows `shadow/` in a policy folder. It may come and go at any time. One that is
 * refused changes nothing: the last good one stays.
 * @param folder The policy's.
 */
export async function watchShadow(folder: string, options: ShadowOptions): Promise<ShadowWatch> {
  const follower = new Follower(join(folder, SHADOW_FOLDER), options);
  await follower.look(0);
  const watch = watchStill(follower.folder, (stillMillis) => follower.look(stillMillis));
  return {
    current: () => follower.current?.snapshot,
    refused: () => (follower.refused.length === 0 ? undefined : follower.refused.join('\n')),
    close: () => {
      follower.closed = true;
      watch.close();
    },
  };
}

class Follower {
  readonly folder: string;
  readonly #options: ShadowOptions;
  readonly #follower: PolicyFollower;
  current: ServedPolicy | undefined;
  refused: readonly string[] = [];
  closed = false;

  constructor(folder: string, options: ShadowOptions) {
    this.folder = folder;
    this.#options = options;
    this.#follower = new PolicyFollower(folder, options);
  }

  /** Answers as `watchStill` wants to know it. */
  async look(stillMillis: number): Promise<boolean | number> {
    try {
      const found = await this.#load(stillMillis);
      if (typeof found === 'number') return found;
      if (!this.closed) this.#accept(found);
      return true;
    } catch (error) {
      const { findings, passing } = refusalOf(error);
      if (!this.closed) this.#refuse(findings.map((finding) => `${SHADOW_FOLDER}/${finding}`));
      return !passing;
    }
  }

  async #load(stillMillis: number): Promise<ServedPolicy | number | undefined> {
    if (!(await exists(this.folder))) return undefined;
    if (this.current === undefined) return this.#follower.first();
    return this.#follower.next(this.current, stillMillis);
  }

  #accept(found: ServedPolicy | undefined): void {
    this.refused = [];
    if (found === this.current) return;
    this.current = found;
    this.#options.onChange(found?.snapshot);
  }

  #refuse(findings: readonly string[]): void {
    const isSame = findings.join('\n') === this.refused.join('\n');
    this.refused = findings;
    if (!isSame) this.#options.onRefused(findings);
  }
}

async function exists(folder: string): Promise<boolean> {
  try {
    await stat(folder);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
