import type { Act } from '../audit/record/administrative.ts';
import { credentialName } from '../gateway/audit-record.ts';
import type { Recorded } from '../gateway/decision/steps.ts';

/** The act of a caller; its records name the request that asked for it. */
export function callerAct(
  { principal, decisionId, permit, sourceIp }: Recorded,
  operation: Act['operation'],
  details: Act['details'],
): Act {
  return {
    operation,
    subject: principal.subject,
    credential: credentialName(principal.credential),
    sourceIp,
    details: { ...details, console: decisionId },
    policyDigest: permit.policyDigest,
  };
}
