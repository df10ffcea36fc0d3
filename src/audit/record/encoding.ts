import type { CommitSummary } from '../../protocol/commit-summary.ts';
import type { ReadSummary } from '../../protocol/read-summary.ts';
import type { VendSummary } from '../../protocol/vend-summary.ts';
import type { ExtraRights, AuditPrincipal, AuditRecord, ShadowVerdict } from './record.ts';

/** Maximum number of cached texts. */
const CACHED_TEXTS = 512;
/** Maximum length of a cached text. */
const CACHED_LENGTH = 4096;

/** Cached text of some fields of a record. */
interface EncodedFields {
  readonly record: AuditRecord;
  text: string;
  isFlat: boolean;
}

/**
 * Encodes fields that records often share, and caches the text: the outcome of a request
 * shares them with its attempt, and requests of one caller with each other.
 */
class RepeatedText {
  readonly #keyOf: (record: AuditRecord) => string | null;
  readonly #isSame: (one: AuditRecord, other: AuditRecord) => boolean;
  readonly #write: (record: AuditRecord) => string;
  readonly #cached = new Map<string | null, EncodedFields>();

  /** @param keyOf Cache key; the last text of each key is cached. */
  constructor(
    keyOf: (record: AuditRecord) => string | null,
    isSame: (one: AuditRecord, other: AuditRecord) => boolean,
    write: (record: AuditRecord) => string,
  ) {
    this.#keyOf = keyOf;
    this.#isSame = isSame;
    this.#write = write;
  }

