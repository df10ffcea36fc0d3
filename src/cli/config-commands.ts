import type { Command } from 'commander';
import { configOf, flaggedPaths, withConfig } from './command-config.ts';
import { configPaths, settingOf, variablesOf, type ConfigPath } from './config-table.ts';
import { columns } from './output.ts';
import type { Run } from './run.ts';

interface JsonFlag {
  readonly json?: boolean;
}

/** `arrowgate config check|keys`. */
export function addConfig(program: Command, run: Run): void {
  const config = program.command('config').description('the configuration');
  withConfig(config.command('check'), flaggedPaths)
    .description('say whether the configuration can be used, and what it comes to')
    .option('--json', 'print JSON')
    .action((flags: JsonFlag, command: Command) => {
      const values = Object.entries(configOf(command)).filter(([path]) => !isSecret(path));
      run.output.line(
        flags.json === true
          ? JSON.stringify(Object.fromEntries(values))
          : columns(values.map(([path, value]) => [path, JSON.stringify(value)])),
      );
    });
  config
    .command('keys')
    .description('every key: its flag, variable, kind, default and meaning')
    .option('--json', 'print JSON')
    .action((flags: JsonFlag) => {
      const rows = configPaths.map(described);
      run.output.line(
        flags.json === true
          ? JSON.stringify(rows)
          : columns([heading, ...rows.map((row) => Object.values(row))]),
      );
    });
}

const heading = ['KEY', 'FLAG', 'VARIABLE', 'KIND', 'DEFAULT', 'MEANING'];

function isSecret(path: string): boolean {
  return configPaths.some((known) => known === path && settingOf(known).secret === true);
}

function described(path: ConfigPath): Record<string, string> {
  const { flag, kind, shown, about, secret } = settingOf(path);
  return {
    key: secret === true ? '-' : path,
    flag: flag === undefined ? '-' : `--${flag}`,
    variable: variablesOf(path)[0] ?? '-',
    kind: kind.name,
    default: shown,
    meaning: about,
  };
}
