import { authorize } from '../../src/gateway/authorize.ts';
import { forward } from '../../src/gateway/forward.ts';
import { success } from '../../src/gateway/outcome.ts';
import type { Recorder } from '../../src/gateway/record.ts';
import type {
  Authorized,
  Identified,
  Received,
  Recorded,
  Routed,
} from '../../src/gateway/decision/steps.ts';
import type { PolicySnapshot } from '../../src/policy/decide/snapshot.ts';
import type { Backend } from '../../src/protocol/backend.ts';
import type { Permit } from '../../src/protocol/permit.ts';

/**
 * Holds, when types are checked: no step of the pipeline can be left out, and
 * neither a permit nor the proof of an attempt can be made up.
 */
export function stepsInOrder(
  known: { received: Received; routed: Routed; identified: Identified; authorized: Authorized },
  parts: { backend: Backend; policy: PolicySnapshot; recorder: Recorder; permit: Permit },
): unknown[] {
  const { received, routed, identified, authorized } = known;
  const { backend, policy, recorder, permit } = parts;
  // @ts-expect-error a request that is only routed has no principal to decide about
  const undecided = authorize(routed, policy);
  // @ts-expect-error a request without a decision has no attempt to record
  const unproven = recorder.attempt(identified);
  // @ts-expect-error a request that was only received is not forwarded
  const unknown = forward(received, backend);
  // @ts-expect-error an allowed request is not forwarded before its attempt is recorded
  const unrecorded = forward(authorized, backend);
  // @ts-expect-error a permit of another making is not the one that the policy gave
  const forged: Authorized = { ...identified, permit, rule: null };
  // @ts-expect-error an object that looks like an attempt is none
  const claimed: Recorded = { ...authorized, attempt: { decisionId: '' } };
  // @ts-expect-error there is no success without an answer
  const unanswered = success(authorized);
  return [undecided, unproven, unknown, unrecorded, forged, claimed, unanswered];
}
