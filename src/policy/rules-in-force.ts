import { formatPattern } from './lines/pattern.ts';
import type { LoadedPolicy } from './load.ts';
import { LIMITS_FILE, type Limit } from './settings/limit.ts';
import type { WrittenRule } from './settings/commits.ts';
import { COMMITS_FILE } from '../rules/commit-rule.ts';

/** Commit rules and limits in force, each with its place and its text in its file. */
export function rulesInForce({ snapshot, texts }: LoadedPolicy): object {
  const { commits, limits, digest } = snapshot;
  return {
    policy_digest: digest,
    rules: commits.rules.map((rule) => shownRule(rule, texts.commits ?? '')),
    limits: limits.limits.map((limit) => shownLimit(limit, texts.limits ?? '')),
  };
}

/** `commits.yaml:LINE` of a commit rule. */
export function placeOfRule({ line }: Pick<WrittenRule, 'line'>): string {
  return `${COMMITS_FILE}:${line}`;
}

function shownRule(rule: WrittenRule, text: string): object {
  const { name, line, tables, enforced, except, require, webhook } = rule;
  return {
    name,
    rule: placeOfRule(rule),
    text: entryText(text, line),
    tables,
    enforced,
    except,
    requires: [...Object.keys(require), ...(webhook === null ? [] : ['webhook'])],
  };
}

function shownLimit(limit: Limit, text: string): object {
  const { name, line, per, rate, concurrency, budget, subjects, objects } = limit;
  return {
    name,
    rule: `${LIMITS_FILE}:${line}`,
    text: entryText(text, line),
    per,
    rate: rate === null ? null : { text: rate.text, burst: rate.burst },
    concurrency,
    budget: budget === null ? [] : Object.keys(budget),
    subjects: subjects === null ? null : [...subjects],
    objects: objects.map((pattern) => formatPattern(pattern)),
  };
}

/** The entry of a list in a YAML file that a line stands in, as it is written. */
export function entryText(text: string, line: number): string {
  const lines = text.split('\n');
  const indent = /^ *(?=- )/.exec(lines.find((each) => /^ *- /.test(each)) ?? '')?.[0] ?? '';
  const isStart = (each: string | undefined): boolean => each?.startsWith(`${indent}- `) === true;
  let first = Math.min(line, lines.length) - 1;
  while (first > 0 && !isStart(lines[first])) first -= 1;
  let end = first + 1;
  while (end < lines.length && !isStart(lines[end])) end += 1;
  return lines
    .slice(first, end)
    .map((each) => each.slice(Math.min(indent.length, each.length - each.trimStart().length)))
    .join('\n')
    .replace(/(\n\s*#[^\n]*|\s)+$/, '');
}
