import type { Condition, Effect } from '../conditions/condition.ts';
import { parseCondition, type ConditionResult } from '../conditions/condition-parser.ts';
import type { CsvLine } from './csv.ts';
import type { PolicyModel } from './model.ts';
import { parsePattern, EVERYONE, subjectFault, type Pattern } from './pattern.ts';
import type { PolicyFinding } from './policy-error.ts';
import { POLICY_FILE, type PolicyLine, type RoleLine } from './policy-line.ts';
import { nearestAction, rightsOf } from './rights.ts';
import { RoleGraph } from './role-graph.ts';

/** The lines of a policy, understood, and everything that is wrong with them. */
export interface CheckedLines {
  readonly policies: readonly PolicyLine[];
  readonly roles: readonly RoleLine[];
  readonly findings: readonly PolicyFinding[];
}

type Fault = (text: string) => void;

/**
 * Reads the lines of `policy.csv` strictly. Under a
 * foreign model only the number of columns, the effects and the roles are
 * checked: only its matcher defines the other columns.
 */
export function checkLines(lines: readonly CsvLine[], model: PolicyModel): CheckedLines {
  const policies: PolicyLine[] = [];
  const roles: RoleLine[] = [];
  const findings: PolicyFinding[] = [];
  const conditionOf = conditionReader();
  for (const { line, cells } of lines) {
    const fault: Fault = (text) => findings.push({ file: POLICY_FILE, line, text });
    const [kind, ...values] = cells;
    if (kind === 'p') {
      const policy = readPolicy(line, values, model, fault, conditionOf);
      if (policy !== undefined) policies.push(policy);
    } else if (kind === 'g') {
      const role = readRole(line, values, model, fault);
      if (role !== undefined) roles.push(role);
    } else {
      fault(`a line begins with p or g, not with ${JSON.stringify(kind)}`);
    }
  }
  if (!lines.some(({ cells }) => cells[0] === 'p')) {
    findings.push({
      file: POLICY_FILE,
      text: 'the policy has no p line: nobody could do anything',
    });
  }
  return { policies, roles, findings: [...findings, ...cycleFindings(roles)] };
}

function readPolicy(
  line: number,
  values: readonly string[],
  model: PolicyModel,
  fault: Fault,
  conditionOf: (text: string) => ConditionResult,
): PolicyLine | undefined {
  const { columns } = model;
  if (values.length !== columns.length) {
    fault(`a p line has ${columns.length} columns (${columns.join(', ')}), not ${values.length}`);
    return undefined;
  }
  const effect = readEffect(values[columns.indexOf('eft')], model, fault);
  const condition = readCondition(values[columns.indexOf('cond')], conditionOf, fault);
  if (model.kind === 'foreign') return undefined;
  const [subject = '', object = '', action = ''] = values;
  const wrong = subjectFault(subject);
  if (wrong !== undefined) fault(wrong);
  const pattern = readPattern(object, fault);
  const rights = rightsOf(action);
  if (rights === undefined) fault(unknownAction(action));
  if (wrong !== undefined || !pattern || !rights || !effect || condition === 'wrong') {
    return undefined;
  }
  return { line, subject, pattern, action, rights, effect, condition };
}

function readCondition(
  text: string | undefined,
  conditionOf: (text: string) => ConditionResult,
  fault: Fault,
): Condition | undefined | 'wrong' {
  const result = text === undefined ? { condition: undefined } : conditionOf(text);
  if ('condition' in result) return result.condition;
  fault(result.fault);
  return 'wrong';
}

/** Parses equal conditions once, so that lines share their results. */
function conditionReader(): (text: string) => ConditionResult {
  const parsed = new Map<string, ConditionResult>();
  return (text) => {
    let result = parsed.get(text);
    if (result === undefined) parsed.set(text, (result = parseCondition(text)));
    return result;
  };
}

function readEffect(
  text: string | undefined,
  model: PolicyModel,
  fault: Fault,
): Effect | undefined {
  if (text === 'allow' || text === 'deny') return text;
  if (text === undefined && !model.columns.includes('eft')) return undefined;
  fault(`the effect is ${JSON.stringify(text)}: write allow or deny`);
  return undefined;
}

function readPattern(text: string, fault: Fault): Pattern | undefined {
  const result = parsePattern(text);
  if ('pattern' in result) return result.pattern;
  fault(result.fault);
  return undefined;
}

function unknownAction(action: string): string {
  const near = nearestAction(action);
  const hint =
    near === undefined ? 'it is no operation, no access group and not *' : `write ${near}`;
  return `unknown action ${JSON.stringify(action)}: ${hint}`;
}

function readRole(
  line: number,
  values: readonly string[],
  model: PolicyModel,
  fault: Fault,
): RoleLine | undefined {
  if (model.roleColumns === 0) {
    fault('the model has no roles, so a g line says nothing');
    return undefined;
  }
  if (values.length !== model.roleColumns) {
    fault(`a g line has ${model.roleColumns} columns, not ${values.length}`);
    return undefined;
  }
  const [member = '', role = ''] = values;
  if (member === '' || role === '') {
    fault('a g line names a member and a role');
    return undefined;
  }
  const wrong = model.kind === 'foreign' ? [] : roleFaults(member, role);
  for (const text of wrong) fault(text);
  return wrong.length > 0 || model.roleColumns > 2 ? undefined : { line, member, role };
}

function roleFaults(member: string, role: string): readonly string[] {
  if (role === EVERYONE) return ['everyone is a member of * already: the line says nothing'];
  return [subjectFault(member), subjectFault(role)].filter((text) => text !== undefined);
}

function cycleFindings(roles: readonly RoleLine[]): readonly PolicyFinding[] {
  const cycle = new RoleGraph(roles).cycle();
  if (cycle === undefined) return [];
  const steps = new Set(cycle.slice(1).map((role, index) => `${cycle[index]!}\n${role}`));
  const closing = roles.findLast(({ member, role }) => steps.has(`${member}\n${role}`));
  const text = `the roles form a cycle: ${cycle.join(' -> ')}`;
  return [{ file: POLICY_FILE, text, ...(closing === undefined ? {} : { line: closing.line }) }];
}
