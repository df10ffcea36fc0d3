import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

/** A process of its own that runs a TypeScript file of the tests. */
export class Child {
  /** The lines that it printed so far. */
  readonly lines: string[] = [];
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly #ended: Promise<void>;
  #errors = '';
  #wake: () => void = () => undefined;

  /**
   * @param script URL of the file.
   * @param args What it gets as `process.argv.slice(2)`.
   */
  constructor(script: URL, args: readonly string[]) {
    this.#process = spawn(process.execPath, ['--import', 'tsx', script.pathname, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = createInterface({ input: this.#process.stdout });
    output.on('line', (line) => {
      this.lines.push(line);
      this.#wake();
    });
    this.#process.stderr.on('data', (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
    const exit = once(this.#process, 'exit');
    const closed = once(output, 'close');
    this.#ended = Promise.all([exit, closed]).then(() => this.#wake());
  }

  /** Resolves when it has printed so many lines. @throws Error when it ends before. */
  async printed(count: number): Promise<void> {
    while (this.lines.length < count) {
      if (this.#process.exitCode !== null) throw new Error(`the child ended: ${this.#errors}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Resolves when it has ended by itself; what it printed is whole then. */
  async end(): Promise<void> {
    await this.#ended;
    if (this.#process.exitCode !== 0) throw new Error(`the child failed: ${this.#errors}`);
  }

  /** SIGKILL; resolves when it is gone and everything that it had printed is read. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }
}

/**
 * Runs a TypeScript file of the tests to its end where no file can grow beyond
 * so many blocks of 512 bytes, which stands for a full disk: the write that
 * crosses the limit is cut short. Gives the lines that it printed.
 */
export async function outputOnSmallDisk(
  script: URL,
  blocks: number,
  args: readonly string[],
): Promise<string[]> {
  const command = `ulimit -f ${blocks}; exec "$0" --import tsx "$@"`;
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', command, process.execPath, script.pathname, ...args],
    { env: { ...process.env, TSX_DISABLE_CACHE: '1' } },
  );
  return stdout.trim().split('\n');
}
