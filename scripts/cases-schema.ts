import { Type, type TSchema } from 'typebox';
import { plainMaskNames, maskSchema } from '../src/policy/settings/restrictions-schema.ts';
import { valueSources, type ValueSource } from '../src/policy/conditions/kinds.ts';

const strict = { additionalProperties: false } as const;

/** The schema of `cases.yaml`. The values of conditions come from the table of their kinds. */
export function casesSchema(): TSchema {
  return Type.Object(
    { cases: Type.Optional(nullable(Type.Array(caseSchema()))) },
    {
      ...strict,
      description:
        'Decisions that the policy beside this file has to make. `arrowgate policy check` runs them.',
    },
  );
}

const filter = Type.String({ minLength: 1 });

const rowsSchema = Type.Union([filter, Type.Array(filter)], {
  description:
    'Restrictions whose row filters bind the subject, by name or by their SQL; [] for none. With expect: allow only.',
});

const columnsSchema = Type.Record(
  Type.String(),
  Type.Union([
    Type.Literal('hidden'),
    Type.Union(plainMaskNames.map((name) => Type.Literal(name))),
    Type.Null(),
    maskSchema,
  ]),
  {
    description:
      'Every column that the subject sees masked or not at all, as in restrictions.yaml; {} for none. With expect: allow only.',
  },
);

function caseSchema(): TSchema {
  return Type.Object(
    {
      subject: text('Subject of the request.', String.raw`^(\*|(user|group|role):.+)$`),
      groups: names('Groups of its token.', 'group'),
      roles: names('Roles of its key.', 'role'),
      action: text('An operation or an access group.'),
      object: text('A canonical path, such as /prod/sales.', '^/'),
      ...Object.fromEntries(valueSources.map((source) => [source.name, valueSchema(source)])),
      expect: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
      rows: Type.Optional(rowsSchema),
      columns: Type.Optional(columnsSchema),
      because: Type.Optional(text('Reason, shown when the case fails.')),
    },
    strict,
  );
}

function valueSchema({ keyed, inCase: { about, pattern } }: ValueSource): TSchema {
  if (!keyed) return Type.Optional(text(about, pattern));
  const options = { description: about, propertyNames: { pattern: '^[^A-Z]+$' } };
  return Type.Optional(Type.Record(Type.String(), text(undefined, pattern), options));
}

function names(about: string, kind: string): TSchema {
  const list = nullable(Type.Array(Type.String({ pattern: `^${kind}:.+$` })));
  return Type.Optional({ ...list, description: about });
}

function nullable(schema: TSchema): TSchema {
  return Type.Union([schema, Type.Null()]);
}

function text(about: string | undefined, pattern?: string): TSchema {
  const described = about === undefined ? {} : { description: about };
  return Type.String({ minLength: 1, ...(pattern === undefined ? {} : { pattern }), ...described });
}
