import type { Command } from 'commander';
import type { Logger } from 'pino';
import { configOf, flaggedPaths, withConfig } from './command-config.ts';
import { processEnvironment, unknownVariables } from './config-environment.ts';
import type { Config } from './config-table.ts';
import { logFaults, openLog } from './log.ts';
import type { Run } from './run.ts';
import { startGateway } from './serve.ts';
import { relayMetrics } from './shared-metrics.ts';
import { isServedProcess, serveTogether } from './served-process.ts';
import { stopSignal } from './stop-signal.ts';
import { Supervisor } from './supervisor.ts';

/** `arrowgate serve`: runs until it is told to stop. */
export function addServe(program: Command, run: Run): void {
  withConfig(program.command('serve'), flaggedPaths)
    .description('start the gateway; stops on SIGTERM or SIGINT')
    .action(async (_flags: object, command: Command) => {
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
        log.warn({ name }, 'this variable is not one of the configuration');
      }
      return config.processes === 1 ? serveAlone(config, log, output) : supervise(config, log, run);
    });
}

async function serveAlone(config: Config, log: Logger, output: Run['output']): Promise<void> {
  // Asked for before the start: whoever reads that it listens may stop it at once.
  const stop = stopSignal();
  const running = await startGateway(config, log, output);
  announce(running, output);
  log.info({ signal: await stop }, 'stopping');
  await running.stop();
}

async function supervise(config: Config, log: Logger, run: Run): Promise<void> {
  const supervisor = new Supervisor({
    processes: config.processes,
    log,
    drainMillis: config['shutdown.delay'] + config['shutdown.grace'],
  });
  void stopSignal().then((signal) => {
    log.info({ signal }, 'stopping');
    supervisor.stop();
  });
  relayMetrics();
  const addresses = await supervisor.start();
  if (addresses !== undefined) announce(addresses, run.output);
  run.code = await supervisor.ended();
}

function announce(
  { url, admin }: { readonly url: string; readonly admin?: string },
  output: Run['output'],
): void {
  output.line(JSON.stringify({ event: 'listening', url, pid: process.pid, admin }));
}
