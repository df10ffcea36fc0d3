import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { AlreadyDone } from '../../catalog/records/seal.ts';
import { answerKey } from '../../catalog/records/keys.ts';
import type { Call, Handler } from './handler.ts';
import { KeyedMutex } from '../../format/memory/keyed-mutex.ts';
import { RecordingPermit } from '../../once/recording-permit.ts';
import { HashedBody, requestDigest, requestName } from '../../once/request-digest.ts';
import { RepeatableOnce, type AnswerStore } from '../../once/once.ts';

/**
 * Replays answers of repeated changes with the same subject, operation, object and request id. A
 * repeat waits while the first is in progress.
 */
export class Repeats {
  readonly #answers: AnswerStore;
  readonly #working = new KeyedMutex();

  constructor(answers: AnswerStore) {
    this.#answers = answers;
  }

  /**
   * @param call The call without idempotency.
   * @throws CatalogError InvalidInput if the id was used for something else, and whatever the
   * handler refuses.
   */
  run(call: Call, handler: Handler): Promise<Answer> {
    const { request, permit } = call;
    const { operation, clientRequestId: id } = request;
    if (id === undefined || !operation.mutates) return handler(call);
    const key = answerKey(requestName(request, permit.principal.subject, id));
    const body = operation.body === 'arrow' ? new HashedBody(request.body) : null;
    const restrictions = permit.restrictionsOn(request.object);
    const requested = requestDigest(request, call.body, {
      bodyDigest: call.bodyDigest,
      restrictions,
    });
    const rights = new RecordingPermit(permit);
    const once = new RepeatableOnce({ key, id, asked: requested, body, rights }, this.#answers);
    const passed = {
      ...call,
      permit: rights,
      request: body === null ? request : { ...request, body },
    };
    return this.#working.run(key, () => answerOnce(once, passed, handler));
  }
}

async function answerOnce(
  once: RepeatableOnce,
  call: Omit<Call, 'once'>,
  handler: Handler,
): Promise<Answer> {
  const before = await once.answered();
  if (before !== undefined) return before;
  try {
    return await handler({ ...call, once });
  } catch (error) {
    if (!(error instanceof AlreadyDone || error instanceof CatalogError)) throw error;
    // Another process may have been first, and its change can cause any refusal.
    const meanwhile = await once.answered();
    if (meanwhile !== undefined) return meanwhile;
    throw error instanceof CatalogError ? error : madeAndForgotten();
  }
}

function madeAndForgotten(): CatalogError {
  return new CatalogError('ConcurrentModification', 'the same request was at work meanwhile');
}
