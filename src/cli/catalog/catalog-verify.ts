import type { Command } from 'commander';
import type { Finding } from '../../engine/upkeep/verification/finding.ts';
import type {
  Leftover,
  Verified,
  VerifyOptions,
} from '../../engine/upkeep/verification/verifier.ts';
import { withConfig } from '../config/command-config.ts';
import { progressOf, type Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { stopSignal } from '../output/stop-signal.ts';
import { tablePathOf, withReading } from '../service/with-upkeep.ts';
import { rateOf, USUAL_RATE } from './reading-rate.ts';

interface VerifyFlags {
  readonly deep?: boolean;
  readonly rate?: string;
  readonly from?: string;
  readonly json?: boolean;
}

/** `arrowgate catalog verify`. */
export function addVerify(catalog: Command, run: Run): void {
  withConfig(catalog.command('verify'), ['data', 'coordination.redis'])
    .argument('[table]', 'canonical path, such as /prod/sales; default: everything')
    .description('verify every version, manifest and file, and the journal')
    .option('--deep', 'read all files from end to end and compare them with their checksums')
    .option(
      '--rate <size>',
      `with --deep: bytes read in a second; 0 for no limit; default: ${USUAL_RATE}`,
    )
    .option('--from <table>', 'with --deep: continue an interrupted run from this table')
    .option('--json', 'print JSON')
    .action(async (table: string | undefined, flags: VerifyFlags, command: Command) => {
      const options = {
        ...(table !== undefined && { table: tablePathOf(table) }),
        ...deepOptions(table, flags),
        ...progressOf(run.output),
      };
      const verified = await withReading(command, (reading) => reading.verify(options));
      run.code = codeOf(verified);
      run.output.line(flags.json === true ? JSON.stringify(verified) : textOf(verified));
      const next = verified.deep?.next ?? null;
      if (next !== null)
        run.output.note(
          `arrowgate: the verification was interrupted: continue with --from ${next}`,
        );
    });
}

/** A run that was interrupted did not find out whether anything is wrong. */
function codeOf({ findings, deep }: Verified): Run['code'] {
  if (findings.length > 0) return 1;
  return (deep?.next ?? null) === null ? 0 : 2;
}

/** @throws UsageError */
function deepOptions(
  table: string | undefined,
  { deep, rate, from }: VerifyFlags,
): Pick<VerifyOptions, 'deep'> {
  if (deep !== true) {
    const flag = rate === undefined ? '--from' : '--rate';
    if (rate === undefined && from === undefined) return {};
    throw new UsageError(`${flag} is for --deep: add --deep, or leave ${flag} out`);
  }
  if (table !== undefined && from !== undefined)
    throw new UsageError('--from continues a run over all tables: leave the table or --from out');
  const bytesPerSecond = rateOf(rate ?? USUAL_RATE);
  const cursor = from === undefined || from === 'dropped' ? from : tablePathOf(from);
  const stop = new AbortController();
  void stopSignal().then(() => stop.abort());
  const { signal } = stop;
  return { deep: { bytesPerSecond, signal, ...(cursor !== undefined && { from: cursor }) } };
}

function textOf({ findings, orphans, deep, ...looked }: Verified): string {
  const { tables, versions, files, bytes, changes } = looked;
  const journal = changes === null ? '' : `, ${changes} changes in the journal`;
  const compared = deep === null ? '' : comparedText(deep);
  const soFar = (deep?.next ?? null) === null ? '' : ' so far';
  const faults = findings.length === 0 ? 'nothing is wrong' : `${findings.length} findings`;
  return [
    ...findings.map(findingText),
    ...orphans.map(orphanText),
    `looked at ${tables} tables, ${versions} versions, ${files} files of ${bytes} bytes${journal}${compared}: ${faults}${soFar}`,
  ].join('\n');
}

function comparedText({ files, bytes }: NonNullable<Verified['deep']>): string {
  return `, compared ${bytes} bytes of ${files} files and manifests with their checksums`;
}

function findingText({ kind, table, file, fault }: Finding): string {
  const where = [table ?? kind, file].filter((part) => part !== null).join(': ');
  return `${where}: ${fault}`;
}

function orphanText({ table, file, bytes }: Leftover): string {
  const where = [table, file].filter((part) => part !== null).join(': ');
  return `${where}: no version names it (${bytes} bytes; gc removes it once it is old)`;
}
