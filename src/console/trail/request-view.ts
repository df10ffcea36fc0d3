import type { DecidedRequest } from '../../audit/decided/request.ts';
import type { LoggedRecord } from '../../audit/record/record.ts';
import type { FoundRequest } from '../../audit/search/search.ts';
import { explainRecorded } from '../../gateway/replay/explanation.ts';
import type { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import { lineOfRule, linesOfText } from '../../policy/lines/line-text.ts';
import { roleSources } from '../../policy/role-sources.ts';

/** Fields of a request in a list; those of the log, and its arrival. */
export function listedRequest({ record, began }: FoundRequest): object {
  const {
    principal: _principal,
    context: _context,
    rights: _rights,
    hash: _hash,
    ...shown
  } = record;
  return { began, ...shown };
}

/** Lines before and after the one that decided. */
const NEAR_LINES = 3;

/** Everything that is known of a request: its record, and its decision by the policy of then. */
export async function requestView(
  { record, began }: FoundRequest,
  policies: PoliciesBefore,
): Promise<object> {
  const policy =
    record.policy_digest === null ? undefined : await policies.of(record.policy_digest);
  const explanation = await explainRecorded(decided(record), (digest) => policies.of(digest));
  const { why, nearest, line } = explanation;
  return {
    began,
    record,
    explanation: { why, nearest, line, policy_kept: policy !== undefined },
    excerpt: policy === undefined ? null : excerptOf(record.rule, policy),
    roles: policy === undefined ? [] : rolesOf(record, policy),
  };
}

/** The line of a rule with its neighbours, as the file was. */
function excerptOf(rule: string | null, { texts }: LoadedPolicy): object | null {
  const number = rule === null ? undefined : lineOfRule(rule);
  if (number === undefined) return null;
  const lines = linesOfText(texts.policy);
  const first = Math.max(1, number - NEAR_LINES);
  return { rule, number, first, lines: lines.slice(first - 1, number + NEAR_LINES) };
}

function rolesOf({ principal, credential }: LoggedRecord, { roles }: LoadedPolicy): object {
  if (principal === null) return [];
  const from = `the credential ${credential ?? 'that is not known'}`;
  const named = { ...principal, scopes: [], credential: { kind: 'key', id: '' } as const };
  return roleSources(named, roles, { roles: from, groups: from });
}

/** A record as a request that can be decided again. */
function decided(record: LoggedRecord): DecidedRequest {
  return {
    phase: record.phase,
    decisionId: record.decision_id,
    time: record.time,
    key: record.decision_id,
    conditionInputs: () => ({
      ip: record.source_ip,
      context: record.context,
      time: record.time,
      durationMicros: record.duration_us ?? 0n,
    }),
    userAgent: () => record.user_agent,
    readColumns: () => record.read?.columns ?? null,
    record: () => record,
  };
}
