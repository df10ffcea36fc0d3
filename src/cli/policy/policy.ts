import type { Command } from 'commander';
import { addCheck, addSeal } from './policy-check.ts';
import { addDiff } from './policy-diff.ts';
import { addExplain } from './policy-explain.ts';
import { addLog } from './policy-log.ts';
import { addReplay } from './policy-replay.ts';
import { addUnused } from './policy-unused.ts';
import { addWhoCommand } from './policy-who.ts';
import type { Run } from '../output/output.ts';

/** `arrowgate policy check|explain|who|seal|replay|unused|log|diff`. */
export function addPolicy(program: Command, run: Run): void {
  const policy = program.command('policy').description('check and explain the policy files');
  addCheck(policy, run);
  addExplain(policy, run);
  addWhoCommand(policy, run);
  addSeal(policy, run);
  addReplay(policy, run);
  addUnused(policy, run);
  addLog(policy, run);
  addDiff(policy, run);
}
