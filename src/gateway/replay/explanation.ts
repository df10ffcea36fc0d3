import type { DecidedRecord, DecidedRequest } from '../../audit/decided/request.ts';
import { allowedByPolicy } from '../../audit/record/record.ts';
import { valuesLookedAt } from '../../policy/values-looked-at.ts';
import { explain, type NearMiss } from '../../policy/explain.ts';
import { lineOfRule, linesOfText } from '../../policy/lines/line-text.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import { filesOfPolicy, type PolicyTexts } from '../../policy/policy-folder.ts';
import { parseCanonicalPath } from '../../protocol/identifier.ts';
import { circumstancesOfRecord } from './recorded-circumstances.ts';
import { recordedQuestion, type RecordedQuestion } from './recorded-question.ts';
import { replayedVerdict } from './replayed-verdict.ts';

/** An old decision, and what the policy of then says of it. */
export interface RecordedExplanation {
  readonly time: string;
  readonly subject: string | null;
  readonly operation: string | null;
  readonly object: string | null;
  readonly decision: DecidedRecord['decision'];
  readonly rule: string | null;
  /** The line that decided, as it was written then. */
  readonly line: string | null;
  readonly policy_digest: string | null;
  /** One phrase or sentence; null where there is nothing to say. */
  readonly why: string | null;
  /** For a refusal: the allow that came nearest. */
  readonly nearest: NearMiss | null;
}

/** Explains a request of the log by the policy that decided it, as its text was kept. */
export async function explainRecorded(
  request: DecidedRequest,
  before: (digest: string) => Promise<LoadedPolicy | undefined>,
): Promise<RecordedExplanation> {
  const record = request.record();
  const { operation, object, decision, rule, policy_digest, principal } = record;
  const summary = { operation, object, decision, rule, policy_digest };
  const shared = { ...summary, time: record.time, subject: principal?.subject ?? null };
  const question = recordedQuestion(record);
  if ('why' in question) return { ...shared, line: null, why: question.why, nearest: null };
  const policy = policy_digest === null ? undefined : await before(policy_digest);
  if (policy === undefined) {
    const why = 'the text of that policy is not archived, or this version does not understand it';
    return { ...shared, line: null, why, nearest: null };
  }
  const line = rule === null ? null : (textOfRule(rule, policy.texts) ?? null);
  return { ...shared, line, ...reasonOf(record, question, policy, request) };
}

/** The line that a rule names. An entry of a YAML file is named by its first line. */
function textOfRule(rule: string, texts: PolicyTexts): string | undefined {
  const number = lineOfRule(rule);
  if (number !== undefined) return linesOfText(texts.policy)[number - 1];
  const [file, line] = rule.split(':');
  const text = filesOfPolicy(texts).find(({ name }) => name === file)?.text;
  return text?.split('\n')[Number(line) - 1]?.trim();
}

function reasonOf(
  { decision }: DecidedRecord,
  question: RecordedQuestion,
  policy: LoadedPolicy,
  request: DecidedRequest,
): Pick<RecordedExplanation, 'why' | 'nearest'> {
  const { worst, best } = circumstancesOfRecord(request, valuesLookedAt(policy));
  // A redacted value is assumed to be the deciding one.
  const circumstances = allowedByPolicy(decision) ? (best ?? worst) : worst;
  const found = replayedVerdict(question, policy.snapshot, circumstances);
  if (found.allowed !== allowedByPolicy(decision)) {
    return { why: 'it was not the policy that refused the request', nearest: null };
  }
  if (found.allowed) return { why: found.reason, nearest: null };
  const { principal } = question;
  const right = [found.action, parseCanonicalPath(found.object)] as const;
  const { nearest } = explain(policy, principal, ...right, circumstances);
  return { why: `${found.reason} on ${found.object}`, nearest };
}
