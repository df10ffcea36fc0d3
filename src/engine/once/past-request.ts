import { createHash } from 'node:crypto';
import type { Store } from '../../store/store.ts';
import { answerKey } from '../catalog/keys.ts';

/** What names a request of which a client chose the id. */
export interface PastRequest {
  readonly subject: string;
  readonly operation: string;
  /** Canonical path. */
  readonly object: string;
  readonly requestId: string;
}

/** The name of a request that may come again: who asks for which operation on which object, and its id. */
export function nameOfRequest({ subject, operation, object, requestId }: PastRequest): string {
  const text = JSON.stringify([subject, operation, object, requestId]);
  return createHash('sha256').update(text).digest('hex');
}

/** Whether such a request took effect, as long as its answer is kept; of one without such an id nothing is known. */
export async function tookEffect(
  store: Pick<Store, 'get'>,
  request: PastRequest,
): Promise<boolean> {
  return (await store.get(answerKey(nameOfRequest(request)))) !== undefined;
}
