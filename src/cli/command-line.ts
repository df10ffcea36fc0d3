import { Command, CommanderError } from 'commander';
import { RecordFault } from '../audit/record-decoding.ts';
import { KeptPolicyError } from '../gateway/replay/kept-policy-error.ts';
import { KeyFileError } from '../gateway/key-document.ts';
import { PolicyError } from '../policy/policy-error.ts';
import { CatalogError } from '../protocol/errors.ts';
import { StoreError } from '../store/errors.ts';
import { SigningKeyError } from '../audit/signing-key.ts';
import { addCommands } from './command-groups.ts';
import { ConfigError } from './config-error.ts';
import type { Output } from './output.ts';
import type { Run } from './run.ts';
import { ServiceError } from './service-error.ts';
import { UsageError } from './usage-error.ts';
import { programVersion } from './version.ts';

/** Runs one command line (without the program's own name) and gives its exit code: 0 yes, 1 a finding, 2 a usage error. */
export async function runCommand(words: readonly string[], output: Output): Promise<number> {
  const run: Run = { output, code: 0 };
  try {
    const program = await programFor(run, words);
    await program.parseAsync(words, { from: 'user' });
    return run.code;
  } catch (error) {
    return exitCodeOf(error, run.output);
  }
}

async function programFor(run: Run, words: readonly string[]): Promise<Command> {
  const program = new Command('arrowgate')
    .description('a policy-enforcing gateway for Arrow and Lance table catalogs')
    .version(programVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => run.output.line(text.trimEnd()),
      writeErr: (text) => run.output.note(text.trimEnd()),
    });
  await addCommands(program, run, words);
  return program;
}

function exitCodeOf(error: unknown, output: Output): number {
  // Commander has said what was wrong, or shown the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  for (const line of sentencesOf(error)) output.note(line);
  return 2;
}

function sentencesOf(error: unknown): readonly string[] {
  if (error instanceof PolicyError) return error.findings;
  if (!(error instanceof Error)) return [`arrowgate: ${String(error)}`];
  return [`arrowgate: ${saysEnough(error) ? error.message : (error.stack ?? error.message)}`];
}

const plainErrors = [
  CatalogError,
  ConfigError,
  RecordFault,
  KeptPolicyError,
  KeyFileError,
  ServiceError,
  SigningKeyError,
  StoreError,
  UsageError,
];

/** Whether the message is all that the user needs: ours, and those of the operating system. */
function saysEnough(error: Error): boolean {
  return plainErrors.some((kind) => error instanceof kind) || 'syscall' in error;
}
