import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A server in a process of its own. */
export interface ChildServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a server that prints its address as its first line. @throws Error if it ends before that */
export async function startServer(command: string, args: readonly string[]): Promise<ChildServer> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  for await (const url of createInterface({ input: child.stdout }))
    return { url, pid: child.pid ?? 0, stop };
  throw new Error(`${command} ${args.join(' ')} printed no address`);
}
