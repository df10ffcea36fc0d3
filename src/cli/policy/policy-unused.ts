import type { Command } from 'commander';
import { withConfig } from '../config/command-config.ts';
import { withPeriod } from '../config/key-details.ts';
import type { Run } from '../output/output.ts';
import type { UnusedFlags } from './unused-report.ts';

/** `arrowgate policy unused`, also as `arrowgate audit unused`. Its modules are loaded when it runs. */
export function addUnused(parent: Command, run: Run): void {
  withPeriod(withConfig(parent.command('unused'), ['policies', 'data']))
    .description('list the policy lines and keys that no request of the audit log used')
    .option('--json', 'print JSON')
    .action(async (flags: UnusedFlags, command: Command) => {
      const { printUnused } = await import('./unused-report.ts');
      await printUnused(flags, command, run);
    });
}
