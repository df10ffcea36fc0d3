import { newModelFromString, type Model } from 'casbin';
import { readSections } from './model-sections.ts';
import type { PolicyFinding } from './policy-error.ts';
import { MODEL_FILE } from './policy-line.ts';

/**
 * The shipped model and the one that differs from it in the condition column: compiled.
 * Any other model: decided by casbin itself.
 */
type ModelKind = 'shipped' | 'conditional' | 'foreign';

/** A model that casbin accepts and that asks the question this gateway asks. */
export interface PolicyModel {
  readonly kind: ModelKind;
  /** The columns of a `p` line, without the kind. */
  readonly columns: readonly string[];
  /** Names after the kind of a `g` line; 0 if the model has no roles. */
  readonly roleColumns: number;
  /** A new model of casbin, without lines. */
  readonly create: () => Model;
}

interface ModelResult {
  readonly model?: PolicyModel;
  readonly findings: readonly PolicyFinding[];
}

const EFFECT = 'some(where (p_eft == allow)) && !some(where (p_eft == deny))';
const COLUMNS = 'p_sub,p_obj,p_act,p_eft';
const MATCHER = 'g(r_sub, p_sub) && within(r_obj, p_obj) && covers(p_act, r_act)';

/** The functions that a matcher may call, beside those of casbin: `within`, `covers` and `holds`. */
const KNOWN_FUNCTIONS: ReadonlySet<string> = new Set([
  'g',
  'in',
  'within',
  'covers',
  'holds',
  'keyMatch',
  'keyMatch2',
  'keyMatch3',
  'keyMatch4',
  'keyMatch5',
  'keyGet',
  'keyGet2',
  'regexMatch',
  'ipMatch',
  'globMatch',
]);

const EFFECTS = new Set([
  'some(where (p_eft == allow))',
  '!some(where (p_eft == deny))',
  EFFECT,
  'priority(p_eft) || deny',
  'subjectPriority(p_eft) || deny',
]);

/** Reads `model.conf` with casbin's parser; parts that casbin would ignore are findings. */
export function parseModel(text: string): ModelResult {
  const { places, findings } = readSections(text);
  if (findings.length > 0) return { findings };
  try {
    newModelFromString(text);
  } catch (error) {
    return { findings: [{ file: MODEL_FILE, text: `casbin refuses the model: ${String(error)}` }] };
  }
  return judgeModel(text, places);
}

function judgeModel(text: string, places: ReadonlyMap<string, number>): ModelResult {
  const parts = partsOf(newModelFromString(text));
  const fault =
    requestFault(parts) ?? effectFault(parts) ?? matcherFault(parts) ?? conditionFault(parts);
  if (fault !== undefined) return { findings: [at(places, fault)] };
  return {
    findings: [],
    model: {
      kind: kindOf(parts),
      columns: parts.p.map((token) => token.slice('p_'.length)),
      roleColumns: parts.g === '' ? 0 : parts.g.split(',').length,
      create: () => newModelFromString(text),
    },
  };
}

interface ModelParts {
  readonly r: readonly string[];
  readonly p: readonly string[];
  readonly g: string;
  readonly e: string;
  readonly m: string;
}

interface KeyFault {
  readonly key: keyof ModelParts;
  readonly text: string;
}

function at(places: ReadonlyMap<string, number>, fault: KeyFault): PolicyFinding {
  const line = places.get(fault.key);
  return { file: MODEL_FILE, text: fault.text, ...(line === undefined ? {} : { line }) };
}

function partsOf(model: Model): ModelParts {
  const part = (key: string) => model.model.get(key)?.get(key);
  const value = (key: string) => part(key)?.value ?? '';
  return {
    r: part('r')?.tokens ?? [],
    p: part('p')?.tokens ?? [],
    g: value('g').replace(/\s/g, ''),
    e: value('e'),
    m: value('m').replace(/\s+/g, ' '),
  };
}

function requestFault({ r }: ModelParts): KeyFault | undefined {
  if (r.join() === 'r_sub,r_obj,r_act') return undefined;
  return {
    key: 'r',
    text: 'a request has a subject, an object and an action: write r = sub, obj, act',
  };
}

function effectFault({ e, p }: ModelParts): KeyFault | undefined {
  if (!EFFECTS.has(e))
    return {
      key: 'e',
      text: `${JSON.stringify(e)} is no policy effect of casbin that a gateway can use`,
    };
  if (e.includes('deny') && !p.includes('p_eft')) {
    return { key: 'p', text: 'the policy effect asks for p.eft, which is no column of p' };
  }
  return undefined;
}

function matcherFault({ m, g }: ModelParts): KeyFault | undefined {
  if (!m.includes('p_')) return { key: 'm', text: 'the matcher never looks at a policy line' };
  const calls = m.replace(/"[^"]*"|'[^']*'/g, '').matchAll(/([A-Za-z_][A-Za-z0-9_.]*)\s*\(/g);
  const names = [...calls].map((call) => call[1]!);
  if (names.includes('g') && g === '') {
    return { key: 'm', text: 'the matcher calls g, but the model has no role_definition' };
  }
  const unknown = names.find((name) => !KNOWN_FUNCTIONS.has(name));
  return unknown === undefined
    ? undefined
    : { key: 'm', text: `the matcher calls the unknown function ${unknown}` };
}

/** Refuses a column of conditions that the matcher ignores: it would seem to be in force. */
function conditionFault({ m, p }: ModelParts): KeyFault | undefined {
  const conditions = [...m.matchAll(/\bholds\s*\(([^()]*)\)/g)].map((call) => call[1]!.trim());
  if (conditions.some((condition) => condition !== 'p_cond')) {
    return { key: 'm', text: 'holds takes the condition of a line: write holds(p.cond)' };
  }
  const has = p.includes('p_cond');
  if (has === conditions.length > 0) return undefined;
  return has
    ? { key: 'm', text: 'p has the column cond, but the matcher never asks holds(p.cond)' }
    : { key: 'p', text: 'the matcher asks holds(p.cond), but p has no column cond' };
}

function kindOf({ p, g, e, m }: ModelParts): ModelKind {
  if (g !== '_,_' || e !== EFFECT) return 'foreign';
  if (p.join() === COLUMNS && m === MATCHER) return 'shipped';
  const conditional = p.join() === `${COLUMNS},p_cond` && m === `${MATCHER} && holds(p_cond)`;
  return conditional ? 'conditional' : 'foreign';
}
