import { describe, expect, it } from 'vitest';
import { findingsOf, shippedModel } from './support.ts';

const good = 'p, user:ann, /a, read, allow';

/** A line that is wrong, and what is said about it. */
const lines: readonly (readonly [string, string])[] = [
  ['p, user:ann, /a, read, denied', 'the effect is "denied": write allow or deny'],
  ['p, user:ann, /a, read, Deny', 'the effect is "Deny": write allow or deny'],
  ['p, user:ann, /a, read, ', 'the effect is "": write allow or deny'],
  ['p, user:ann, /a, read, allow # why', 'the effect is "allow # why": write allow or deny'],
  ['p, user:ann, /a, read', 'a p line has 4 columns (sub, obj, act, eft), not 3'],
  ['p, user:ann, /a, read, allow,', 'a p line has 4 columns (sub, obj, act, eft), not 5'],
  [
    'p, user:ann, /a, read, allow, ip in 10.0.0.0/8',
    'a p line has 4 columns (sub, obj, act, eft), not 5',
  ],
  [
    'p, user:ann, /a, reed, allow',
    'unknown action "reed": it is no operation, no access group and not *',
  ],
  ['p, user:ann, /a, querytable, allow', 'unknown action "querytable": write QueryTable'],
  ['p, user:ann, /a, Read, allow', 'unknown action "Read": write read'],
  ['p, user:ann, /a, , allow', 'unknown action "": it is no operation, no access group and not *'],
  [
    'p, user:ann, /a, constructor, allow',
    'unknown action "constructor": it is no operation, no access group and not *',
  ],
  [
    'p, ann, /a, read, allow',
    'the subject "ann" is none of user:NAME, group:NAME, role:NAME and *',
  ],
  [
    'p, user:, /a, read, allow',
    'the subject "user:" is none of user:NAME, group:NAME, role:NAME and *',
  ],
  [
    'p, USER:ann, /a, read, allow',
    'the subject "USER:ann" is none of user:NAME, group:NAME, role:NAME and *',
  ],
  ['p, , /a, read, allow', 'the subject "" is none of user:NAME, group:NAME, role:NAME and *'],
  [
    'p, user:*, /a, read, allow',
    'the subject "user:*" is not in its canonical spelling: write user:%2A',
  ],
  [
    'p, user:ann@corp.com, /a, read, allow',
    'the subject "user:ann@corp.com" is not in its canonical spelling: write user:ann%40corp.com',
  ],
  [
    'p, "user:a,b", /a, read, allow',
    'the subject "user:a,b" is not in its canonical spelling: write user:a%2Cb',
  ],
  [
    'p, user:a""b, /a, read, allow',
    'the subject "user:a\\"b" is not in its canonical spelling: write user:a%22b',
  ],
  [
    'p, user:(ann), /a, read, allow',
    'the subject "user:(ann)" is not in its canonical spelling: write user:%28ann%29',
  ],
  [
    'p, user:a%2cb, /a, read, allow',
    'the subject "user:a%2cb" is not in its canonical spelling: write user:a%2Cb',
  ],
  ['p, user:ann, , read, allow', '"" is no pattern: everything is written /**'],
  ['p, user:ann, *, read, allow', '"*" is no pattern: everything is written /**'],
  ['p, user:ann, a/b, read, allow', 'the pattern "a/b" does not begin with "/": write /a/b'],
  ['p, user:ann, /a/, read, allow', 'the pattern "/a/" has an empty segment: write /a'],
  ['p, user:ann, //a, read, allow', 'the pattern "//a" has an empty segment: write /a'],
  [
    'p, user:ann, /a$b, read, allow',
    'the pattern "/a$b" is not in its canonical spelling: write /a%24b',
  ],
  [
    'p, user:ann, /a%24b/%c3%bc, read, allow',
    'the pattern "/a%24b/%c3%bc" is not in its canonical spelling: write /a%24b/%C3%BC',
  ],
  [
    'p, user:ann, /%61, read, allow',
    'the pattern "/%61" is not in its canonical spelling: write /a',
  ],
  [
    'p, user:ann, /100%, read, allow',
    'the pattern "/100%" is not in its canonical spelling: write /100%25',
  ],
  [
    'p, user:ann, /a b, read, allow',
    'the pattern "/a b" is not in its canonical spelling: write /a%20b',
  ],
  [
    'p, user:ann, /**/a, read, allow',
    'the pattern "/**/a" has "**" before its end, where it cannot stand: write * for each single segment',
  ],
  [
    'p, user:ann, /a*, read, allow',
    'in the pattern "/a*", "a*" mixes "*" with other characters: * is a whole segment, and the character itself is written %2A',
  ],
  [
    'p, user:ann, /***, read, allow',
    'in the pattern "/***", "***" mixes "*" with other characters: * is a whole segment, and the character itself is written %2A',
  ],
  [
    'p, user:ann, /a/../b, read, allow',
    'the pattern "/a/../b" can match nothing: ".." cannot be a segment of an identifier',
  ],
  [
    'p, user:ann, /%2E, read, allow',
    'the pattern "/%2E" can match nothing: "." cannot be a segment of an identifier',
  ],
  [
    'p, user:ann, /a%00, read, allow',
    'the pattern "/a%00" can match nothing: a segment of an identifier holds a control character',
  ],
  [
    `p, user:ann, /${'x'.repeat(1024)}, read, allow`,
    `the pattern "/${'x'.repeat(1024)}" can match nothing: an identifier is at most 1024 bytes long`,
  ],
  ['g, user:ann', 'a g line has 2 columns, not 1'],
  ['g, user:ann, role:x, role:y', 'a g line has 2 columns, not 3'],
  ['g, user:ann, ', 'a g line names a member and a role'],
  ['g, user:ann, x', 'the subject "x" is none of user:NAME, group:NAME, role:NAME and *'],
  ['g, user:ann, *', 'everyone is a member of * already: the line says nothing'],
  ['p2, user:ann, /a, read, allow', 'a line begins with p or g, not with "p2"'],
  ['P, user:ann, /a, read, allow', 'a line begins with p or g, not with "P"'],
  ['user:ann, /a, read, allow', 'a line begins with p or g, not with "user:ann"'],
  [',', 'a line begins with p or g, not with ""'],
  ['"p", user:ann, /a, read, allow', 'the line begins neither with "p," nor with "g,"'],
  [
    'p, user:ann, /a(, read, allow',
    'casbin cannot read the line: its quotes or brackets do not match',
  ],
  ['p, user:ann\r, /a, read, allow', 'the line holds a control character or a byte order mark'],
  ['\ufeffp, user:ann, /a, read, allow', 'the line holds a control character or a byte order mark'],
];

