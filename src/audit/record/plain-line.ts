import type { LastFields } from './encoding.ts';
import { decisions, type LoggedRecord } from './record.ts';

/** Texts without JSON escapes. */
const TEXT = '"([^"\\\\\\x00-\\x1f]*)"';
const WORD = `(?:null|${TEXT})`;
/** Integers that a JavaScript number represents exactly. */
const NUMBER = '(0|[1-9]\\d{0,14})';
const COUNT = `(?:null|${NUMBER})`;

/** Fields of the line of a read or a refusal in the order of the log, up to the last ones; the principal is the only structured value. */
const SHAPE = [
  ['instance', TEXT],
  ['sequence', NUMBER],
  ['phase', '"(attempt|outcome)"'],
  ['time', TEXT],
  ['duration_us', COUNT],
  ['request_id', TEXT],
  ['decision_id', TEXT],
  // The next field ends it: inside a value its quotes would be escaped, or another field would follow.
  ['principal', '(null|\\{"subject":"[^\\\\\\x00-\\x1f]*?\\})'],
  ['subject', WORD],
  ['credential', WORD],
  ['source_ip', WORD],
  ['user_agent', WORD],
  ['operation', WORD],
  ['object', WORD],
  ['objects', '\\[\\]'],
  ['mode', WORD],
  ['branch', WORD],
  ['backend', WORD],
  ['decision', `"(${decisions.join('|')})"`],
  ['rule', WORD],
  ['policy_digest', WORD],
  ['rights', '\\[\\]'],
  ['shadow', 'null'],
  ['status', COUNT],
  ['code', COUNT],
  ['bytes_in', COUNT],
  ['bytes_out', COUNT],
  ['context', '\\{\\}'],
  ['commit', 'null'],
] as const;

const QUOTED = TEXT.replace('(', '(?:');
const LIST = `\\[(?:${QUOTED}(?:,${QUOTED})*)?\\]`;
const INTEGER = NUMBER.replace('(', '(?:');

/** Restrictions, what was read, and credentials. */
const READING = `((?:,"restrictions":${LIST})?(?:,"read":\\{"columns":${LIST},"rows":${INTEGER},"version":${INTEGER},"filter":(?:null|${QUOTED})\\})?(?:,"vended":\\{"prefix":${QUOTED},"access":${QUOTED},"until":(?:null|${QUOTED})\\})?)`;

const LINE = new RegExp(
  `^\\{${SHAPE.map(([name, pattern]) => `"${name}":${pattern}`).join(',')}${READING},"hash":${TEXT}\\}$`,
);

const NO_READING = { restrictions: [], read: null, vended: null };

/** Decodes structured values from their JSON. */
interface PlainParts {
  readonly principalOf: (json: string) => LoggedRecord['principal'];
  /** Decodes fields of a line, with the comma before them. */
  readonly readingOf: (json: string) => Required<LastFields>;
}

/**
 * Decodes the most frequent form of a line, exactly as this program writes it, by a regular
 * expression: several times as fast as JSON. Undefined for any other line.
 */
export function plainRecord(
  line: string,
  { principalOf, readingOf }: PlainParts,
): LoggedRecord | undefined {
  const found = LINE.exec(line);
  if (found === null) return undefined;
  const text = (at: number): string => found[at]!;
  const word = (at: number): string | null => found[at] ?? null;
  const count = (at: number): bigint | null => (found[at] === undefined ? null : BigInt(found[at]));
  const number = (at: number): number | null =>
    found[at] === undefined ? null : Number(found[at]);
  return {
    instance: text(1),
    sequence: BigInt(text(2)),
    phase: text(3) as LoggedRecord['phase'],
    time: text(4),
    duration_us: count(5),
    request_id: text(6),
    decision_id: text(7),
    principal: principalOf(text(8)),
    subject: word(9),
    credential: word(10),
    source_ip: word(11),
    user_agent: word(12),
    operation: word(13),
    object: word(14),
    objects: [],
    mode: word(15),
    branch: word(16),
    backend: word(17),
    decision: text(18) as LoggedRecord['decision'],
    rule: word(19),
    policy_digest: word(20),
    rights: [],
    shadow: null,
    status: number(21),
    code: number(22),
    bytes_in: count(23),
    bytes_out: count(24),
    context: {},
    commit: null,
    ...(text(25) === '' ? NO_READING : readingOf(text(25))),
    hash: text(26),
  };
}
