import type { DecidedRequest } from '../audit/decided-request.ts';
import { readRequests } from '../audit/request-reader.ts';
import { explainRecorded, type RecordedExplanation } from '../gateway/replay/explanation.ts';
import { PoliciesBefore } from '../gateway/replay/policy-before.ts';
import type { Config } from './config-table.ts';
import { openedForReading } from './data-folder.ts';
import { UsageError } from './usage-error.ts';

/** What the log and the kept policy say of an old decision. @throws UsageError when the log does not have it */
export async function decisionOf(config: Config, id: string): Promise<RecordedExplanation> {
  const { audit } = await openedForReading(config);
  const policies = new PoliciesBefore(audit);
  const request = await find(audit, id);
  if (request === undefined) throw new UsageError(`the audit log has no decision ${id}`);
  return explainRecorded(request, (digest) => policies.of(digest));
}

async function find(audit: string, id: string): Promise<DecidedRequest | undefined> {
  for await (const requests of readRequests(audit)) {
    const found = requests.find(({ decisionId }) => decisionId === id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A decision as it is told, line by line. */
export function decisionText(explained: RecordedExplanation): string {
  const { time, subject, operation, object, decision, rule, line, policy_digest } = explained;
  const by = rule === null ? '' : ` (${rule})`;
  return [
    `${time}: ${decision}${by}: ${subject ?? 'nobody known'} asked for ${operation ?? 'no operation'} on ${object ?? 'no object'}`,
    ...(line === null ? [] : [`${rule}: ${line}`]),
    `under the policy ${policy_digest ?? 'that is not known'}`,
    ...(explained.why === null ? [] : [explained.why]),
    ...(explained.nearest === null
      ? []
      : [`nearest: ${explained.nearest.rule}: ${explained.nearest.text}`]),
  ].join('\n');
}
