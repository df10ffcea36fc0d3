import { Helper, newModelFromString } from 'casbin';
import { POLICY_FILE } from './policy-line.ts';
import type { PolicyFinding } from './policy-error.ts';

/** A line of a policy file as its cells, the first being its kind (`p`, `g`). */
export interface CsvLine {
  readonly line: number;
  readonly cells: readonly string[];
}

export interface CsvResult {
  readonly lines: readonly CsvLine[];
  readonly findings: readonly PolicyFinding[];
}

/** Characters for which casbin's own parser is used: quotes, and brackets around commas. */
const PECULIAR = /["()]/;

const CONTROL = /(?!\t)[\p{Cc}\u2028\u2029\ufeff]/u;

/**
 * Splits a policy as casbin does: cells between commas, trimmed, quoted where
 * they hold a comma; `#` begins a comment line. Lines that casbin would drop silently
 * are findings.
 */
export function parseCsv(text: string): CsvResult {
  const lines: CsvLine[] = [];
  const findings: PolicyFinding[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const content = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    if (isComment(content)) continue;
    const result = readLine(content);
    if (typeof result === 'string') {
      findings.push({ file: POLICY_FILE, line: index + 1, text: result });
    } else {
      lines.push({ line: index + 1, cells: result });
    }
  }
  return { lines, findings };
}

function isComment(content: string): boolean {
  const text = content.trimStart();
  return text === '' || text.startsWith('#');
}

function readLine(content: string): readonly string[] | string {
  if (CONTROL.test(content)) return 'the line holds a control character or a byte order mark';
  if (!PECULIAR.test(content)) return content.split(',').map((cell) => cell.trim());
  return casbinCells(content);
}

/** The cells of a line with quotes or brackets, read by casbin's own parser. */
function casbinCells(content: string): readonly string[] | string {
  const kind = /^\s*([pg])\s*,/.exec(content)?.[1];
  if (kind === undefined) return 'the line begins neither with "p," nor with "g,"';
  const model = newModelFromString(SCRATCH_MODEL);
  try {
    Helper.loadPolicyLine(content, model);
  } catch {
    return 'casbin cannot read the line: its quotes or brackets do not match';
  }
  const cells = model.model.get(kind)?.get(kind)?.policy[0];
  return cells === undefined ? 'casbin reads nothing in this line' : [kind, ...cells];
}

/** Takes lines of both kinds and any number of cells. */
const SCRATCH_MODEL = `
[request_definition]
r = sub
[policy_definition]
p = sub
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub
`;
