import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('session.py', import.meta.url));
/** How much of the standard error of a session is kept, in characters. */
const KEPT_ERRORS = 20_000;

/** What a piece of Python did. */
interface Ran {
  readonly printed: string;
  /** The value of its last expression, as JSON. */
  readonly value?: unknown;
  readonly error?: string;
  readonly trace?: string;
}

/** A Python program that runs one piece of code after the other, as a notebook does. */
export class PythonSession {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  #errors = '';

  /**
   * @param folder Its working folder.
   * @param variables Further variables of its environment.
   */
  constructor(python: string, folder: string, variables: Readonly<Record<string, string>>) {
    this.#child = spawn(python, [SCRIPT], {
      cwd: folder,
      stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...variables },
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-KEPT_ERRORS);
    });
    const lines = createInterface(this.#child.stdio[3] as Readable);
    this.#answers = lines[Symbol.asyncIterator]();
  }

  /** The value of the last expression of a piece. @throws Error when the piece raises one. */
  async value(code: string): Promise<unknown> {
    return (await this.#succeed(code)).value;
  }

  /** The lines that a piece prints. @throws Error when the piece raises one. */
  async printed(code: string): Promise<readonly string[]> {
    return (await this.#succeed(code)).printed.split('\n').filter((line) => line !== '');
  }

  /** The error that a piece raises: its class and its text. @throws Error when it raises none. */
  async error(code: string): Promise<string> {
    const { error, value } = await this.#run(code);
    if (error === undefined) throw new Error(`was not refused: ${JSON.stringify(value)}: ${code}`);
    return error;
  }

  /** Ends the program. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.stdin?.end();
    await exited;
  }

  /** SIGKILL; what runs inside of it ends, too. */
  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async #succeed(code: string): Promise<Ran> {
    const ran = await this.#run(code);
    if (ran.error !== undefined) throw new Error(`${code}\n${ran.trace}\n${this.#errors}`);
    return ran;
  }

  async #run(code: string): Promise<Ran> {
    this.#child.stdin?.write(`${JSON.stringify({ code })}\n`);
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error(`the session ended: ${this.#errors}`);
    return JSON.parse(value) as Ran;
  }
}