  text(record: AuditRecord): string {
    const key = this.#keyOf(record);
    const cached = this.#cached.get(key);
    if (cached === undefined || !this.#isSame(cached.record, record)) return this.#add(key, record);
    if (!cached.isFlat) {
      // V8 represents a concatenated text as a tree; a copy is flat.
      cached.text = Buffer.from(cached.text).toString();
      cached.isFlat = true;
    }
    return cached.text;
  }

  #add(key: string | null, record: AuditRecord): string {
    const text = this.#write(record);
    if (text.length > CACHED_LENGTH) return text;
    if (this.#cached.size >= CACHED_TEXTS) this.#cached.clear();
    this.#cached.set(key, { record, text, isFlat: false });
    return text;
  }
}

const USER_AGENT_LENGTH = 256;

/** Beginning of a record's line: its place in the log, which is known when it is written. */
export function recordPrefix(instance: string, sequence: bigint): string {
  return `${instancePrefix(instance)}${sequence},`;
}

/** The same up to the sequence number. */
export function instancePrefix(instance: string): string {
  return `{"instance":${quotedText(instance)},"sequence":`;
}

/**
 * Fields of a record's line after its place; `HashChain` appends the hash. All fields are
 * present, in this order; absent values are null. Integers are JSON integers of any size.
 * Exception: restrictions, reads, credentials and canaries are left out where there are none, as in
 * records of versions that did not write them.
 */
export function recordText(record: AuditRecord): string {
  return (
    `"phase":"${record.phase}","time":${quotedText(record.time)}` +
    `,"duration_us":${integer(record.duration_us)}` +
    `,"request_id":${quotedText(record.request_id)},"decision_id":${quotedText(record.decision_id)}` +
    `${caller.text(record)}${question.text(record)}${isPlainRecord(record) ? plainText(record) : furtherText(record)}` +
    readingText(record)
  );
}

/** Whether a record has no rights, shadow verdict, context and commit, which is the most frequent case. */
export function isPlainRecord({ rights, shadow, context, commit }: AuditRecord): boolean {
  for (const _ in context) return false;
  return (
    (rights === undefined || rights.length === 0) &&
    (shadow === undefined || shadow === null) &&
    (commit === undefined || commit === null)
  );
}

function plainText(record: AuditRecord): string {
  if (record.phase === 'attempt' && isUnanswered(record)) return UNANSWERED;
  return (
    `,"rights":[],"shadow":null,"status":${integer(record.status)},"code":${integer(record.code)}` +
    `,"bytes_in":${integer(record.bytes_in)},"bytes_out":${integer(record.bytes_out)},"context":{},"commit":null`
  );
}

/** Text of a plain record without an answer. */
const UNANSWERED =
  ',"rights":[],"shadow":null,"status":null,"code":null,"bytes_in":null,"bytes_out":null,"context":{},"commit":null';

function isUnanswered({ status, code, bytes_in, bytes_out }: AuditRecord): boolean {
  return (
    (status ?? null) === null &&
    (code ?? null) === null &&
    (bytes_in ?? null) === null &&
    (bytes_out ?? null) === null
  );
}

function furtherText(record: AuditRecord): string {
  return (
    `,"rights":${rightsText(record.rights)},"shadow":${shadowText(record.shadow)}` +
    `,"status":${integer(record.status)},"code":${integer(record.code)}` +
    `,"bytes_in":${integer(record.bytes_in)},"bytes_out":${integer(record.bytes_out)}` +
    `,"context":${contextText(record.context)},"commit":${commitText(record.commit)}`
  );
}

/** The last fields of a record: restrictions, what was read, credentials, and canaries. */
export function readingText(record: LastFields): string {
  const { restrictions = [], read = null, vended = null, canary = null } = record;
  return (
    (restrictions.length === 0 ? '' : `,"restrictions":${texts(restrictions)}`) +
    (read === null ? '' : `,"read":${readText(read)}`) +
    (vended === null ? '' : `,"vended":${vendedText(vended)}`) +
    (canary === null ? '' : `,"canary":${quotedText(canary)}`)
  );
}

/** Fields that are left out where they have no value. */
export type LastFields = Pick<AuditRecord, 'restrictions' | 'read' | 'vended' | 'canary'>;

function vendedText({ prefix, access, until }: VendSummary): string {
  return `{"prefix":${quotedText(prefix)},"access":${quotedText(access)},"until":${quotedText(until)}}`;
}

function readText({ columns, rows, version, filter }: ReadSummary): string {
  return (
    `{"columns":${texts(columns)},"rows":${rows},"version":${version}` +
    `,"filter":${quotedText(filter)}}`
  );
}

/** Fields of the caller. */
const caller = new RepeatedText(
  (record) => record.credential,
  (one, other) =>
    one.principal === other.principal &&
    one.subject === other.subject &&
    one.credential === other.credential &&
    one.source_ip === other.source_ip &&
    one.user_agent === other.user_agent,
  (record) =>
    `,"principal":${principalText(record.principal)},"subject":${quotedText(record.subject)}` +
    `,"credential":${quotedText(record.credential)},"source_ip":${quotedText(record.source_ip)}` +
    `,"user_agent":${quotedText(record.user_agent?.slice(0, USER_AGENT_LENGTH))}`,
);

/** Fields of the request and the decision. */
const question = new RepeatedText(
  (record) => record.object,
  (one, other) =>
    one.operation === other.operation &&
    one.object === other.object &&
    one.objects === other.objects &&
    one.mode === other.mode &&
    one.branch === other.branch &&
    one.backend === other.backend &&
    one.decision === other.decision &&
    one.rule === other.rule &&
    one.policy_digest === other.policy_digest,
  (record) =>
    `,"operation":${quotedText(record.operation)},"object":${quotedText(record.object)}` +
    `,"objects":${texts(record.objects ?? [])}` +
    `,"mode":${quotedText(record.mode)},"branch":${quotedText(record.branch)}` +
    `,"backend":${quotedText(record.backend)},"decision":"${record.decision}"` +
    `,"rule":${quotedText(record.rule)},"policy_digest":${quotedText(record.policy_digest)}`,
);

/** Strings that JSON writes without escapes. */
const PLAIN = /^[\w !#$%&'()*+,./:;<=>?@[\]^`{|}~-]*$/;

/** A text as JSON, as it stands in lines. */
export function quotedText(value: string | null | undefined): string {
  if (value === null || value === undefined) return 'null';
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
}

function integer(value: bigint | number | null | undefined): string {
  return String(value ?? null);
}

function contextText(context: AuditRecord['context']): string {
  for (const _ in context) return JSON.stringify(context);
  return '{}';
}

/** A principal as JSON, as it stands in lines. */
export function principalText(principal: AuditPrincipal | null): string {
  if (principal === null) return 'null';
  const { subject, groups, roles, scopes } = principal;
  const named = `"subject":${quotedText(subject)},"groups":${texts(groups)},"roles":${texts(roles)}`;
  return `{${named},"scopes":${JSON.stringify(scopes ?? null)}}`;
}

function texts(values: readonly string[]): string {
  return values.length === 0 ? '[]' : `[${values.map(quotedText).join(',')}]`;
}

function rightsText(rights: readonly ExtraRights[] | undefined): string {
  if (rights === undefined || rights.length === 0) return '[]';
  return JSON.stringify(rights.map(({ action, branch, objects }) => ({ action, branch, objects })));
}

function shadowText(shadow: ShadowVerdict | null | undefined): string {
  if (shadow === null || shadow === undefined) return 'null';
  const { decision, rule, policy_digest } = shadow;
  return JSON.stringify({ decision, rule, policy_digest });
}

function commitText(commit: CommitSummary | null | undefined): string {
  if (commit === null || commit === undefined) return 'null';
  return (
    `{"kind":${quotedText(commit.kind)}` +
    `,"base_version":${integer(commit.baseVersion)},"version":${integer(commit.version)}` +
    `,"rows_added":${integer(commit.rowsAdded)},"rows_removed":${integer(commit.rowsRemoved)}` +
    `,"schema_changed":${commit.schemaChanged},"rules":${JSON.stringify(commit.rules)}` +
    `${furtherCommitText(commit)}}`
  );
}

/** Commit fields that the first versions did not write; their records are hashed without these fields. */
function furtherCommitText({ table, rowsChanged, columns, statement }: CommitSummary): string {
  if (rowsChanged === undefined || rowsChanged === null) return '';
  return (
    `,"table":${quotedText(table)},"rows_changed":${integer(rowsChanged)}` +
    `,"columns":${texts(columns ?? [])},"statement":${quotedText(statement)}`
  );
}
