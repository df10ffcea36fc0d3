import { describe, expect, it } from 'vitest';
import { loadCases, parseCases, runCases } from '../../src/policy/cases.ts';
import { PolicyError, formatFinding } from '../../src/policy/policy-error.ts';
import { snapshotOf } from './support.ts';

describe('cases', () => {
  it('that come out otherwise are findings with line, deciding rule and reason', async () => {
    const snapshot = await snapshotOf(
      'p, user:ann, /a/**, read, allow',
      'p, role:out, /a/b, *, deny',
    );
    const cases = parseCases(`cases:
  - { subject: user:ann, action: QueryTable, object: /a/b, expect: allow, because: she reads }
  - { subject: user:ann, action: QueryTable, object: /a/b, expect: deny, because: b is secret }
  - subject: user:ann
    roles: [role:out]
    action: read
    object: /a/b
    expect: allow
  - { subject: user:bob, groups: [group:x], action: append, object: /, expect: allow, because: why not }
`);
    expect(runCases(snapshot, cases).map(formatFinding)).toEqual([
      'cases.yaml:3: user:ann QueryTable /a/b is allowed (by policy.csv:1), expected deny: b is secret',
      'cases.yaml:4: user:ann read /a/b is denied (by policy.csv:2), expected allow',
      'cases.yaml:9: user:bob append / is denied (no line decides), expected allow: why not',
    ]);
  });

  const good = 'subject: user:ann, action: read, object: /a, expect: allow';

  it.each([
    [
      'cases: [',
      'cases.yaml:1: Flow sequence in block collection must be sufficiently indented and end with a ] at line 1, column 9:',
    ],
    ['- a', 'cases.yaml:1: the file has the one key cases'],
    ['case: []', 'cases.yaml:1: unknown key "case": there are cases'],
    ['cases: 1', 'cases.yaml:1: cases is a list'],
    ['cases:\n  - 1', 'cases.yaml:2: a case is a mapping'],
    [
      `cases:\n  - { ${good}, why: x }`,
      'cases.yaml:2: unknown key "why": there are subject, groups, roles, action, object, expect, because',
    ],
    [
      `cases:\n  - { ${good.replace('user:ann', 'ann')} }`,
      'cases.yaml:2: the subject "ann" is none of user:NAME, group:NAME, role:NAME and *',
    ],
    [`cases:\n  - { ${good.replace('read', 'reed')} }`, 'cases.yaml:2: unknown action "reed"'],
    [`cases:\n  - { ${good.replace('read', '"*"')} }`, 'cases.yaml:2: unknown action "*"'],
    [
      `cases:\n  - { ${good.replace('/a', '/a/')} }`,
      'cases.yaml:2: the object "/a/" is no canonical path',
    ],
    [
      `cases:\n  - { ${good.replace('/a', '"/a/*"')} }`,
      'cases.yaml:2: the object "/a/*" is no canonical path',
    ],
    [
      `cases:\n  - { ${good.replace('allow', 'yes')} }`,
      'cases.yaml:2: expect is "yes": write allow or deny',
    ],
    [
      `cases:\n  - { ${good}, roles: role:x }`,
      'cases.yaml:2: roles is a list of names that begin role:',
    ],
    [`cases:\n  - { ${good}, roles: [group:x] }`, 'cases.yaml:2: a name begins role: here'],
    [
      'cases:\n  - { subject: user:ann, action: read, object: /a }',
      'cases.yaml:2: expect is missing or is no text',
    ],
  ])('that are not understood are refused: %s', (text, finding) => {
    let findings: readonly string[] = [];
    try {
      parseCases(text);
    } catch (error) {
      findings = error instanceof PolicyError ? error.findings : [String(error)];
    }
    expect(findings).toEqual([finding]);
  });

  it('may be none', async () => {
    expect(parseCases('')).toEqual([]);
    expect(parseCases('cases:\n')).toEqual([]);
    expect(await loadCases('/does/not/exist')).toEqual([]);
  });
});