describe('a line of policy.csv is refused', () => {
  it.each(lines)('%s', async (line, text) => {
    expect(await findingsOf(`# comment\n${good}\n${line}\n`)).toEqual([`policy.csv:3: ${text}`]);
  });
});

describe('a policy is refused', () => {
  it('with every finding of every line, in the order of the lines', async () => {
    const text = `p, ann, b, c, d\n${good}\ng, x\n\u0000\n`;
    expect(await findingsOf(text)).toEqual([
      'policy.csv:1: the effect is "d": write allow or deny',
      'policy.csv:1: the subject "ann" is none of user:NAME, group:NAME, role:NAME and *',
      'policy.csv:1: the pattern "b" does not begin with "/": write /b',
      'policy.csv:1: unknown action "c": it is no operation, no access group and not *',
      'policy.csv:3: a g line has 2 columns, not 1',
      'policy.csv:4: the line holds a control character or a byte order mark',
    ]);
  });

  it.each([
    ['no text at all', ''],
    ['nothing but comments and blank lines', '# p, user:ann, /a, read, allow\n\n   \n'],
    ['nothing but roles', 'g, user:ann, role:x\n'],
  ])('with %s', async (_, text) => {
    expect(await findingsOf(text)).toEqual([
      'policy.csv: the policy has no p line: nobody could do anything',
    ]);
  });

  it.each([
    ['g, role:a, role:a', 'policy.csv:2: the roles form a cycle: role:a -> role:a'],
    [
      'g, role:a, role:b\ng, role:c, role:a\ng, user:x, role:a\ng, role:b, role:c\ng, role:b, role:d',
      'policy.csv:5: the roles form a cycle: role:a -> role:b -> role:c -> role:a',
    ],
    [
      'g, user:x, role:a\ng, role:a, user:x',
      'policy.csv:3: the roles form a cycle: user:x -> role:a -> user:x',
    ],
  ])('for a cycle of roles: %s', async (roles, finding) => {
    expect(await findingsOf(`${good}\n${roles}\n`)).toEqual([finding]);
  });

  it('but not for roles that meet again without a cycle', async () => {
    const roles = 'g, user:x, role:a\ng, user:x, role:b\ng, role:a, role:c\ng, role:b, role:c\n';
    expect(await findingsOf(`${good}\n${roles}${roles}`)).toEqual([]);
  });
});

