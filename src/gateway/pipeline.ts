import { admit } from './admit.ts';
import { authorize } from './authorize.ts';
import { checkCommit } from './check-commit.ts';
import { conclude } from './conclude.ts';
import { forward } from './forward.ts';
import type { Gateway } from './gateway.ts';
import { identify } from './identify.ts';
import { limit } from './limit.ts';
import { refusal, success, type Outcome } from './outcome.ts';
import { route } from './route.ts';
import type { Known, Received } from './steps.ts';

/**
 * The whole way of a request to the protocol. Each step takes what the step
 * before knows, so none can be left out: a backend is only given a request
 * whose attempt is recorded, and only an allowed request has an attempt.
 */
export async function handle(gateway: Gateway, received: Received): Promise<void> {
  const outcome = await pass(gateway, received);
  try {
    await conclude(gateway, outcome);
  } finally {
    outcome.known.release?.();
  }
}

async function pass(gateway: Gateway, received: Received): Promise<Outcome> {
  let known: Known = received;
  const { trace } = received;
  try {
    trace?.step('decide');
    const admitted = (known = admit(received, gateway.drain.refusing));
    const routed = (known = route(admitted, gateway.databases));
    const found = identify(routed, gateway.identification);
    const identified = (known = found instanceof Promise ? await found : found);
    const policy = gateway.policy.current();
    const counted = limit(identified, policy, gateway);
    const limited = (known = counted instanceof Promise ? await counted : counted);
    const scanning = gateway.scans.begin(limited);
    const authorized = (known = authorize(scanning, policy, gateway.shadow));
    const checked = checkCommit(
      authorized,
      policy,
      () => gateway.remoteFor?.(authorized.route) !== undefined,
    );
    trace?.step('attempt');
    const attempt = gateway.recorder.attempt(checked);
    const recorded = (known = attempt instanceof Promise ? await attempt : attempt);
    trace?.step('backend', { backend: gateway.recorder.backendOf(recorded) });
    const answered = await forward(recorded, gateway.backend);
    return success(answered);
  } catch (error) {
    return refusal(known, error);
  }
}
