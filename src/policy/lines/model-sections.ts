import { MODEL_FILE } from './policy-line.ts';
import type { PolicyFinding } from './policy-error.ts';

/** The places of a model's definitions, and parts that casbin would ignore. */
interface ModelSections {
  /** The line of each definition, by its key. */
  readonly places: ReadonlyMap<string, number>;
  readonly findings: readonly PolicyFinding[];
}

/** The sections of a model, and the one key of each. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['request_definition', 'r'],
  ['policy_definition', 'p'],
  ['role_definition', 'g'],
  ['policy_effect', 'e'],
  ['matchers', 'm'],
]);

/** Reads the outline of `model.conf` as casbin does, strictly. */
export function readSections(text: string): ModelSections {
  const places = new Map<string, number>();
  const findings: PolicyFinding[] = [];
  let section: string | undefined;
  for (const { line, content } of definitions(text)) {
    const opened = /^\[(.*)\]$/.exec(content)?.[1];
    const fault = opened === undefined ? keyFault(content, section, places) : sectionFault(opened);
    if (fault !== undefined) findings.push({ file: MODEL_FILE, line, text: fault });
    if (opened !== undefined) section = opened;
    else places.set(keyOf(content), line);
  }
  return { places, findings };
}

interface Definition {
  readonly line: number;
  /** Without comment; only the first of several lines joined by backslashes. */
  readonly content: string;
}

function* definitions(text: string): Generator<Definition> {
  let continued = false;
  for (const [index, raw] of text.split('\n').entries()) {
    const content = raw.replace(/[#;].*$/s, '').trim();
    if (content === '') continue;
    if (!continued) yield { line: index + 1, content };
    continued = content.endsWith('\\');
  }
}

function keyOf(content: string): string {
  return content.split('=', 1)[0]!.trim();
}

function sectionFault(section: string): string | undefined {
  if (KEYS.has(section)) return undefined;
  return `unknown section [${section}]: there are ${[...KEYS.keys()].join(', ')}`;
}

function keyFault(
  content: string,
  section: string | undefined,
  places: ReadonlyMap<string, number>,
): string | undefined {
  const key = keyOf(content);
  if (!content.includes('=')) return `${JSON.stringify(content)} is not "key = value"`;
  if (section === undefined) return `the key ${key} stands before any section`;
  const wanted = KEYS.get(section);
  // An unknown section is a finding by itself.
  if (wanted === undefined) return undefined;
  if (key !== wanted) return `unknown key ${key}: this section has the one key ${wanted}`;
  return places.has(key) ? `the key ${key} is defined twice` : undefined;
}
