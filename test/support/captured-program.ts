import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface CapturedProgram<Result> {
  readonly cwd: string;
  /** Beside the variables of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** What is done while it serves. */
  readonly work: (url: string) => Promise<Result>;
}

/** Runs a script that serves, until the work is done, and lets it end by itself. */
export async function capture<Result>(
  args: readonly string[],
  { cwd, env, work }: CapturedProgram<Result>,
): Promise<Result> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { port } = new URL(String(JSON.parse(line).url));
      return await work(`http://127.0.0.1:${port}`);
    }
    throw new Error('the program ended before it served');
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}
