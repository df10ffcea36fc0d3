import { Type } from 'typebox';
import type { Mask } from '../../protocol/restrictions.ts';
import { entryName, plainText, distinctTexts } from './entry-reader.ts';

/** The masks, in the order of the documents. */
export const maskNames = [
  'null',
  'constant',
  'sha256',
  'first',
  'last',
  'alphanum',
  'year',
  'month',
  'round',
] as const satisfies readonly Mask['mask'][];

/** Masks without parameters. */
export const plainMaskNames = ['null', 'sha256', 'alphanum', 'year', 'month'] as const;

const MASKS = `${maskNames.slice(0, -1).join(', ')} or ${maskNames.at(-1)}`;

/** A mask with its parameters. */
export const maskSchema = Type.Object(
  {
    mask: Type.Unsafe<Mask['mask'] | null>(
      Type.Union([Type.Null(), ...maskNames.map((name) => Type.Literal(name))], {
        expects: MASKS,
        description: 'how the values are replaced',
      }),
    ),
    value: Type.Optional(
      Type.Union([Type.String(), Type.Number(), Type.Boolean()], {
        expects: 'a text, a number, true or false',
        description: 'of constant: the value of every row',
      }),
    ),
    n: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1000,
        expects: 'a whole number from 0 to 1000',
        description: 'of first and last: how many characters are kept',
      }),
    ),
    to: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        expects: 'a number above 0',
        description: 'of round: values become multiples of it',
      }),
    ),
  },
  { additionalProperties: false, expects: 'hidden, or a mapping with the key mask' },
);

const restriction = Type.Object(
  {
    name: entryName('its name in refusals'),
    tables: distinctTexts('patterns of the tables that it restricts'),
    subjects: Type.Optional(
      distinctTexts('subjects, groups and roles that it binds; everyone if absent'),
    ),
    except: Type.Optional(distinctTexts('subjects, groups and roles that it does not bind')),
    rows: Type.Optional(plainText('SQL that is true for visible rows')),
    canary: Type.Optional(
      plainText('SQL that is true for rows which nobody but those of except sees'),
    ),
    freeze: Type.Optional(
      Type.Boolean({
        expects: 'true or false',
        description: 'of canary: whether a query for such a row freezes the API key',
      }),
    ),
    columns: Type.Optional(
      Type.Record(
        Type.String({ minLength: 1 }),
        Type.Union([Type.Literal('hidden'), maskSchema], {
          expects: 'hidden, or a mapping with the key mask',
        }),
        {
          minProperties: 1,
          expects: 'a mapping with at least one column',
          description: 'columns that are masked or hidden, by name',
        },
      ),
    ),
  },
  { additionalProperties: false, expects: 'a mapping' },
);

/** The schema of `restrictions.yaml`. */
export const restrictionsSchema = Type.Object(
  {
    restrictions: Type.Array(restriction, {
      maxItems: 1000,
      expects: 'a list of at most 1000 restrictions',
    }),
  },
  { additionalProperties: false, expects: 'a mapping with the key restrictions' },
);
