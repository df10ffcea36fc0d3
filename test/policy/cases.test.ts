import { describe, expect, it } from 'vitest';
import { parseCases, readCases, refuseFailedCases, runCases } from '../../src/policy/cases.ts';
import { PolicyError, formatFinding } from '../../src/policy/lines/policy-error.ts';
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
    expect((await runCases(snapshot, cases)).map(formatFinding)).toEqual([
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

  it('may be none', () => {
    expect(parseCases('')).toEqual([]);
    expect(parseCases('cases:\n')).toEqual([]);
  });
});

describe('many cases', () => {
  const head = '# of the policy\n\ncases: # many\n\n';
  const many = (count: number, object: (n: number) => string) =>
    head +
    Array.from(
      { length: count },
      (_, n) =>
        `  # case ${n}\n  - subject: user:n${n}\n    action: read\n    object: ${object(n)}\n    expect: deny\n    because: >-\n      - nobody\n      reads\n`,
    ).join('');

  it('are the same read in turns as at once, and other work goes on meanwhile', async () => {
    const text = many(1234, (n) => `/t/${n}`);
    let turns = 0;
    const done = new AbortController();
    const count = (): void => {
      turns += 1;
      if (!done.signal.aborted) setImmediate(count);
    };
    count();
    const read = await readCases(text);
    const readTurns = turns;
    expect(read).toEqual(parseCases(text));
    expect(read.at(-1)).toMatchObject({ line: 5 + 1233 * 8 + 1, because: '- nobody reads' });
    expect(readTurns).toBeGreaterThan(10);
    expect(await runCases(await snapshotOf('p, user:a, /a, read, allow'), read)).toEqual([]);
    expect(turns - readTurns).toBeGreaterThan(10);
    done.abort();
  });

  it.each([
    ['a mistake in the last', many(250, (n) => (n === 249 ? '/t/' : '/t')), 'cases.yaml:1998: '],
    ['another key behind them', `${many(250, () => '/t')}case: 1\n`, 'cases.yaml:2005: '],
    ['the list twice', `${many(250, () => '/t')}${many(2, () => '/t')}`, 'cases.yaml:2007: '],
    ['a broken line', `${many(250, () => '/t')}  - {\n`, 'cases.yaml:200'],
  ])('with %s are refused by the line of the file', async (_, text, place) => {
    const read = readCases(text);
    await expect(read).rejects.toBeInstanceOf(PolicyError);
    await expect(read).rejects.toThrow(place);
  });

  it('that are not in block style, or not indented, are read as well', async () => {
    const one = '{ subject: user:a, action: read, object: /a, expect: deny }';
    for (const text of [`cases: [${one}]\n`, `cases:\n- ${one}\n- ${one}\n`, `cases:\n- ${one}`]) {
      expect(await readCases(text)).toEqual(parseCases(text));
    }
    expect(await readCases('')).toEqual([]);
  });

  it('that fail refuse their policy: the first are named, all are counted, and what to do', async () => {
    const cases = await readCases(many(40, () => '/t').replaceAll('deny', 'allow'));
    const refusal = refuseFailedCases(await snapshotOf('p, user:a, /a, read, allow'), cases);
    const { findings } = (await refusal.catch((error: PolicyError) => error)) as PolicyError;
    expect(findings).toHaveLength(21);
    expect(findings[0]).toBe(
      'cases.yaml:6: user:n0 read /t is denied (no line decides), expected allow: - nobody reads',
    );
    expect(findings.at(-1)).toBe(
      'cases.yaml: 40 of 40 cases fail: correct policy.csv, or the cases that no longer hold',
    );
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
    expect(await runCases(snapshot, cases)).toEqual([]);
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
