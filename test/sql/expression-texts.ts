import * as fc from 'fast-check';

const names = fc.constantFrom('a', 'Bc', '`d e`', '"f"', 'g.h', 'date', '`select`.`x``y`');

const literals = fc.oneof(
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value.toExponential()),
  fc.string({ unit: 'binary' }).map((text) => `'${text.replaceAll("'", "''")}'`),
  fc.constantFrom(
    'null',
    'true',
    'false',
    "X'00ff'",
    "date '2024-02-29'",
    "time '01:02:03.004'",
    "timestamp '2024-02-29 23:59:59.123456789'",
    "timestamp '-0044-03-15T12:00:00+01:30'",
    "interval '1 month -2 days 03:04:05.6'",
  ),
);

const binary = fc.constantFrom(
  '=',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '||',
  'and',
  'or',
  'is distinct from',
  'is not distinct from',
  'like',
  'not ilike',
);

const suffixes = fc.constantFrom(
  'is null',
  'is not true',
  'is unknown',
  '::int',
  '::decimal(10, 2)',
  '[1]',
  "['k']",
  '.k',
  "like 'a#%' escape '#'",
);

/** Texts of expressions of every kind of node, parenthesised at random. */
export const expressionTexts: fc.Arbitrary<string> = fc.letrec<{ node: string; inner: string }>(
  (tie) => ({
    inner: fc.oneof(
      tie('node'),
      tie('node').map((text) => `(${text})`),
    ),
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      names,
      literals,
      fc
        .tuple(tie('inner'), binary, tie('inner'))
        .map(([left, operator, right]) => `(${left}) ${operator} (${right})`),
      fc.tuple(tie('inner'), suffixes).map(([operand, suffix]) => `(${operand}) ${suffix}`),
      tie('inner').map((operand) => `not ${operand}`),
      tie('inner').map((operand) => `- (${operand})`),
      fc
        .tuple(tie('inner'), tie('inner'), tie('inner'))
        .map(([a, b, c]) => `(${a}) not between (${b}) and (${c})`),
      fc
        .tuple(tie('inner'), tie('inner'), tie('inner'))
        .map(([a, b, c]) => `(${a}) in (${b}, ${c})`),
      fc
        .tuple(tie('inner'), tie('inner'), tie('inner'))
        .map(([a, b, c]) => `case ${a} when ${b} then ${c} end`),
      fc
        .tuple(tie('inner'), tie('inner'))
        .map(([a, b]) => `case when ${a} then ${b} else null end`),
      fc.tuple(tie('inner'), tie('inner')).map(([a, b]) => `coalesce(${a}, ${b})`),
      fc.tuple(tie('inner'), tie('inner')).map(([a, b]) => `[${a}, ${b}]`),
      tie('inner').map((operand) => `cast(${operand} as int unsigned)`),
      tie('inner').map((operand) => `try_cast(${operand} as int unsigned)`),
    ),
  }),
).node;
