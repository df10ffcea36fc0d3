import { describe, expect, it } from 'vitest';
import { parseCases, readCases, refuseFailedCases, runCases } from '../../src/policy/cases.ts';
import { PolicyError, formatFinding } from '../../src/policy/lines/policy-error.ts';
import { conditionalModel } from './conditions.ts';
import { buildPolicy } from '../../src/policy/load.ts';
import { policyOf, shippedModel, snapshotOf } from './support.ts';

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
      'cases.yaml:2: unknown key "why": there are subject, groups, roles, action, object, ip, time, ctx, branch, expect, rows, columns, because',
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

describe('cases of rows and columns', () => {
  const restrictions = `restrictions:
  - name: own
    tables: [/t/**]
    subjects: [role:a]
    rows: region = ctx.region
    columns: { email: sha256_, phone: { mask: last, n: 3 } }
  - name: gone
    tables: [/t/x]
    except: [role:b]
    rows: NOT gone
    columns: { ssn: hidden }
`.replace('sha256_', '{ mask: sha256 }');
  const policy = 'p, *, /**, *, allow\n';
  const found = async (...said: readonly string[]) => {
    const { snapshot } = await buildPolicy({ model: shippedModel, policy, restrictions });
    const cases = parseCases(
      `cases:\n${said.map((one) => `  - { subject: user:ann, action: QueryTable, expect: allow, ${one} }\n`).join('')}`,
    );
    return (await runCases(snapshot, cases)).map(formatFinding);
  };

  it('hold if they name all filters and all columns, and no more', async () => {
    expect(
      await found(
        'roles: [role:a], object: /t/x, rows: [gone, own], columns: { ssn: hidden, email: sha256, phone: { mask: last, n: 3 } }',
        'roles: [role:a], object: /t/x, rows: [NOT gone, region = ctx.region]',
        'roles: [role:a, role:b], object: /t/y, rows: own',
        'roles: [role:b], object: /t/x, rows: [], columns: {}',
      ),
    ).toEqual([]);
  });

  it('are findings with their line otherwise', async () => {
    expect(
      await found(
        'roles: [role:a], object: /t/x, rows: own, because: all of it',
        'object: /t/x, rows: [own, gone], columns: { ssn: sha256 }',
        'object: /t/y, rows: [gone]',
        'roles: [role:a], object: /t/y, columns: { email: sha256, phone: { mask: last, n: 4 } }',
      ),
    ).toEqual([
      'cases.yaml:2: user:ann QueryTable /t/x is bound by the row filters own, gone, expected own: all of it',
      'cases.yaml:3: user:ann QueryTable /t/x is bound by the row filters gone, expected own, gone',
      'cases.yaml:3: user:ann QueryTable /t/x has the columns ssn: hidden, expected ssn: sha256',
      'cases.yaml:4: user:ann QueryTable /t/y is bound by the row filters none, expected gone',
      'cases.yaml:5: user:ann QueryTable /t/y has the columns email: sha256, phone: last (3), expected email: sha256, phone: last (4)',
    ]);
  });

  it('deny what restrictions refuse', async () => {
    const { snapshot } = await buildPolicy({ model: shippedModel, policy, restrictions });
    const cases = parseCases(
      'cases:\n  - { subject: user:ann, action: DropTable, object: /t/x, expect: allow }\n',
    );
    expect((await runCases(snapshot, cases)).map(formatFinding)).toEqual([
      'cases.yaml:2: user:ann DropTable /t/x is denied (by restrictions.yaml:7), expected allow',
    ]);
  });

  it.each([
    ['rows: { a: b }', 'rows is a list of restrictions that filter rows, by name or by their SQL'],
    ['rows: [a, 7]', 'rows is a list of restrictions that filter rows, by name or by their SQL'],
    ['columns: [a]', 'columns is a mapping of columns to masks'],
    [
      'columns: { a: gone }',
      'the column a is hidden, null, sha256, alphanum, year, month, or a mapping with the key mask',
    ],
    ['columns: { a: { mask: last } }', 'the mask last of a has no n'],
    ['columns: { a: { mask: year, n: 1 } }', 'the mask year of a takes no n'],
    ['rows: [a], expect: deny', 'rows and columns are of a case that expects allow'],
  ])('that are not understood are refused: %s', (said, text) => {
    const expects = said.includes('expect') ? '' : ', expect: allow';
    const written = `cases:\n  - { subject: user:ann, action: read, object: /a, ${said}${expects} }\n`;
    expect(() => parseCases(written)).toThrow(`cases.yaml:2: ${text}`);
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
