import type { Command } from 'commander';
import type { EvidenceFlags } from './audit-evidence.ts';
import type { ReportFlags } from './audit-report.ts';
import type { SearchFlags } from './audit-search.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { withPeriod } from '../config/key-details.ts';
import { TZ_ABOUT } from '../output/zone.ts';
import { withTable } from '../output/table.ts';
import { addUnused } from '../policy/policy-unused.ts';
import type { Run } from '../output/output.ts';
import type { RotateKeyFlags } from './audit-rotate-key.ts';
import type { ShowFlags } from './audit-show.ts';
import type { VerifyFlags } from './audit-verify.ts';

/* Each command loads its modules when it runs: verification and search share few. */

/** `arrowgate audit verify|search|report|show|evidence|unused|rotate-key`. */
export function addAudit(program: Command, run: Run): void {
  const audit = program
    .command('audit')
    .description('search and verify the audit log, also while a gateway runs');
  addVerify(audit, run);
  addSearch(audit, run);
  addReport(audit, run);
  addShow(audit, run);
  addEvidence(audit, run);
  addUnused(audit, run);
  addRotateKey(audit, run);
}

/** An evidence folder to check, in place of the log. */
interface Evidence {
  readonly evidence?: string;
}

function addVerify(audit: Command, run: Run): void {
  withConfig(audit.command('verify'), ['data', 'coordination.redis'])
    .description('check every chain against itself and against its checkpoints')
    .option('--public-key <file...>', 'accepted signing keys (PEM); default: the key in use')
    .option('--anchor <file...>', 'additional checkpoint files')
    .option('--evidence <dir>', 'check a folder of audit evidence in place of the log')
    .option('--json', 'print JSON')
    .action(async ({ evidence, ...flags }: VerifyFlags & Evidence, command: Command) => {
      const config = configOf(command);
      if (evidence === undefined) {
        const { verifyAudit } = await import('./audit-verify.ts');
        await verifyAudit(config, flags, run);
      } else {
        const { verifyEvidence } = await import('./audit-verify-evidence.ts');
        await verifyEvidence(config, evidence, flags, run);
      }
    });
}

function addSearch(audit: Command, run: Run): void {
  withTable(withFilter(withConfig(audit.command('search'), ['data'])))
    .description('search requests of the log; attempt and outcome form one row')
    .option('--format <format>', 'table, json (an object a line) or arrow (an IPC stream)')
    .option('--json', 'the same as --format json')
    .option('--last <count>', 'only the newest requests, the newest first: 1 to 10000')
    .option('--follow', 'print further requests as they end; earlier ones only with --since')
    .action(async (flags: SearchFlags, command: Command) => {
      const { searchAudit } = await import('./audit-search.ts');
      await searchAudit(configOf(command), flags, run);
    });
}

/** Adds the flags that select requests. */
function withFilter(command: Command): Command {
  return withPeriod(command)
    .option('--subject <name>', 'subject of the request')
    .option('--object <pattern>', 'a pattern as in a policy: /prod/orders, /prod/*, /prod/**')
    .option('--operation <name>', 'an operation, or a group of them such as read')
    .option('--backend <name>', 'a backend of the configuration, such as embedded')
    .option('--decision <decision>', 'allow, deny, unauthenticated, limited, invalid, unavailable')
    .option('--status <status>', 'status of the answer, such as 403, or a class such as 4xx')
    .option('--column <name>', 'a column of a table that the request read')
    .option('--text <text>', 'text that occurs in a field of the record')
    .option('--review <state>', 'seen, flagged or unreviewed, by the marks of reviewers')
    .option('--canary <name>', 'a restriction whose canary the request named, or any');
}

function addReport(audit: Command, run: Run): void {
  withTable(withFilter(withConfig(audit.command('report'), ['data'])))
    .description('aggregate requests, decisions and bytes')
    .requiredOption(
      '--by <what>',
      'subject, object, operation, rule, backend, credential, day, decision, reason, address or restriction',
    )
    .option('--format <format>', 'table, json or csv')
    .option('--json', 'the same as --format json')
    .action(async (flags: ReportFlags, command: Command) => {
      const { reportAudit } = await import('./audit-report.ts');
      await reportAudit(configOf(command), flags, run);
    });
}

function addShow(audit: Command, run: Run): void {
  withConfig(audit.command('show'), ['data'])
    .argument('<id>', 'a request, decision or instance id')
    .description('show one request, or one instance of the log, on a page')
    .option('--tz <zone>', TZ_ABOUT)
    .option('--json', 'print JSON')
    .action(async (id: string, flags: ShowFlags, command: Command) => {
      const { showAudit } = await import('./audit-show.ts');
      await showAudit(configOf(command), id, flags, run);
    });
}

function addEvidence(audit: Command, run: Run): void {
  withPeriod(withConfig(audit.command('evidence'), ['policies', 'data', 'coordination.redis']))
    .argument('<dir>', 'a new or an empty folder')
    .description('write a folder for an auditor: report, records, verification, policies, keys')
    .option('--public-key <file...>', 'accepted signing keys (PEM); default: the key in use')
    .option('--anchor <file...>', 'additional checkpoint files')
    .option('--json', 'print JSON')
    .action(async (dir: string, flags: EvidenceFlags, command: Command) => {
      const { writeEvidence } = await import('./audit-evidence.ts');
      await writeEvidence(configOf(command), dir, flags, run);
    });
}

function addRotateKey(audit: Command, run: Run): void {
  withConfig(audit.command('rotate-key'), ['data', 'coordination.redis'])
    .description('replace the signing key of checkpoints; the old key signs the new one')
    .option('--from <file>', 'the old private key (PEM); default: the key in use')
    .option('--to <file>', 'the new private key (PEM); default: one is created in the data folder')
    .option('--json', 'print JSON')
    .action(async (flags: RotateKeyFlags, command: Command) => {
      const { rotateAuditKey } = await import('./audit-rotate-key.ts');
      await rotateAuditKey(configOf(command), flags, run);
    });
}
