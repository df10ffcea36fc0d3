import {
  tableFormats,
  type FormatOf,
  type TableFormat,
} from '../../engine/versions/table-format.ts';
import { parsePattern, patternMatches } from '../../policy/lines/pattern.ts';
import { good, type SettingKind, type SettingReading } from './config-kinds.ts';

/** The format of the new tables of some patterns. */
export interface FormatSetting {
  readonly tables: readonly string[];
  readonly format: TableFormat;
}

type Formats = readonly FormatSetting[];
type Reading = SettingReading<Formats>;

const EXAMPLE = '[{ tables: ["/spark/**"], format: lance }]';

/** Formats of new tables by their paths; the first match counts. */
export const formats: SettingKind<Formats> = {
  name: 'list of maps',
  text: { kind: 'yaml', example: EXAMPLE },
  read,
};

/** The format of a new table by the configuration. */
export function formatOfConfig(list: Formats, otherwise: TableFormat): FormatOf {
  const parsed = list.map(({ tables, format }) => ({
    patterns: tables.flatMap((text) => {
      const result = parsePattern(text);
      return 'pattern' in result ? [result.pattern] : [];
    }),
    format,
  }));
  return (path) =>
    parsed.find(({ patterns }) => patterns.some((each) => patternMatches(each, path)))?.format ??
    otherwise;
}

const KEYS = ['tables', 'format'];

function read(value: unknown): Reading {
  if (!Array.isArray(value)) {
    return { kind: 'wrong', must: `a list such as ${EXAMPLE}` };
  }
  for (const [at, entry] of value.entries()) {
    const fault = faultOf(entry, at);
    if (fault !== undefined) return fault;
  }
  return good(value as Formats);
}

function faultOf(entry: unknown, at: number): Reading | undefined {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return { kind: 'wrong', must: 'tables and a format', at: [at], found: entry };
  }
  const members = entry as Readonly<Record<string, unknown>>;
  const other = Object.keys(members).find((key) => !KEYS.includes(key));
  if (other !== undefined) return { kind: 'unknown', at: [at, other] };
  const { tables, format } = members;
  const must = patternsFault(tables);
  if (must !== undefined) return { kind: 'wrong', must, at: [at, 'tables'], found: tables };
  if (tableFormats.some((each) => each === format)) return undefined;
  const one = `one of ${tableFormats.join(', ')}`;
  return { kind: 'wrong', must: one, at: [at, 'format'], found: format };
}

function patternsFault(tables: unknown): string | undefined {
  if (!Array.isArray(tables) || tables.length === 0) return 'a list of at least one pattern';
  for (const text of tables as readonly unknown[]) {
    const result = typeof text === 'string' ? parsePattern(text) : { fault: 'it is no text' };
    if ('fault' in result) return `patterns as in a policy: ${result.fault}`;
  }
  return undefined;
}
