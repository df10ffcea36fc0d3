/** One thing that is wrong with a policy file, or worth a warning. */
export interface Finding {
  readonly file: string;
  /** Counted from 1; absent when it is about the file as a whole. */
  readonly line?: number;
  /** What is wrong, without the place. */
  readonly text: string;
}

/** The finding as it is shown: `policy.csv:12: what is wrong`. */
export function formatFinding(finding: Finding): string {
  const place = finding.line === undefined ? finding.file : `${finding.file}:${finding.line}`;
  return `${place}: ${finding.text}`;
}

/** A policy that is refused whole; says everything that is wrong with it. */
export class PolicyError extends Error {
  /** `file:line: what is wrong`, in the order of the lines. */
  readonly findings: readonly string[];
  /** Whether it may be good the next time, though its folder stays as it is. */
  readonly passing: boolean;

  constructor(findings: readonly Finding[], passing = false) {
    const shown = findings.map(formatFinding);
    super(shown.join('\n'));
    this.name = 'PolicyError';
    this.findings = shown;
    this.passing = passing;
  }
}
