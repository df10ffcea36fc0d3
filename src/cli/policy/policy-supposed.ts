import type { Command } from 'commander';
import type { Action } from '../../protocol/operations/operation.ts';
import {
  supposedCircumstances,
  supposedFaults,
  type Circumstances,
} from '../../policy/conditions/circumstances.ts';
import { valueSources, type ValueSource } from '../../policy/conditions/kinds.ts';
import { UsageError } from '../output/service-error.ts';

/** Flags of a question, by name: each value that conditions look at is one of them. */
export type SupposedFlags = object;

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** Adds the flags that conditions are judged by. */
export function supposing(command: Command): Command {
  for (const { name, placeholder, flagAbout, keyed } of valueSources) {
    const flag = `--${name} ${placeholder}`;
    if (keyed) command.option(flag, flagAbout, collect, []);
    else command.option(flag, flagAbout);
  }
  return command;
}

/** The circumstances that the flags of a question suppose. @throws UsageError */
export function supposedOf(action: Action, flags: SupposedFlags): Circumstances {
  const given = new Map<string, unknown>(Object.entries(flags));
  const supposed = new Map(valueSources.flatMap((source) => textsOf(source, given)));
  const [fault] = supposedFaults(supposed);
  if (fault !== undefined) throw new UsageError(fault);
  return supposedCircumstances(action, supposed);
}

function textsOf(
  { name, flagDefault }: ValueSource,
  given: ReadonlyMap<string, unknown>,
): readonly (readonly [string, string])[] {
  const value = given.get(name) ?? flagDefault?.();
  if (Array.isArray(value)) return value.map((text) => entryOf(name, String(text)));
  return typeof value === 'string' ? [[name, value]] : [];
}

function entryOf(name: string, text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [`${name}.${text.slice(0, at)}`, text.slice(at + 1)];
  throw new UsageError(`--${name} is ${JSON.stringify(text)}: write KEY=VALUE`);
}
