import { isAbsolute, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Static } from 'typebox';
import { operations } from '../../protocol/operations/operations.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import {
  COMMITS_FILE,
  checkSyntaxFault,
  type CommitRule,
  type PlainField,
  type PlainType,
  type RequiredColumn,
  type Requirements,
  type Webhook,
} from '../../rules/commit-rule.ts';
import {
  minuteOf,
  parseWeekdays,
  isTimeZone,
  weekdayNames,
  type Freeze,
} from '../../rules/zone-clock.ts';
import { commitsSchema } from './commits-schema.ts';
import { readNamedEntries, type EntryFaults } from './entry-reader.ts';
import { patternMatches, type Pattern } from '../lines/pattern.ts';
import { nearestAction, rightsOfAction } from '../lines/rights.ts';
import { readTypedYaml } from './typed-yaml.ts';

type Entry = Static<typeof commitsSchema>['rules'][number];

/** A rule as the policy folder has it. */
export interface WrittenRule extends CommitRule {
  readonly patterns: readonly Pattern[];
  /** Names of exempt principals. */
  readonly except: readonly string[];
}

/** A rule as plain data, which moves between threads. */
export type RuleData = Omit<WrittenRule, 'covers'>;

export function ruleData(rule: WrittenRule): RuleData {
  const data: RuleData & { covers?: unknown } = { ...rule };
  delete data.covers;
  return data;
}

/** The rule of its data. */
export function ruleOf(data: RuleData): WrittenRule {
  const covers = (table: ObjectPath): boolean =>
    data.patterns.some((pattern) => patternMatches(pattern, table));
  return { ...data, covers };
}

/**
 * Reads the text of a `commits.yaml`.
 * @throws PolicyError with everything that is wrong with it.
 */
export function parseCommits(text: string): readonly WrittenRule[] {
  const { value, lineOf } = readTypedYaml(COMMITS_FILE, text, commitsSchema);
  const list = { file: COMMITS_FILE, key: 'rules', entries: value.rules, lineOf };
  return readNamedEntries(list, (entry, faults) => new RuleReader(entry, faults).read());
}

/** Default timeout of a webhook, as it is written. */
export const WEBHOOK_TIMEOUT = '2s';

/** Reads one rule and collects its faults. */
class RuleReader {
  readonly #entry: Entry;
  readonly #faults: EntryFaults;

  constructor(entry: Entry, faults: EntryFaults) {
    this.#entry = entry;
    this.#faults = faults;
  }

  read(): WrittenRule {
    const { name, tables, mode, except = [], webhook } = this.#entry;
    if (this.#entry.require === undefined && webhook === undefined) {
      this.#faults.add(['name'], `the rule ${name} has neither require nor webhook`);
    }
    const patterns = this.#faults.tables(tables);
    this.#faults.principals('except', except);
    return ruleOf({
      name,
      line: this.#faults.lineOf(['name']),
      tables,
      patterns,
      actions: this.#actions(),
      except,
      enforced: mode !== 'warn',
      require: this.#requirements(),
      webhook: webhook === undefined ? null : this.#webhook(webhook),
    });
  }

  #actions(): ReadonlySet<Action> | null {
    const { operations: named } = this.#entry;
    if (named === undefined) return null;
    const actions = named.flatMap((name, at) => this.#partsOf(name, at));
    return new Set(actions);
  }

