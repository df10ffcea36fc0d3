import type { Command } from 'commander';
import { configOf, flaggedPaths, withConfig } from './config/command-config.ts';
import { configPaths, settingOf, variablesOf, type ConfigPath } from './config/config-table.ts';
import { rulesReport } from './config/commit-rules.ts';
import { processEnvironment } from './config/config-environment.ts';
import { keyFindings } from './config/key-findings.ts';
import { labelledText } from './output/fitted.ts';
import type { Run } from './output/output.ts';
import { tableText, withTable, type TableFlags } from './output/table.ts';

interface JsonFlag {
  readonly json?: boolean;
}

/** `arrowgate config check|keys`. */
export function addConfig(program: Command, run: Run): void {
  const config = program.command('config').description('the configuration');
  withConfig(config.command('check'), flaggedPaths)
    .description('check the configuration and print the effective one')
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag, command: Command) => {
      const loaded = configOf(command, true);
      const values = Object.entries(loaded).flatMap(shownEntry);
      const { findings: broken, notes } = await rulesReport(loaded, processEnvironment());
      const findings = [...(await keyFindings(loaded)), ...broken];
      if (findings.length > 0) run.code = 1;
      const rules = {
        ...(findings.length > 0 && { findings }),
        ...(notes.length > 0 && { notes }),
      };
      run.output.line(
        flags.json === true
          ? JSON.stringify({ ...Object.fromEntries(values), ...rules })
          : [
              labelledText(
                values.map(([path, value]) => [path, valueText(value)]),
                run.output.width,
              ),
              ...findings,
              ...notes,
            ].join('\n'),
      );
    });
  withTable(config.command('keys'))
    .description('every key: its flag, variable, kind, default and meaning')
    .option('--json', 'print JSON')
    .action((flags: JsonFlag & TableFlags) => {
      const rows = configPaths.map(described);
      run.output.line(
        flags.json === true
          ? JSON.stringify(rows)
          : tableText(
              keyColumns,
              rows.map((row) => Object.values(row)),
              flags,
              run.output,
            ),
      );
    });
}

const keyColumns = [
  { heading: 'KEY' },
  { heading: 'FLAG', least: 8 },
  { heading: 'VARIABLE', least: 10 },
  { heading: 'KIND', least: 6 },
  { heading: 'DEFAULT', least: 8 },
  { heading: 'MEANING', least: 20 },
];

/** A value as it may be shown: none that is secret, and none that may hold a password. */
function shownEntry([path, value]: [string, unknown]): [string, unknown][] {
  const setting = configPaths.find((each) => each === path);
  const { secret, hidden } = setting === undefined ? { secret: true } : settingOf(setting);
  if (secret === true) return [];
  return [[path, hidden === true && value !== null ? '(hidden)' : value]];
}

/** A value as YAML in one line, with a space after each comma. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${valueText(member)}`,
  );
  return `{${members.join(', ')}}`;
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
