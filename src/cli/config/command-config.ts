import { Option, type Command } from 'commander';
import { loadConfig } from './config.ts';
import { processEnvironment } from './config-environment.ts';
import {
  configPaths,
  settingOf,
  variablesOf,
  type Config,
  type ConfigPath,
} from './config-table.ts';

/** The keys that have a flag. */
export const flaggedPaths: readonly ConfigPath[] = configPaths.filter(
  (path) => settingOf(path).flag !== undefined,
);

/** Gives a command `--config` and the flags of some keys, described by the table. */
export function withConfig(command: Command, paths: readonly ConfigPath[]): Command {
  command.option('--config <file>', 'configuration file (default: arrowgate.yaml, if it exists)');
  for (const path of paths) command.addOption(optionOf(path));
  return command;
}

function optionOf(path: ConfigPath): Option {
  const { flag, kind, about, shown } = settingOf(path);
  const [variable] = variablesOf(path);
  return new Option(
    `--${flag} <${kind.name.toLowerCase()}>`,
    `${about} (default: ${shown}; ${variable})`,
  );
}

/**
 * The configuration that a command was given.
 * @param serving Whether the command serves requests, as opposed to maintaining stored data.
 * @throws ConfigError
 */
export function configOf(command: Command, serving = false): Config {
  const given = command.opts<Record<string, unknown>>();
  const values = flaggedPaths.flatMap((path): [ConfigPath, string][] => {
    const value = given[attributeOf(path)];
    return typeof value === 'string' ? [[path, value]] : [];
  });
  const file = given['config'];
  return loadConfig(
    { values: new Map(values), serving, ...(typeof file === 'string' ? { config: file } : {}) },
    processEnvironment(),
  );
}

/** The name under which commander keeps a flag: `admin-key` as `adminKey`. */
function attributeOf(path: ConfigPath): string {
  const flag = settingOf(path).flag ?? '';
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
