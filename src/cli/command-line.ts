import { Command, CommanderError } from 'commander';
import { KeyFileError } from '../gateway/key-document.ts';
import { PolicyError } from '../policy/policy-error.ts';
import { CatalogError } from '../protocol/errors.ts';
import { StoreError } from '../store/errors.ts';
import { SigningKeyError } from '../audit/signing-key.ts';
import { addAudit } from './audit.ts';
import { addCatalog } from './catalog.ts';
import { addCommits } from './commits.ts';
import { addConfig } from './config-commands.ts';
import { ConfigError } from './config-error.ts';
import { addKeys } from './keys.ts';
import type { Output } from './output.ts';
import { addPolicy } from './policy.ts';
import type { Run } from './run.ts';
import { addServe } from './serve-command.ts';
import { ServiceError } from './service-error.ts';
import { UsageError } from './usage-error.ts';
import { programVersion } from './version.ts';

/** Runs one command line (without the program's own name) and gives its exit code: 0 yes, 1 a finding, 2 a usage error. */
export async function runCommand(words: readonly string[], output: Output): Promise<number> {
  const run: Run = { output, code: 0 };
  try {
    await programFor(run).parseAsync(words, { from: 'user' });
    return run.code;
  } catch (error) {
    return exitCodeOf(error, output);
  }
}

function programFor(run: Run): Command {
  const program = new Command('arrowgate')
    .description('a policy-enforcing gateway for Arrow and Lance table catalogs')
    .version(programVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => run.output.line(text.trimEnd()),
      writeErr: (text) => run.output.note(text.trimEnd()),
    });
  addServe(program, run);
  addKeys(program, run);
  addPolicy(program, run);
  addCatalog(program, run);
  addAudit(program, run);
  addCommits(program, run);
  addConfig(program, run);
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
