#!/usr/bin/env node
import { restrictUmask } from './config/file-modes.ts';
import { processOutput, type Output, type Run } from './output/output.ts';
import { Command, CommanderError } from 'commander';
import { PolicyError } from '../policy/lines/policy-error.ts';
import { addCommands } from './command-groups.ts';
import { processEnvironment } from './config/config-environment.ts';
import { sentencesOf } from './error-sentences.ts';
import { NO_PAGER, outputFor } from './command-output.ts';
import { PagedOutput } from './output/paged-output.ts';
import { programVersion } from './output/version.ts';

restrictUmask();

// A reader of the output may close the pipe; that must not stop a gateway.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

process.exitCode = await runCommand(process.argv.slice(2), processOutput(processEnvironment()));

/** Runs one command line (without the program's own name) and gives its exit code: 0 yes, 1 a finding, 2 a usage error. */
export async function runCommand(words: readonly string[], output: Output): Promise<number> {
  const run: Run = { output, code: 0 };
  try {
    const program = await programFor(run, words);
    await program.parseAsync(words, { from: 'user' });
    return run.code;
  } catch (error) {
    return exitCodeOf(error, run.output);
  } finally {
    if (run.output instanceof PagedOutput) await run.output.end();
  }
}

async function programFor(run: Run, words: readonly string[]): Promise<Command> {
  const program = new Command('arrowgate')
    .description('a policy-enforcing gateway for Arrow and Lance table catalogs')
    .version(programVersion())
    .option(...NO_PAGER)
    .showHelpAfterError('--help lists what the command takes')
    .exitOverride()
    .hook('preAction', (_, command) => void (run.output = outputFor(command, run.output)))
    .configureOutput({
      writeOut: (text) => run.output.line(text.trimEnd()),
      writeErr: (text) => run.output.note(text.trimEnd()),
    });
  await addCommands(program, run, words);
  return program;
}

function exitCodeOf(error: unknown, output: Output): number {
  // Commander has already printed the error or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const isOurs = error instanceof PolicyError;
  for (const line of sentencesOf(error)) output.note(isOurs ? line : `arrowgate: ${line}`);
  return 2;
}
