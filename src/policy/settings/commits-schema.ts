import { Type, type TSchema } from 'typebox';
import type { RequirementName } from '../../rules/commit-rule.ts';
import { entryName, plainText, distinctTexts } from './entry-reader.ts';

const yes = (about: string) =>
  Type.Literal(true, { expects: 'true, or left out', description: about });

const whole = (about: string) =>
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    expects: 'a whole number of at least 0',
    description: about,
  });

/** Types of columns in the namespace vocabulary that need nothing beside their name. */
const TYPE = '^[a-z][a-z0-9_]*$';

const nestedType: TSchema = Type.Object(
  {
    type: Type.String({ pattern: TYPE }),
    fields: Type.Optional(Type.Array(Type.Unknown())),
    length: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  { additionalProperties: false },
);

const column = Type.Object(
  {
    name: plainText('the name of the column'),
    type: Type.Union([Type.String({ pattern: TYPE }), nestedType], {
      expects: 'a type of the namespace vocabulary, such as int64 or {type: list, fields: […]}',
      description: 'its type, as DescribeTable says it to namespace clients',
    }),
    nullable: Type.Optional(
      Type.Boolean({ expects: 'true or false', description: 'whether it may hold nulls' }),
    ),
  },
  { additionalProperties: false, expects: 'a mapping' },
);

const freeze = Type.Object(
  {
    days: Type.Optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String(), { minItems: 1 })], {
        expects: 'days such as fri, fri..sun or [sat, sun]',
        description: 'the days on which it begins; every day without',
      }),
    ),
    from: plainText('when it begins, such as 22:00', 'a time such as 22:00'),
    to: plainText(
      'when it ends; a time that is not after the beginning is of the next day',
      'a time such as 06:00',
    ),
    zone: Type.Optional(plainText('the IANA time zone whose clocks count; UTC')),
  },
  { additionalProperties: false, expects: 'a mapping' },
);

/** The schema of each key of `require`. */
export const requirementSchemas = {
  append_only: Type.Optional(yes('no row is changed or removed')),
  schema: Type.Optional(
    Type.Union([Type.Literal('additive'), Type.Literal('locked')], {
      expects: 'additive or locked',
      description: 'additive: only new nullable columns; locked: no change of columns',
    }),
  ),
  columns: Type.Optional(
    Type.Array(column, {
      minItems: 1,
      expects: 'a list of at least one column',
      description: 'columns that the table must have',
    }),
  ),
  check: Type.Optional(plainText('SQL that must be true of every new or changed row')),
  unique: Type.Optional(distinctTexts('columns on which no two rows agree; nulls never agree')),
  max_rows: Type.Optional(whole('the most rows that one commit may add')),
  max_bytes: Type.Optional(whole('the most bytes that one commit may add')),
  max_removed_share: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      expects: 'a number from 0 to 1',
      description: 'the greatest share of the rows that one commit may remove or overwrite',
    }),
  ),
  no_drop: Type.Optional(yes('no drop, deregistration, overwrite, or rename out of the patterns')),
  keep_versions: Type.Optional(yes('no version is removed, by request or by retention')),
  protected_tags: Type.Optional(distinctTexts('tags that are not moved or deleted')),
  protected_branches: Type.Optional(distinctTexts('branches that are not deleted or restored')),
  locations: Type.Optional(distinctTexts('folders in which tables may lie')),
  context: Type.Optional(distinctTexts('keys that the context of the request must have')),
  freeze: Type.Optional(
    Type.Array(freeze, {
      minItems: 1,
      expects: 'a list of at least one window',
      description: 'when nothing is committed',
    }),
  ),
} satisfies Record<RequirementName, TSchema>;

const require = Type.Object(requirementSchemas, {
  additionalProperties: false,
  minProperties: 1,
  expects: 'a mapping with at least one key',
});

const webhook = Type.Object(
  {
    url: plainText('where the summary of a commit is posted; https unless it is this machine'),
    timeout: Type.Optional(
      Type.String({
        pattern: '^([1-9][0-9]{0,4}ms|[1-9][0-9]?s)$',
        expects: 'a time of at most 30s, such as 2s or 500ms',
        description: 'how long a verdict may take; 2s',
      }),
    ),
    on_failure: Type.Optional(
      Type.Union([Type.Literal('open'), Type.Literal('closed')], {
        expects: 'open or closed',
        description: 'whether a commit passes that gets no verdict; closed',
      }),
    ),
    secret_env: Type.String({
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      expects: 'the name of a variable of the environment',
      // Someone may have put the secret itself here.
      hidden: true,
      description: 'the variable that holds the key by which what is posted is signed',
    }),
  },
  { additionalProperties: false, expects: 'a mapping' },
);

const rule = Type.Object(
  {
    name: entryName('what refusals and audit records call it'),
    tables: distinctTexts('patterns of the tables that it is about'),
    operations: Type.Optional(
      distinctTexts('operations or access groups that it is about; every mutation without'),
    ),
    except: Type.Optional(distinctTexts('subjects, groups and roles that it does not bind')),
    mode: Type.Optional(
      Type.Union([Type.Literal('enforce'), Type.Literal('warn')], {
        expects: 'enforce or warn',
        description: 'whether what breaks it is refused or only noted; enforce',
      }),
    ),
    require: Type.Optional(require),
    webhook: Type.Optional(webhook),
  },
  { additionalProperties: false, expects: 'a mapping' },
);

/** The schema of `commits.yaml`. */
export const commitsSchema = Type.Object(
  { rules: Type.Array(rule, { maxItems: 1000, expects: 'a list of at most 1000 rules' }) },
  { additionalProperties: false, expects: 'a mapping with the key rules' },
);
