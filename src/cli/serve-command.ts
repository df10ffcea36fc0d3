import type { Command } from 'commander';
import type { Logger } from 'pino';
import { configOf, flaggedPaths, withConfig } from './config/command-config.ts';
import {
  CONFIG_VARIABLE,
  processEnvironment,
  unknownVariables,
} from './config/config-environment.ts';
import { variablesOf, type Config } from './config/config-table.ts';
import { logFaults, openLog } from './config/log.ts';
import { madeFolder } from './init-command.ts';
import type { Run, Output } from './output/output.ts';
import { startGateway } from './service/serve.ts';
import { answerHeartbeats } from './processes/heartbeat.ts';
import { relayMetrics } from './processes/shared-metrics.ts';
import { printBanner } from './start-banner.ts';
import { stopSignal } from './output/stop-signal.ts';
import { Supervisor } from './processes/supervisor.ts';
import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import type { Serving } from './processes/process-life.ts';

/** Flags that say what is served. */
interface NamingFlags {
  readonly config?: string;
  readonly data?: string;
  readonly policies?: string;
}

/** `arrowgate serve`: runs until it is stopped. */
export function addServe(program: Command, run: Run): void {
  withConfig(program.command('serve'), flaggedPaths)
    .description('start the gateway; stops on SIGTERM or SIGINT')
    .action(async (flags: NamingFlags, command: Command) => {
      letHeapGrow();
      if (!namesFolder(flags)) await enterMadeFolder(run.output);
      const config = configOf(command, true);
      const log = openLog(config);
      logFaults(log);
      const { output } = run;
      // With the log as text every line has its form, the reason of a failed start too.
      if (config['log.format'] === 'text') {
        run.output = { ...output, note: (text) => log.fatal(text) };
      }
      if (isServedProcess()) return serveTogether(config, log, output);
      for (const name of unknownVariables(processEnvironment())) {
        log.warn({ name }, 'unknown environment variable');
      }
      return config.processes === 1 ? serveAlone(config, log, output) : supervise(config, log, run);
    });
}

function namesFolder({ config, data, policies }: NamingFlags): boolean {
  const environment = processEnvironment();
  const variables = [CONFIG_VARIABLE, ...variablesOf('data'), ...variablesOf('policies')];
  const named = [config, data, policies, ...variables.map((name) => environment[name])];
  return named.some((value) => value !== undefined);
}

/** `arrowgate init demo && arrowgate serve` serves demo, if nothing else can be meant. */
async function enterMadeFolder(output: Output): Promise<void> {
  const folder = await madeFolder();
  if (folder === undefined) return;
  process.chdir(folder);
  output.note(`arrowgate: serving the folder ${process.cwd()}, which arrowgate init made`);
}

async function serveAlone(config: Config, log: Logger, output: Run['output']): Promise<void> {
  // Registered before the start: a reader of the log may send a signal as soon as the service listens.
  const stop = stopSignal();
  const running = await startGateway(config, log, output);
  announce(running, output);
  await greet(running.url, config, output);
  log.info({ signal: await stop }, 'stopping');
  await running.stop();
}

async function supervise(config: Config, log: Logger, run: Run): Promise<void> {
  const supervisor = new Supervisor({
    processes: config.processes,
    log,
    drainMillis: config['shutdown.delay'] + config['shutdown.grace'],
    silenceMillis: config['supervision.timeout'],
  });
  void stopSignal().then((signal) => {
    log.info({ signal }, 'stopping');
    supervisor.stop();
  });
  relayMetrics();
  const addresses = await supervisor.start();
  if (addresses !== undefined) {
    announce(addresses, run.output);
    await greet(addresses.url, config, run.output);
  }
  run.code = await supervisor.ended();
}

function announce(
  { url, admin }: { readonly url: string; readonly admin?: string },
  output: Run['output'],
): void {
  output.line(JSON.stringify({ event: 'listening', url, pid: process.pid, admin }));
}

/** The gateway serves already: a policy or a key file that cannot be read now does not end it. */
async function greet(url: string, config: Config, output: Output): Promise<void> {
  await printBanner(url, config, output).catch(() => undefined);
}

/** Whether this process is one of several that serve together. */
function isServedProcess(): boolean {
  return cluster.isWorker;
}

/**
 * One of several processes that serve: runs until it is stopped. When the
 * supervisor dies, the channel to it closes, and this process ends with it.
 */
async function serveTogether(config: Config, log: Logger, output: Output): Promise<void> {
  const stop = stopFromSupervisor();
  answerHeartbeats();
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

/** How much V8's heap may grow over what was in use before V8 looks through all of it, in percent. */
const GROWTH_PERCENT = 200;

/**
 * Lets the heap of this process grow before it is collected. V8 chooses between 10 and 300 percent by how fast
 * objects are made, and counts only those in the heap. What it compares with the result counts memory
 * outside of the heap, too, and of that large bodies need tens of MiB: measured, a process that had been collected
 * once was collected ten times more for each body of 200 MB, at twice the processor time.
 */
function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
