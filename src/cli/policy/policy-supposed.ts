import type { Command } from 'commander';
import type { Action } from '../../protocol/operations/operation.ts';
import type { Circumstances } from '../../policy/conditions/circumstances.ts';
import { supposedCircumstances, supposedFaults } from '../../policy/conditions/supposed.ts';
import { UsageError } from '../output/service-error.ts';

/** Properties of the hypothetical request, from flags. */
export interface SupposedFlags {
  readonly ip?: string;
  readonly time?: string;
  readonly ctx: readonly string[];
  readonly branch?: string;
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** Adds the flags that conditions are judged by. */
export function supposing(command: Command): Command {
  return command
    .option('--ip <address>', 'source address of the request; default: unknown')
    .option('--time <moment>', 'time of the request, such as 2026-01-31T18:30:00Z; default: now')
    .option('--ctx <key=value>', 'an entry of its context; may be repeated', collect, [])
    .option('--branch <name>', 'branch of the request; default: main');
}

/** The circumstances that the flags of a question suppose. @throws UsageError */
export function supposedOf(action: Action, flags: SupposedFlags): Circumstances {
  const { ip, time = new Date().toISOString(), ctx, branch } = flags;
  const supposed = { ip, time, context: new Map(ctx.map(entryOf)), branch };
  const [fault] = supposedFaults(supposed);
  if (fault !== undefined) throw new UsageError(fault);
  return supposedCircumstances(action, supposed);
}

function entryOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(`--ctx is ${JSON.stringify(text)}: write KEY=VALUE`);
}
