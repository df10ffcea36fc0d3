import { randomUUID } from 'node:crypto';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { operations } from '../../protocol/operations/operations.ts';
import { CommitJudge, type Judging } from './commit-judge.ts';

/** Subject of conversions for rules. */
const CONVERTER = 'system:conversion';

/** A table that changes its format, for rules. */
export interface JudgedConversion {
  readonly path: ObjectPath;
  /** Absolute path of the folder that it gets. */
  readonly location: string;
  /** Its tags, which do not come along. */
  readonly tags: readonly string[];
}

/** Judges a conversion. @throws RuleRefusal */
export type JudgeConversion = (conversion: JudgedConversion) => Promise<void>;

/**
 * Judges conversions, each as a commit of `system:conversion` that creates a table in place of
 * another one. Exceptions of rules do not apply, and there is no context. The rows stay, so that no
 * rule about rows is judged; each tag that does not come along counts as deleted.
 */
export function conversionJudge(judging: Judging): JudgeConversion {
  return async ({ path, location, tags }) => {
    const id = randomUUID();
    const request = { operation: operations.CreateTable, requestId: id, context: null };
    const nobody = { kind: 'key', id: '' } as const;
    const principal = { subject: CONVERTER, groups: [], roles: [], credential: nobody };
    const { all } = judging.source();
    const rules = new CommitJudge(judging, request, { principal, decisionId: id }, all);
    const commit = { table: path, keeper: 'here', change: null } as const;
    const classes = new Set(['drop', 'DropTable'] as const);
    await rules.judge({ ...commit, action: 'convert', classes, location });
    for (const tag of tags) {
      await rules.judge({ ...commit, action: 'delete_tag', operation: 'DeleteTableTag', tag });
    }
  };
}
