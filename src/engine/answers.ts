import type { Answer } from '../protocol/backend.ts';
import { stringifyJson } from '../protocol/json.ts';
import type { Page } from './catalog/page.ts';
import type { Call } from './handler.ts';

/** What an answer says besides its body. */
export type AnswerNotes = Omit<Answer, 'status' | 'body' | 'contentType'>;

/** A JSON object with the operation's status of success. Members without a value are left out. */
export function jsonAnswer(call: Call, value: object, notes: AnswerNotes = {}): Answer {
  return {
    status: call.request.operation.success,
    contentType: 'application/json',
    body: stringifyJson(value),
    ...notes,
  };
}

/** An answer of which only the status matters. */
export function emptyAnswer(call: Call): Answer {
  return { status: call.request.operation.success, body: null };
}

/** A listing. It takes nothing but a page, which holds nothing but visible names. */
export function pageAnswer(call: Call, member: 'namespaces' | 'tables', page: Page): Answer {
  return jsonAnswer(call, { [member]: page.names, page_token: page.token });
}
