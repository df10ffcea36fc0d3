import type { CommitSummary } from '../../protocol/commit-summary.ts';
import { isJsonObject, parseJson, type JsonValue } from '../../protocol/json.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import type { ReadSummary } from '../../protocol/read-summary.ts';
import type { VendSummary } from '../../protocol/vend-summary.ts';
import type { LastFields } from './encoding.ts';
import { plainRecord } from './plain-line.ts';
import {
  decisions,
  type ExtraRights,
  type AuditPrincipal,
  type Decision,
  type LoggedRecord,
  type Phase,
  shadowDecisions,
  type ShadowVerdict,
} from './record.ts';

type JsonObject = { readonly [key: string]: JsonValue };

/** A line that is not a record of the audit log, or has a damaged field. */
export class RecordFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RecordFault';
  }
}

/**
 * Decodes a line. Unknown fields are ignored.
 * @throws RecordFault that names the field, or says that the line is no JSON object.
 */
export function decodeRecord(line: string): LoggedRecord {
  const plain = plainRecord(line, { principalOf: cachedPrincipal, readingOf });
  if (plain !== undefined) return plain;
  const fields = objectOf(line);
  return {
    instance: text(fields, 'instance'),
    sequence: integer(fields, 'sequence'),
    phase: phaseOf(text(fields, 'phase')),
    time: text(fields, 'time'),
    duration_us: integerOrNull(fields, 'duration_us'),
    request_id: text(fields, 'request_id'),
    decision_id: text(fields, 'decision_id'),
    principal: principalOf(fields['principal']),
    subject: textOrNull(fields, 'subject'),
    credential: textOrNull(fields, 'credential'),
    source_ip: textOrNull(fields, 'source_ip'),
    user_agent: textOrNull(fields, 'user_agent'),
    operation: textOrNull(fields, 'operation'),
    object: textOrNull(fields, 'object'),
    objects: texts(fields, 'objects'),
    mode: textOrNull(fields, 'mode'),
    branch: textOrNull(fields, 'branch'),
    backend: textOrNull(fields, 'backend'),
    decision: decisionOf(text(fields, 'decision')),
    rule: textOrNull(fields, 'rule'),
    policy_digest: textOrNull(fields, 'policy_digest'),
    rights: rightsOf(fields['rights']),
    shadow: shadowOf(fields['shadow']),
    status: numberOrNull(fields, 'status'),
    code: numberOrNull(fields, 'code'),
    bytes_in: integerOrNull(fields, 'bytes_in'),
    bytes_out: integerOrNull(fields, 'bytes_out'),
    context: contextOf(fields['context']),
    commit: commitOf(fields['commit']),
    ...readingFields(fields),
    hash: text(fields, 'hash'),
  };
}

const phases: readonly Phase[] = ['attempt', 'outcome'];

/** Fields that earlier versions of the program did not write. */
const LATER = ['rights', 'shadow'];

function objectOf(line: string): JsonObject {
  const value = jsonOf(line);
  if (!isJsonObject(value)) throw new RecordFault('the line is not a JSON object');
  const missing = LATER.find((name) => !(name in value));
  if (missing !== undefined) throw otherVersion(`an audit record has no field "${missing}"`);
  return value;
}

/** The error for a record of another version of the program. */
export function otherVersion(what: string): RecordFault {
  return new RecordFault(
    `${what}: another version of the program wrote it, and this one cannot read it`,
  );
}

function jsonOf(line: string): JsonValue {
  try {
    return parseJson(line);
  } catch {
    throw new RecordFault('the line is not JSON');
  }
}

/** Last decoded principal and its JSON: the next record usually has the same. */
let lastPrincipal: { readonly json: string; readonly principal: AuditPrincipal | null } = {
  json: 'null',
  principal: null,
};

function cachedPrincipal(json: string): AuditPrincipal | null {
  if (json !== lastPrincipal.json) lastPrincipal = { json, principal: principalOf(jsonOf(json)) };
  return lastPrincipal.principal;
}

function principalOf(value: JsonValue | undefined): AuditPrincipal | null {
  if (value === null) return null;
  const fields = inner(value, 'principal');
  return {
    subject: text(fields, 'subject'),
    groups: texts(fields, 'groups'),
    roles: texts(fields, 'roles'),
    scopes: scopesOf(fields['scopes']),
  };
}

function scopesOf(value: JsonValue | undefined): readonly KeyScope[] | null {
  if (value === null) return null;
  if (!Array.isArray(value)) throw fault('scopes', 'a list');
  return value.map((scope) => {
    const fields = inner(scope, 'scopes');
    return { action: text(fields, 'action'), pattern: text(fields, 'pattern') };
  });
}

