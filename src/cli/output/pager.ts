import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';

export const PAGER_VARIABLE = 'ARROWGATE_PAGER';
/** The pager where no variable names one. */
const USUAL_PAGER = 'less';
/** Flags of less where `LESS` is not set: keep colours, and leave the text on the screen. The same as those of git. */
const LESS_FLAGS = 'FRX';
/** Characters that only a shell understands. */
const SHELL = /[|&;<>()$`\\"'*?[#~=%\n]/;

/** A program that shows a text page by page. */
export interface PagerProgram {
  readonly command: string;
  /** Whether a variable names it. */
  readonly isChosen: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The pager of `ARROWGATE_PAGER`, else of `PAGER`, else less; undefined if the variable is empty or `cat`. */
export function pagerProgram(environment: PagerProgram['environment']): PagerProgram | undefined {
  const { PAGER: common, TERM: terminal } = environment;
  const chosen = (environment[PAGER_VARIABLE] ?? common)?.trim();
  if (chosen === '' || chosen === 'cat' || terminal === 'dumb') return undefined;
  return {
    command: chosen ?? USUAL_PAGER,
    isChosen: chosen !== undefined,
    environment: { LESS: LESS_FLAGS, LV: '-c', ...environment },
  };
}

/** A pager that runs. */
export class Pager {
  readonly #input: Writable;
  readonly #closed: Promise<unknown>;

  private constructor(child: ChildProcessByStdio<Writable, null, null>) {
    this.#input = child.stdin;
    // The reader may close the pager at any time.
    child.stdin.on('error', () => undefined);
    // Ctrl-C is for the pager.
    process.on('SIGINT', ignored);
    this.#closed = once(child, 'close').finally(() => process.off('SIGINT', ignored));
  }

  /** Resolves with undefined if there is no such program. */
  static async start({ command, environment }: PagerProgram): Promise<Pager | undefined> {
    const [name = '', ...words] = SHELL.test(command)
      ? ['sh', '-c', command]
      : command.split(/\s+/);
    const child = spawn(name, words, {
      stdio: ['pipe', 'inherit', 'inherit'],
      env: environment,
    });
    try {
      await once(child, 'spawn');
      return new Pager(child);
    } catch {
      return undefined;
    }
  }

  /** Resolves when the pager took the text, with whether it still reads. */
  write(piece: Uint8Array | string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#input.write(piece, (error) => resolve(error === null || error === undefined));
    });
  }

  /** Resolves when the reader has left the pager. */
  async end(): Promise<void> {
    this.#input.end();
    await this.#closed;
  }
}

const ignored = (): void => undefined;
