import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import type { Config } from './config-table.ts';
import type { Output } from './output.ts';
import type { Serving } from './process-life.ts';
import { startGateway } from './serve.ts';

/** Whether this process is one of several that serve together. */
export function isServedProcess(): boolean {
  return cluster.isWorker;
}

/**
 * One of several processes that serve: runs until it is told to stop. When the
 * supervisor dies, the channel to it closes, and this process ends with it.
 */
export async function serveTogether(config: Config, log: Logger, output: Output): Promise<void> {
  const stop = stopFromSupervisor();
  try {
    const running = await startGateway(shareOf(config), log, output);
    const { url, admin } = running;
    const serving: Serving = { serving: url, ...(admin === undefined ? {} : { admin }) };
    process.send?.(serving);
    await stop;
    await running.stop();
  } finally {
    // The channel would keep the process alive.
    cluster.worker?.disconnect();
  }
}

/** The memory of the configuration is that of all processes together, and the threads that it leaves open are. */
function shareOf(config: Config): Config {
  const { processes, workers } = config;
  const threads = Math.max(1, Math.floor((availableParallelism() - 1) / processes));
  return {
    ...config,
    'cache.bytes': Math.floor(config['cache.bytes'] / processes),
    workers: workers === 'auto' ? threads : workers,
  };
}

/**
 * A terminal or a service manager may signal every process of a group, and the
 * supervisor signals as well: only SIGTERM counts, and only once.
 */
function stopFromSupervisor(): Promise<void> {
  process.on('SIGINT', () => undefined);
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve());
  });
}
