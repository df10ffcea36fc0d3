/** One thing that is wrong with a policy file, or worth a warning. */
export interface PolicyFinding {
  readonly file: string;
  /** Counted from 1; absent when it is about the file as a whole. */
  readonly line?: number;
  /** The fault, without its place. */
  readonly text: string;
}

/** Formats a finding: `policy.csv:12: fault`. */
export function formatFinding(finding: PolicyFinding): string {
  const place = finding.line === undefined ? finding.file : `${finding.file}:${finding.line}`;
  return `${place}: ${finding.text}`;
}

const FORMATTED = /^([\w.-]+)(?::([1-9]\d*))?: ([^]*)$/;

/** The finding of a formatted text; about no file if the text names none. */
export function parsedFinding(text: string): PolicyFinding {
  const [, file = '', line, rest = text] = FORMATTED.exec(text) ?? [];
  return { file, ...(line === undefined ? {} : { line: Number(line) }), text: rest };
}

/** A policy that is refused as a whole, with all of its faults. */
export class PolicyError extends Error {
  /** `file:line: fault`, in the order of the lines. */
  readonly findings: readonly string[];
  /** Whether it may be good the next time, though its folder stays as it is. */
  readonly passing: boolean;

  /** @param findings Texts are formatted already. */
  constructor(findings: readonly (PolicyFinding | string)[], passing = false) {
    const shown = findings.map((one) => (typeof one === 'string' ? one : formatFinding(one)));
    super(shown.join('\n'));
    this.name = 'PolicyError';
    this.findings = shown;
    this.passing = passing;
  }
}

/** An archived policy text that does not match its digest. */
export class ArchivedPolicyError extends Error {}
