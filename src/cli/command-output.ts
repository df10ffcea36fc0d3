import type { Command } from 'commander';
import { processEnvironment } from './config/config-environment.ts';
import type { Output } from './output/output.ts';
import { PagedOutput } from './output/paged-output.ts';
import { pagerProgram } from './output/pager.ts';

/** The flag of every command, with its description. */
export const NO_PAGER = [
  '--no-pager',
  'print a long answer at once, without a pager (ARROWGATE_PAGER, PAGER or less)',
] as const;

/** Groups and commands whose answers are for people, and may be long. */
const readCommands: ReadonlySet<string> = new Set([
  'check',
  'policy',
  'catalog',
  'audit',
  'commits',
  'config',
  'keys list',
]);

/** The output of a command; on a terminal, answers for people fit it. */
export function outputFor(command: Command, output: Output): Output {
  const { width, height = Infinity } = output;
  const { json, format, follow, pager } = command.optsWithGlobals<Record<string, unknown>>();
  const group = command.parent?.parent === null ? command.name() : command.parent!.name();
  const isRead = readCommands.has(group) || readCommands.has(`${group} ${command.name()}`);
  const isForPrograms = json === true || (format !== undefined && format !== 'table');
  if (width === undefined || !isRead || isForPrograms || follow === true) return output;
  const program = pager === false ? undefined : pagerProgram(processEnvironment());
  return new PagedOutput(output, program, { width, height });
}
