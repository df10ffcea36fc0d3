import { CommitBook } from '../../src/policy/settings/commit-book.ts';
import { parseCommits } from '../../src/policy/settings/commits.ts';
import { RoleGraph } from '../../src/policy/lines/role-graph.ts';
import type { RoleLine } from '../../src/policy/lines/policy-line.ts';
import type { RulesOptions } from '../../src/engine/rules/commit-judge.ts';

/** Commit rules that a test changes while the engine runs. */
export class Rulebook implements RulesOptions {
  readonly secrets = new Map<string, string>();
  #book = CommitBook.empty;
  #count = 0;
  readonly source = () => this.#book;
  readonly secret = (name: string) => this.secrets.get(name);

  /** Puts rules in force: the text of a `commits.yaml`. */
  set(text: string, roles: readonly RoleLine[] = []): void {
    this.#book = new CommitBook(parseCommits(text), new RoleGraph(roles), String(++this.#count));
  }

  /** One rule on all tables: what it demands, as YAML on one line, and more of its keys. */
  demand(require: string, more = ''): void {
    this.set(
      `rules:\n  - { name: demand, tables: ["/**"], require: { ${require} }${more && `, ${more}`} }\n`,
    );
  }

  clear(): void {
    this.#book = CommitBook.empty;
  }
}
