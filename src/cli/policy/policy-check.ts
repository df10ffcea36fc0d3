import { rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { readOutline } from '../../engine/upkeep/verification/catalog-outline.ts';
import { refuseFailedCases, runCases } from '../../policy/cases.ts';
import { lintFolder } from '../../policy/lint.ts';
import { loadPolicyLines } from '../../policy/load.ts';
import { formatFinding, PolicyError } from '../../policy/lines/policy-error.ts';
import { sealedFiles } from '../../policy/policy-folder.ts';
import type { KnownObjects } from '../../policy/reach-lint.ts';
import { SEAL_FILE, sealFindings, policySeal } from '../../policy/seal.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import type { Config } from '../config/config-table.ts';
import { disk, dataFolderOf } from '../service/data-folder.ts';
import { callersOf, knownKeys, type KnownKeys } from '../service/known-keys.ts';
import type { Run } from '../output/output.ts';

interface JsonFlag {
  readonly json?: boolean;
}

interface CheckFlags extends JsonFlag {
  readonly strict?: boolean;
}

/** The findings of a policy folder alone, without keys and tables of a data folder. */
interface PolicyReport {
  /** Faults that a gateway refuses, and lines that can never take effect. */
  readonly findings: readonly string[];
  readonly warnings: readonly string[];
  /** Comparisons that were not possible. */
  readonly notes: readonly string[];
  /** How many cases there are. */
  readonly cases: number;
}

/** `arrowgate policy check`. */
export function addCheck(policy: Command, run: Run): void {
  withConfig(policy.command('check'), ['policies', 'data', 'coordination.redis'])
    .description('load the policy, run its cases and check it as a whole')
    .option('--json', 'print JSON')
    .option('--strict', 'exit 1 when there are warnings')
    .action(async (flags: CheckFlags, command: Command) => {
      const config = configOf(command);
      const report = await policyReport(config, await knownKeys(config));
      const { findings, warnings, notes, cases } = report;
      const isOdd = flags.strict === true && warnings.length > 0;
      run.code = findings.length === 0 && !isOdd ? 0 : 1;
      if (flags.json === true) {
        run.output.line(JSON.stringify(report));
        return;
      }
      for (const finding of findings) run.output.line(finding);
      for (const warning of warnings) run.output.line(`warning: ${warning}`);
      for (const note of notes) run.output.note(`note: ${note}`);
      if (findings.length > 0) return;
      run.output.line(`the policy can be used; ${cases} cases come out as expected`);
    });
}

/** Reads the policy folder of a configuration and compares it with the keys and the data folder, if there is one. */
export async function policyReport(config: Config, keys: KnownKeys): Promise<PolicyReport> {
  const folder = resolve(config.policies);
  const { objects, unseen } = await knownObjects(config, keys.all !== undefined);
  const notes = [keys.unseen, unseen].filter((note) => note !== undefined);
  try {
    const loaded = await loadPolicyLines(folder);
    const { seal } = loaded.folder;
    const broken = seal === undefined ? [] : sealFindings(seal, sealedFiles(loaded.folder));
    const callers = callersOf(config, keys);
    const { findings, warnings } = await lintFolder(folder, loaded, { callers, objects });
    const failed = await runCases(loaded.snapshot, loaded.cases);
    return {
      findings: [...broken, ...findings, ...failed].map(formatFinding),
      warnings: warnings.map(formatFinding),
      notes,
      cases: loaded.cases.length,
    };
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { findings: error.findings, warnings: [], notes, cases: 0 };
  }
}

/** Existing objects, from the journal of the data folder; the store is not needed. */
async function knownObjects(
  config: Config,
  isThere: boolean,
): Promise<{ readonly objects: KnownObjects | undefined; readonly unseen: string | undefined }> {
  const skipped = 'patterns and checks were not compared with namespaces and tables';
  const { root } = dataFolderOf(config);
  if (!isThere) return { objects: undefined, unseen: `${skipped}: there is no data folder` };
  try {
    const objects = await readOutline(disk, root);
    const why = `${join(root, 'catalog')} does not exist yet`;
    return { objects, unseen: objects === undefined ? `${skipped}: ${why}` : undefined };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { objects: undefined, unseen: `${skipped}: the journal cannot be read: ${why}` };
  }
}

/** `arrowgate policy seal`. */
export function addSeal(policy: Command, run: Run): void {
  withConfig(policy.command('seal'), ['policies'])
    .description(`write the digest file ${SEAL_FILE}, which the folder must match from then on`)
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag, command: Command) => {
      const folder = resolve(configOf(command).policies);
      const sealed = await sealFolder(folder);
      const files = sealed.map(({ name }) => name);
      run.output.line(
        flags.json === true
          ? JSON.stringify({ seal: join(folder, SEAL_FILE), files })
          : `sealed ${files.join(', ')} in ${join(folder, SEAL_FILE)}`,
      );
    });
}

/** Writes the digest file of a folder. @throws PolicyError for a policy that a gateway refuses: nothing is written then. */
async function sealFolder(folder: string): Promise<ReturnType<typeof sealedFiles>> {
  const loaded = await loadPolicyLines(folder);
  await refuseFailedCases(loaded.snapshot, loaded.cases);
  const files = sealedFiles(loaded.folder);
  const temporary = join(folder, `.${SEAL_FILE}.${process.pid}`);
  try {
    // Digests are as readable as the policy; they are replaced atomically.
    await writeFile(temporary, policySeal(files), { mode: 0o644 });
    await rename(temporary, join(folder, SEAL_FILE));
  } finally {
    await rm(temporary, { force: true });
  }
  return files;
}
