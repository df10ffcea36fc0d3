import type { Command } from 'commander';
import { ActRecords } from '../../audit/record/administrative.ts';
import type { AuditLog } from '../../audit/writer.ts';
import type { RecordAdoption } from '../../engine/versions/managed/adoption.ts';
import type {
  ExternalDecision,
  ExternalOutcome,
} from '../../engine/versions/managed/external-decision.ts';
import { ADOPTER } from '../../engine/rules/adoption-judge.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { recorded, recordedIn, type RecordedCommand } from './recorded-command.ts';
import type { Run } from '../output/output.ts';
import { ServiceError, UsageError } from '../output/service-error.ts';
import { tablePathOf, withUpkeep } from './with-upkeep.ts';

interface AdoptFlags {
  readonly accept?: string;
  readonly setAside?: string;
  readonly branch: string;
  readonly json?: boolean;
}

/** `arrowgate catalog adopt`. */
export function addAdopt(catalog: Command, run: Run): void {
  withConfig(catalog.command('adopt'), ['data', 'coordination.redis'])
    .argument('<table>', 'a canonical path, such as /prod/sales')
    .option('--accept <version>', 'record this version and those before it')
    .option('--set-aside <version>', 'move this version and all later ones to _set_aside')
    .option('--branch <name>', 'the branch that the version is on', 'main')
    .description('decide on versions that were written without the catalog and are not adopted')
    .option('--json', 'print JSON')
    .action(async (table: string, flags: AdoptFlags, command: Command) => {
      const { verb, version } = decisionOf(flags);
      const { branch } = flags;
      const decision: ExternalDecision = { path: tablePathOf(table), branch, version };
      const act: RecordedCommand = {
        operation: 'CatalogAdopt',
        object: canonicalPath(decision.path),
        details: { branch, decision: verb, version: String(version) },
      };
      const done = await withUpkeep(command, (upkeep) =>
        recorded(configOf(command), act, async () => {
          const result =
            verb === 'accept'
              ? await upkeep.acceptExternal(decision)
              : await upkeep.setExternalAside(decision);
          return { result, details: { versions: result.versions.join(', ') } };
        }),
      );
      run.output.line(flags.json === true ? jsonOf(done) : sentence(verb, done));
    });
}

type Verb = 'accept' | 'set-aside';

/** @throws UsageError unless exactly one decision is given, on a version */
function decisionOf({ accept, setAside }: AdoptFlags): { verb: Verb; version: bigint } {
  const text = accept ?? setAside;
  if (text === undefined || (accept !== undefined && setAside !== undefined)) {
    throw new UsageError('give either --accept VERSION or --set-aside VERSION');
  }
  const verb = accept === undefined ? 'set-aside' : 'accept';
  if (/^[1-9]\d{0,18}$/.test(text)) return { verb, version: BigInt(text) };
  throw new UsageError(`--${verb} takes the number of a version, not ${JSON.stringify(text)}`);
}

function jsonOf({ versions, next }: ExternalOutcome): string {
  return JSON.stringify({
    versions: versions.map(Number),
    next: next === null ? null : Number(next),
  });
}

function sentence(verb: Verb, { versions, next }: ExternalOutcome): string {
  const one = versions.length === 1;
  const done = verb === 'accept' ? 'accepted' : 'set aside';
  const what = `version${one ? '' : 's'} ${versions.join(', ')} ${one ? 'is' : 'are'} ${done}`;
  return next === null ? what : `${what}; version ${next} is not decided yet`;
}

/** Records adoptions of requests in the audit log, as `system:adoption`. */
export function adoptionRecorder(audit: Pick<AuditLog, 'write'>): RecordAdoption {
  return async ({ path, branch, cause }, work) => {
    const { operation, requestId, decisionId } = cause;
    const records = new ActRecords({
      operation: 'CatalogAdopt',
      subject: ADOPTER,
      object: canonicalPath(path),
      details: {
        branch,
        for_operation: operation,
        for_request: requestId,
        for_decision: decisionId,
      },
    });
    try {
      await recordedIn(audit, records, async () => {
        const details = await work();
        const refused = details['refused'] !== undefined && details['versions'] === '';
        return { result: undefined, details, refused };
      });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new CatalogError('ServiceUnavailable', error.message);
    }
  };
}
