import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often a server is asked whether it answers, and how long apart. */
const TRIES = 600;
const PAUSE_MILLIS = 50;

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

/** A server whose address is chosen for it. */
interface Served {
  readonly url: string;
  /** What it answers once it serves; its address when absent. */
  readonly health?: string;
  /** Command and arguments. */
  readonly command: readonly [string, readonly string[]];
  /** Further variables of its environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Removed when it has stopped. */
  readonly folder: string;
}

/** Starts a server and waits until it answers. @throws Error if it ends before that, or does not answer in half a minute */
export async function startServing(served: Served): Promise<ChildServer> {
  const { url, health = url, command, variables, folder } = served;
  const env = { ...process.env, ...variables };
  const child = spawn(...command, { stdio: 'ignore', env });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  for (let tries = 0; tries < TRIES && child.exitCode === null; tries++) {
    if (await answers(health)) return { url, pid: child.pid ?? 0, stop };
    await sleep(PAUSE_MILLIS);
  }
  await stop();
  throw new Error(`${command[0]} does not answer on ${health}`);
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
