import { encodeSegment } from '../protocol/identifier.ts';
import { LONE_SURROGATE, decodePart } from './pattern.ts';

/** The subject of a line that is about every authenticated principal. */
export const EVERYONE = '*';

const CONTROL = /\p{Cc}/u;
const NAMED = /^(user|group|role):(.+)$/s;

/**
 * What is wrong with a subject as a policy spells it (contract section 5):
 * `user:`, `group:` or `role:` and a name percent-encoded like a path
 * segment, or `*`. Undefined if nothing is.
 */
export function subjectFault(text: string): string | undefined {
  if (text === EVERYONE) return undefined;
  const [, kind, name] = NAMED.exec(text) ?? [];
  if (kind === undefined || name === undefined) {
    return `the subject ${JSON.stringify(text)} is none of user:NAME, group:NAME, role:NAME and *`;
  }
  if (LONE_SURROGATE.test(name)) return `the subject ${JSON.stringify(text)} is not valid Unicode`;
  if (CONTROL.test(decodePart(name))) {
    return `the subject ${JSON.stringify(text)} can be nobody: a name holds no control character`;
  }
  const spelling = encodeSegment(decodePart(name));
  if (spelling === name) return undefined;
  return `the subject ${JSON.stringify(text)} is not in its canonical spelling: write ${kind}:${spelling}`;
}
