import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend } from '../../src/protocol/backend.ts';
import type { JsonValue } from '../../src/protocol/json.ts';
import { ask } from './request.ts';

/** The id of the job that an answer names. */
export function jobIdOf(answer: JsonValue): string {
  return (answer as { job_id: string }).job_id;
}

/** What `/v1/jobs/describe` says of a job once it has ended. */
export async function settled(backend: Backend, id: string): Promise<JsonValue> {
  for (;;) {
    const { json } = await ask(backend, 'POST /v1/jobs/describe', { body: { job_id: id } });
    if ((json as { job_state: string }).job_state !== 'IN_PROGRESS') return json;
    await sleep(5);
  }
}
