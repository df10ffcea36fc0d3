import type { Command } from 'commander';
import { configOf, flaggedPaths, withConfig } from './config/command-config.ts';
import { ConfigError } from './config/config-source.ts';
import type { Run } from './output/output.ts';
import { checkStart, type StartReport } from './start-check.ts';

interface CheckFlags {
  readonly json?: boolean;
  readonly strict?: boolean;
}

/** `arrowgate check`: 0 when `serve` would start, 1 for warnings with `--strict`, 2 when it would refuse. */
export function addStartCheck(program: Command, run: Run): void {
  withConfig(program.command('check'), flaggedPaths)
    .description('check whether serve would start; writes nothing')
    .option('--json', 'print JSON')
    .option('--strict', 'exit 1 when there are warnings')
    .action(async (flags: CheckFlags, command: Command) => {
      const report = await reportOf(command);
      run.code = codeOf(report, flags);
      if (flags.json === true) run.output.line(JSON.stringify(report));
      else for (const line of linesOf(report)) run.output.line(line);
    });
}

async function reportOf(command: Command): Promise<StartReport> {
  try {
    return await checkStart(configOf(command, true));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { refusals: [error.message], warnings: [], notes: [], loaded: {} };
  }
}

function codeOf({ refusals, warnings }: StartReport, { strict }: CheckFlags): 0 | 1 | 2 {
  if (refusals.length > 0) return 2;
  return strict === true && warnings.length > 0 ? 1 : 0;
}

function linesOf({ refusals, warnings, notes, loaded }: StartReport): readonly string[] {
  const counts = Object.entries(loaded).map(([part, found]) => {
    const texts = Object.entries(found).map(([name, count]) => `${name} ${count}`);
    return `${part}: ${texts.join(', ')}`;
  });
  const verdict =
    refusals.length > 0
      ? `a start would be refused: ${refusals.length} refusals, ${warnings.length} warnings`
      : `a start would succeed: ${warnings.length} warnings`;
  return [
    ...counts,
    ...notes.map((note) => `note: ${note}`),
    ...warnings.map((warning) => `warning: ${warning}`),
    ...refusals.map((refusal) => `refused: ${refusal}`),
    verdict,
  ];
}
