import type { Command } from 'commander';
import { configOf, flaggedPaths, withConfig } from './command-config.ts';
import { processEnvironment, unknownVariables } from './config-environment.ts';
import { openLog } from './log.ts';
import type { Run } from './run.ts';
import { startGateway } from './serve.ts';

/** `arrowgate serve`: runs until it is told to stop. */
export function addServe(program: Command, run: Run): void {
  withConfig(program.command('serve'), flaggedPaths)
    .description('start the gateway; stops on SIGTERM or SIGINT')
    .action(async (_flags: object, command: Command) => {
      const config = configOf(command);
      const log = openLog(config['log.level']);
      for (const name of unknownVariables(processEnvironment())) {
        log.warn({ name }, 'this variable is not one of the configuration');
      }
      // Asked for before the start: whoever reads that it listens may stop it at once.
      const stop = stopSignal();
      const running = await startGateway(config, log, run.output);
      const { url } = running;
      run.output.line(JSON.stringify({ event: 'listening', url, pid: process.pid }));
      log.info({ signal: await stop }, 'stopping');
      await running.stop();
    });
}

/** Resolves with the first signal to stop. A second one ends the process as if nobody listened. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    const stop = (signal: string): void => {
      process.removeListener('SIGTERM', stop);
      process.removeListener('SIGINT', stop);
      resolve(signal);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
