import { CatalogError } from '../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import { COMMITS_FILE, type CommitRule } from './commit-rule.ts';

/** A commit that a rule does not let in: names rule, table and the first thing that is wrong. */
export class RuleRefusal extends CatalogError {
  /** Where the rule stands, as `commits.yaml:12`. */
  readonly rule: string;

  constructor(rule: Pick<CommitRule, 'name' | 'line'>, table: ObjectPath, fault: string) {
    super(
      'TableSchemaValidationError',
      `the commit rule ${rule.name} refuses this of ${canonicalPath(table)}: ${fault}`,
    );
    this.name = 'RuleRefusal';
    this.rule = `${COMMITS_FILE}:${rule.line}`;
  }
}
