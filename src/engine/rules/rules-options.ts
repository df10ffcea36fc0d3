import type { Notes } from '../../store/notes.ts';
import type { RuleSource } from './commit-judge.ts';

/** Commit rules, and what they need of the world. */
export interface RulesOptions {
  readonly source: () => RuleSource;
  /** The key by which what a webhook is told is signed, by the name of its variable. */
  readonly secret: (name: string) => string | undefined;
  /** Where all processes of the catalog write down what webhooks were asked; each for itself when absent. */
  readonly verdicts?: Notes;
}
