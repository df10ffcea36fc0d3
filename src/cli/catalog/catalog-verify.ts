import type { Command } from 'commander';
import type { Finding } from '../../engine/upkeep/verification/finding.ts';
import type { Leftover, Verified } from '../../engine/upkeep/verification/verifier.ts';
import { withConfig } from '../config/command-config.ts';
import { progressOf, type Run } from '../output/output.ts';
import { tablePathOf, withReading } from '../service/with-upkeep.ts';

interface JsonFlag {
  readonly json?: boolean;
}

/** `arrowgate catalog verify`. */
export function addVerify(catalog: Command, run: Run): void {
  withConfig(catalog.command('verify'), ['data', 'coordination.redis'])
    .argument('[table]', 'canonical path, such as /prod/sales; default: everything')
    .description('verify every version, manifest and file, and the journal')
    .option('--json', 'print JSON')
    .action(async (table: string | undefined, flags: JsonFlag, command: Command) => {
      const options = {
        ...(table !== undefined && { table: tablePathOf(table) }),
        ...progressOf(run.output),
      };
      const verified = await withReading(command, (reading) => reading.verify(options));
      if (verified.findings.length > 0) run.code = 1;
      run.output.line(flags.json === true ? JSON.stringify(verified) : textOf(verified));
    });
}

function textOf({ findings, orphans, ...looked }: Verified): string {
  const { tables, versions, files, bytes, changes } = looked;
  const journal = changes === null ? '' : `, ${changes} changes in the journal`;
  const faults = findings.length === 0 ? 'nothing is wrong' : `${findings.length} findings`;
  return [
    ...findings.map(findingText),
    ...orphans.map(orphanText),
    `looked at ${tables} tables, ${versions} versions, ${files} files of ${bytes} bytes${journal}: ${faults}`,
  ].join('\n');
}

function findingText({ kind, table, file, fault }: Finding): string {
  const where = [table ?? kind, file].filter((part) => part !== null).join(': ');
  return `${where}: ${fault}`;
}

function orphanText({ table, file, bytes }: Leftover): string {
  const where = [table, file].filter((part) => part !== null).join(': ');
  return `${where}: no version names it (${bytes} bytes; gc removes it once it is old)`;
}
