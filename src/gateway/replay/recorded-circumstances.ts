import type { DecidedRequest } from '../../audit/decided/request.ts';
import { microsOf } from '../../audit/record/time.ts';
import {
  circumstancesKey,
  recordedCircumstances,
  type LookedAt,
  type RecordedCircumstances,
} from '../../policy/conditions/circumstances.ts';
import type { RequestFacts } from '../../policy/conditions/kinds.ts';
import { HIDDEN } from '../decision/redact.ts';

/** The circumstances of a request of the log, as far as a policy looks at them. */
export function circumstancesOfRecord(
  request: DecidedRequest,
  lookedAt: LookedAt,
): RecordedCircumstances {
  return recordedCircumstances(factsOf(request), lookedAt);
}

/** A text that is the same for all requests of the same key for which a policy cannot differ. */
export function kindOfRequest(request: DecidedRequest, lookedAt: LookedAt): string {
  if (lookedAt?.size === 0) return request.key;
  return request.key + circumstancesKey(factsOf(request), lookedAt);
}

/** The facts of the request as the gateway had them. */
function factsOf(request: DecidedRequest): RequestFacts {
  const { ip, context, time, durationMicros } = request.conditionInputs();
  const entries = Object.entries(context);
  return {
    sourceIp: ip ?? undefined,
    arrivedMicros: Number(microsOf(time) - durationMicros),
    context: new Map(entries.filter(([, value]) => value !== HIDDEN)),
    hiddenKeys: entries.flatMap(([key, value]) => (value === HIDDEN ? [key] : [])),
    incoming: {
      headers: {
        get 'user-agent'() {
          return request.userAgent() ?? undefined;
        },
      },
    },
  };
}
