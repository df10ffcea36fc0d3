import { describe, expect, it } from 'vitest';
import { loadCases, parseCases, runCases } from '../../src/policy/cases.ts';
import { PolicyError, formatFinding } from '../../src/policy/policy-error.ts';
import { conditionalModel } from './conditions.ts';
import { policyOf, snapshotOf } from './support.ts';

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
      'cases.yaml:2: unknown key "why": there are subject, groups, roles, action, object, ip, time, ctx, branch, expect, because',
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

describe('cases under conditions', () => {
  const lines = [
    'p, user:ann, /a, read, allow, ip in 10.0.0.0/8 and time in 08:00..18:00 UTC',
    'p, user:ann, /a, append, allow, branch != main',
    'p, user:ann, /a, DropTable, allow, ctx.ticket in (t-1, t-2)',
  ];

  it('say address, time, context and branch, and miss what they do not say', async () => {
    const { snapshot } = await policyOf(lines, conditionalModel);
    const cases = parseCases(`cases:
  - { subject: user:ann, action: QueryTable, object: /a, ip: 10.1.1.1, time: 2026-03-02T10:00:00+02:00, expect: allow }
  - { subject: user:ann, action: QueryTable, object: /a, ip: 10.1.1.1, time: 2026-03-02T09:00:00+02:00, expect: deny }
  - { subject: user:ann, action: QueryTable, object: /a, ip: 10.1.1.1, expect: deny }
  - { subject: user:ann, action: InsertIntoTable, object: /a, branch: dev, expect: allow }
  - { subject: user:ann, action: InsertIntoTable, object: /a, expect: deny, because: no branch is main }
  - { subject: user:ann, action: DropTable, object: /a, ctx: { ticket: t-2 }, expect: allow }
  - { subject: user:ann, action: DropTable, object: /a, ctx: { ticket: t-3 }, expect: deny }
`);
    expect(runCases(snapshot, cases)).toEqual([]);
    const [first] = cases;
    expect(first?.circumstances).toEqual({
      ip: '10.1.1.1',
      time: Date.parse('2026-03-02T08:00:00Z'),
      context: new Map(),
      branch: 'main',
    });
  });

  it.each([
    ['ip: office', 'ip is "office": write an address such as 10.0.0.7'],
    ['ip: 10.0.0.0/8', 'ip is "10.0.0.0/8": write an address such as 10.0.0.7'],
    ['time: 9 o’clock', 'time is "9 o’clock": write a moment such as 2026-01-31T18:30:00Z'],
    [
      'time: 2026-13-02T09:00:00Z',
      'time is "2026-13-02T09:00:00Z": write a moment such as 2026-01-31T18:30:00Z',
    ],
    ['ctx: none', 'ctx is a mapping of keys to texts'],
    ['ctx: { Ticket: x }', 'keys of the context are in lower case: write ticket'],
    ['ctx: { ticket: [x] }', 'ticket is missing or is no text'],
    ['branch: [x]', 'branch is missing or is no text'],
  ])('that say %s are refused', (said, text) => {
    const written = `cases:\n  - { subject: user:ann, action: read, object: /a, ${said}, expect: allow }\n`;
    expect(() => parseCases(written)).toThrow(`cases.yaml:2: ${text}`);
  });
});