describe('a line of policy.csv is accepted', () => {
  it.each([
    ['without spaces', 'p,user:ann,/a,read,allow'],
    ['with tabs and spaces around its cells', '\tp ,\tuser:ann ,  /a,read , allow  '],
    ['with a carriage return at its end', 'p, user:ann, /a, read, allow\r'],
    ['with quoted cells', 'p, "user:ann", "/a", read, "allow"'],
    ['with percent-encoded names', 'p, user:a%2Cb%22%24, /x%24y/%2A/**, QueryTable, deny'],
    ['about everyone', 'p, *, /**, *, allow'],
    ['about the root', 'p, role:x, /, CreateNamespace, allow'],
    ['that gives everyone a role', 'g, *, role:x'],
  ])('%s', async (_, line) => {
    expect(await findingsOf(`${good}\n${line}\n`)).toEqual([]);
  });
});

/** A change of the shipped model, and what is said about it. */
const models: readonly (readonly [string, string, string, string])[] = [
  [
    'an unknown section',
    '[matchers]',
    '[matcher]',
    'model.conf:13: unknown section [matcher]: there are request_definition, policy_definition, role_definition, policy_effect, matchers',
  ],
  [
    'an unknown key',
    'p = sub',
    'p3 = sub',
    'model.conf:5: unknown key p3: this section has the one key p',
  ],
  [
    'a second definition',
    'g = _, _',
    'g = _, _\ng2 = _, _',
    'model.conf:9: unknown key g2: this section has the one key g',
  ],
  [
    'a repeated definition',
    'g = _, _',
    'g = _, _\ng = _, _',
    'model.conf:9: the key g is defined twice',
  ],
  ['a line that is no definition', 'g = _, _', 'g', 'model.conf:8: "g" is not "key = value"'],
  [
    'another question',
    'r = sub, obj, act',
    'r = sub, dom, obj, act',
    'model.conf:2: a request has a subject, an object and an action: write r = sub, obj, act',
  ],
  [
    'an effect that casbin does not have',
    'some(where (p.eft == allow)) &&',
    'any(where (p.eft == allow)) &&',
    'model.conf:11: "any(where (p_eft == allow)) && !some(where (p_eft == deny))" is no policy effect of casbin that a gateway can use',
  ],
  [
    'no effect column',
    'act, eft',
    'act',
    'model.conf:5: the policy effect asks for p.eft, which is no column of p',
  ],
  [
    'an unknown function',
    'within(',
    'inside(',
    'model.conf:14: the matcher calls the unknown function inside',
  ],
  [
    'no look at the lines',
    'm = g(r.sub, p.sub) && within(r.obj, p.obj) && covers(p.act, r.act)',
    'm = r.sub == "user:root"',
    'model.conf:14: the matcher never looks at a policy line',
  ],
  [
    'roles that are not defined',
    '[role_definition]\ng = _, _\n',
    '',
    'model.conf:12: the matcher calls g, but the model has no role_definition',
  ],
  [
    'conditions',
    'covers(p.act, r.act)',
    'covers(p.act, r.act) && holds(p.cond)',
    'model.conf:5: the matcher asks holds(p.cond), but p has no column cond',
  ],
  [
    'a missing section',
    '[policy_effect]\ne = some(where (p.eft == allow)) && !some(where (p.eft == deny))\n',
    '',
    'model.conf: casbin refuses the model: Error: missing required sections: policy_effect',
  ],
];

describe('a model is refused', () => {
  it.each(models)('for %s', async (_, from, to, finding) => {
    expect(shippedModel).toContain(from);
    expect(await findingsOf(`${good}\n`, shippedModel.replace(from, to))).toEqual([finding]);
  });

  it('when it is empty', async () => {
    expect(await findingsOf(`${good}\n`, '')).toEqual([
      'model.conf: casbin refuses the model: Error: missing required sections: request_definition,policy_definition,policy_effect,matchers',
    ]);
  });
});