function rightsOf(value: JsonValue | undefined): readonly ExtraRights[] {
  if (!Array.isArray(value)) throw fault('rights', 'a list');
  return value.map((right) => {
    const fields = inner(right, 'rights');
    return {
      action: text(fields, 'action'),
      branch: textOrNull(fields, 'branch'),
      objects: texts(fields, 'objects'),
    };
  });
}

function shadowOf(value: JsonValue | undefined): ShadowVerdict | null {
  if (value === null) return null;
  const fields = inner(value, 'shadow');
  return {
    decision: verdictOf(text(fields, 'decision')),
    rule: textOrNull(fields, 'rule'),
    policy_digest: text(fields, 'policy_digest'),
  };
}

function commitOf(value: JsonValue | undefined): CommitSummary | null {
  if (value === null) return null;
  const fields = inner(value, 'commit');
  const changed = fields['schema_changed'];
  if (typeof changed !== 'boolean') throw fault('schema_changed', 'true or false');
  return {
    kind: text(fields, 'kind'),
    baseVersion: integerOrNull(fields, 'base_version'),
    version: integerOrNull(fields, 'version'),
    rowsAdded: integer(fields, 'rows_added'),
    rowsRemoved: integer(fields, 'rows_removed'),
    schemaChanged: changed,
    rules: texts(fields, 'rules'),
    ...('rows_changed' in fields && {
      table: textOrNull(fields, 'table'),
      rowsChanged: integer(fields, 'rows_changed'),
      columns: texts(fields, 'columns'),
      statement: textOrNull(fields, 'statement'),
    }),
  };
}

/** The fields that `readingText` wrote. */
function readingOf(json: string): Required<LastFields> {
  // They follow other fields, with a comma.
  return readingFields(inner(jsonOf(`{${json.slice(1)}}`), 'read'));
}

function readingFields(fields: JsonObject): Required<LastFields> {
  return {
    restrictions: 'restrictions' in fields ? texts(fields, 'restrictions') : [],
    read: 'read' in fields ? readOf(fields['read']) : null,
    vended: 'vended' in fields ? vendedOf(fields['vended']) : null,
    canary: 'canary' in fields ? textOrNull(fields, 'canary') : null,
  };
}

function readOf(value: JsonValue | undefined): ReadSummary {
  const fields = inner(value, 'read');
  return {
    columns: texts(fields, 'columns'),
    rows: integer(fields, 'rows'),
    version: integer(fields, 'version'),
    filter: textOrNull(fields, 'filter'),
  };
}

function vendedOf(value: JsonValue | undefined): VendSummary {
  const fields = inner(value, 'vended');
  return {
    prefix: text(fields, 'prefix'),
    access: text(fields, 'access'),
    until: textOrNull(fields, 'until'),
  };
}

function contextOf(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const fields = inner(value, 'context');
  return Object.fromEntries(Object.keys(fields).map((key) => [key, text(fields, key)]));
}

function inner(value: JsonValue | undefined, name: string): JsonObject {
  if (!isJsonObject(value)) throw fault(name, 'an object');
  return value;
}

function text(fields: JsonObject, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string') throw fault(name, 'a text');
  return value;
}

function textOrNull(fields: JsonObject, name: string): string | null {
  return fields[name] === null ? null : text(fields, name);
}

function texts(fields: JsonObject, name: string): readonly string[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw fault(name, 'a list');
  return value.map((item) => {
    if (typeof item !== 'string') throw fault(name, 'a list of texts');
    return item;
  });
}

function integer(fields: JsonObject, name: string): bigint {
  const value = fields[name];
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'number' || !Number.isInteger(value)) throw fault(name, 'an integer');
  return BigInt(value);
}

function integerOrNull(fields: JsonObject, name: string): bigint | null {
  return fields[name] === null ? null : integer(fields, name);
}

function numberOrNull(fields: JsonObject, name: string): number | null {
  const value = integerOrNull(fields, name);
  return value === null ? null : Number(value);
}

/** @throws RecordFault */
export function phaseOf(value: string): Phase {
  return oneOf(phases, value, 'phase');
}

/** @throws RecordFault */
export function decisionOf(value: string): Decision {
  return oneOf(decisions, value, 'decision');
}

/** @throws RecordFault */
export function verdictOf(value: string): ShadowVerdict['decision'] {
  return oneOf(shadowDecisions, value, 'shadow');
}

function oneOf<Value extends string>(values: readonly Value[], value: string, name: string): Value {
  const found = values.find((each) => each === value);
  if (found === undefined) throw fault(name, values.join(', '));
  return found;
}

function fault(name: string, expected: string): RecordFault {
  return new RecordFault(`the field "${name}" of an audit record is not ${expected}`);
}
