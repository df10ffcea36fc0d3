import type { Principal } from '../../protocol/principal.ts';
import type { CommitRule, RuleSet } from '../../rules/commit-rule.ts';
import type { WrittenRule } from './commits.ts';
import { noRoles, type Roles } from '../lines/packed-roles.ts';
import { PrincipalViews } from '../lines/principal-views.ts';

/** The commit rules of a policy, by principal. */
export class CommitBook {
  static readonly empty = new CommitBook([], noRoles, '');

  readonly rules: readonly WrittenRule[];
  /** Another one once the rules are. */
  readonly digest: string;
  readonly #views: PrincipalViews<RuleSet>;

  constructor(rules: readonly WrittenRule[], roles: Roles, digest: string) {
    this.rules = rules;
    this.digest = digest;
    this.#views = new PrincipalViews(roles, (names) => ({
      digest,
      rules: rules.filter(({ except }) => !except.some((name) => names.has(name))),
    }));
  }

  /** The rules that bind a principal. */
  binding(principal: Principal): RuleSet {
    return this.rules.length === 0 ? NONE : this.#views.of(principal).extra;
  }

  /** Every rule; background work is subject to all. */
  get all(): RuleSet {
    return { digest: this.digest, rules: this.rules };
  }
}

const NONE: RuleSet = { digest: '', rules: [] satisfies readonly CommitRule[] };