  #partsOf(name: string, at: number): readonly Action[] {
    const parts = rightsOfAction(name);
    if (parts === undefined) {
      const near = nearestAction(name);
      const hint = near === undefined ? '' : `: write ${near}`;
      this.#faults.add(['operations', at], `unknown operation ${JSON.stringify(name)}${hint}`);
      return [];
    }
    const mutating = parts.filter((part) => part in operations && isMutation(part));
    if (mutating.length === 0) {
      this.#faults.add(['operations', at], `${name} changes nothing: the rule could never act`);
    }
    // A group is kept by its name too: only the manifest tells the operation of a Lance commit.
    return [...mutating, ...(mutating.some((part) => part === name) ? [] : [name as Action])];
  }

  #requirements(): Requirements {
    const { columns, freeze, locations, context, max_rows, max_bytes, ...plain } =
      this.#entry.require ?? {};
    if (plain.check !== undefined)
      this.#faults.add(['require', 'check'], checkSyntaxFault(plain.check));
    return {
      ...plain,
      ...(max_rows !== undefined && { max_rows: BigInt(max_rows) }),
      ...(max_bytes !== undefined && { max_bytes: BigInt(max_bytes) }),
      ...(context !== undefined && { context: context.map((key) => key.toLowerCase()) }),
      ...(columns !== undefined && {
        columns: columns.map((column, at) => this.#column(column, at)),
      }),
      ...(freeze !== undefined && { freeze: freeze.map((window, at) => this.#freeze(window, at)) }),
      ...(locations !== undefined && {
        locations: locations.map((text, at) => this.#folder(text, at)),
      }),
    };
  }

  #column(
    { name, type, nullable }: NonNullable<NonNullable<Entry['require']>['columns']>[number],
    at: number,
  ): RequiredColumn {
    const read = plainType(type);
    if (read === undefined) {
      this.#faults.add(
        ['require', 'columns', at, 'type'],
        `the type of ${JSON.stringify(name)} is no type of the namespace vocabulary`,
      );
    }
    return {
      name,
      type: read ?? { type: 'null' },
      ...(nullable !== undefined && { nullable }),
    };
  }

  #freeze(
    window: NonNullable<NonNullable<Entry['require']>['freeze']>[number],
    at: number,
  ): Freeze {
    const path = ['require', 'freeze', at];
    const { days = 'mon..sun', zone = 'UTC' } = window;
    const found = [days].flat().map((text) => parseWeekdays(text));
    if (found.includes(undefined)) {
      this.#faults.add(
        [...path, 'days'],
        `days must be of ${weekdayNames.join(', ')}, such as fri..sun`,
      );
    }
    const [from, to] = [minuteOf(window.from), minuteOf(window.to)];
    if (from === undefined || from === 1440) {
      this.#faults.add([...path, 'from'], 'from must be a time such as 22:00');
    }
    if (to === undefined) this.#faults.add([...path, 'to'], 'to must be a time such as 06:00');
    if (!isTimeZone(zone)) {
      this.#faults.add([...path, 'zone'], `${JSON.stringify(zone)} is no time zone that is known`);
    }
    return {
      days: new Set(found.flatMap((some) => some ?? [])),
      from: from ?? 0,
      to: to ?? 0,
      zone,
      text: `from ${window.from} to ${window.to} ${zone} on ${[days].flat().join(', ')}`,
    };
  }

  #folder(text: string, at: number): string {
    if (/^s3:\/\/[^/]/.test(text)) return text.replace(/\/+$/, '');
    const path = text.startsWith('file://') && URL.canParse(text) ? fileURLToPath(text) : text;
    if (!isAbsolute(path)) {
      this.#faults.add(
        ['require', 'locations', at],
        `the location ${JSON.stringify(text)} is no absolute path, file URL or s3 URI`,
      );
    }
    return normalize(path).replace(/\/+$/, '');
  }

  #webhook({
    url,
    timeout = WEBHOOK_TIMEOUT,
    on_failure,
    secret_env,
  }: NonNullable<Entry['webhook']>): Webhook {
    this.#faults.add(['webhook', 'url'], addressFault(url));
    const timeoutMillis = Number.parseInt(timeout, 10) * (timeout.endsWith('ms') ? 1 : 1000);
    if (timeoutMillis > 30_000) {
      this.#faults.add(['webhook', 'timeout'], `timeout must be at most 30s, not "${timeout}"`);
    }
    return { url, timeoutMillis, onFailure: on_failure ?? 'closed', secretEnv: secret_env };
  }
}

function isMutation(action: Action): boolean {
  return Object.values(operations).some(({ name, mutates }) => name === action && mutates);
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function addressFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return 'the url of the webhook is no valid URL';
  if (url.username !== '' || url.password !== '') {
    return 'the url of the webhook holds a user or a password: it is signed by a key instead';
  }
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && LOOPBACK.test(url.hostname)) return undefined;
  return 'the url of the webhook must begin https:// unless it is on this machine: otherwise the verdict could be changed in transit';
}

/** Names of types that stand alone (src/arrow/json-schema.ts writes them). */
const SCALAR =
  /^(null|bool|u?int(8|16|32|64)|float(16|32|64)|(large_)?(utf8|binary)|date(32|64)|time(32|64)|timestamp|duration)$/;
const NESTED =
  /^(list|large_list|fixed_size_list|struct|map|union|fixed_size_binary|decimal(32|64|128|256))$/;

function plainType(written: unknown): PlainType | undefined {
  if (typeof written === 'string') return plainType({ type: written });
  if (!isMapping(written) || typeof written['type'] !== 'string') return undefined;
  const { type, fields, length, ...more } = written;
  if (Object.keys(more).length > 0 || !(SCALAR.test(type) || NESTED.test(type))) return undefined;
  if (SCALAR.test(type)) {
    return fields === undefined && length === undefined ? { type } : undefined;
  }
  const inner = fields === undefined ? undefined : plainFields(fields);
  if ((fields !== undefined && inner === undefined) || !isLength(length)) return undefined;
  return {
    type,
    ...(inner !== undefined && { fields: inner }),
    ...(length !== undefined && { length }),
  };
}

function isLength(length: unknown): length is number | undefined {
  return length === undefined || (typeof length === 'number' && Number.isInteger(length));
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function plainFields(fields: unknown): readonly PlainField[] | undefined {
  if (!Array.isArray(fields)) return undefined;
  const read = fields.map((field: unknown) => {
    if (!isMapping(field)) return undefined;
    const { name, type, nullable = true, ...more } = field;
    const inner = plainType(type);
    const fits = typeof name === 'string' && typeof nullable === 'boolean';
    return !fits || inner === undefined || Object.keys(more).length > 0
      ? undefined
      : { name, type: inner, nullable };
  });
  return read.every((field) => field !== undefined) ? read : undefined;
}
