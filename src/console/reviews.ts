import { reviewStates, type ReviewState } from '../audit/search/filter.ts';
import { markDetails, REVIEW_OPERATION } from '../audit/search/review-marks.ts';
import type { Recorded } from '../gateway/decision/steps.ts';
import { CatalogError } from '../protocol/errors.ts';
import { callerAct } from './caller-act.ts';
import { jsonBody } from './json-body.ts';
import type { KeyAccess } from './keys.ts';
import type { Trail } from './trail/trail.ts';

interface ReviewCall {
  readonly trail: Trail;
  readonly keys: Pick<KeyAccess, 'act'>;
  readonly recorded: Recorded;
}

/** Longest note of a mark, in characters. */
const MOST_NOTE = 1000;
const REVIEW = `the body must be {"decision": "…", "began": "…", "mark": "${reviewStates.join(' | ')}", "note": "…"}, as application/json; the note may be absent`;

/**
 * Marks a request as seen, flagged or neither. The mark is a record of the log.
 * @throws CatalogError InvalidInput for a request that the log does not have
 */
export async function reviewedRequest({ trail, keys, recorded }: ReviewCall): Promise<object> {
  const body = await jsonBody(recorded, REVIEW);
  const { decision, began, mark, note = '', ...others } = body;
  const state = reviewStates.find((each) => each === mark);
  const isWhole = Object.keys(others).length === 0 && state !== undefined;
  if (!isWhole || !isId(decision) || !isTime(began) || typeof note !== 'string') {
    throw invalid(REVIEW);
  }
  if (note.length > MOST_NOTE) {
    throw invalid(`the note has ${note.length} characters, but may have ${MOST_NOTE}`);
  }
  // The log must have the request: a mark cannot be taken back, only followed by another.
  await trail.run({ kind: 'request', decisionId: decision, began });
  const made: { readonly mark: ReviewState; readonly note: string } = { mark: state, note };
  const act = callerAct(recorded, REVIEW_OPERATION, markDetails({ decision, began, ...made }));
  await keys.act(act, async () => ({ result: undefined }));
  return { decision, ...made, by: recorded.principal.subject };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value);
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value);
}

function invalid(sentence: string): CatalogError {
  return new CatalogError('InvalidInput', sentence);
}
