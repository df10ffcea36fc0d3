import { Type } from 'typebox';
import { plainText } from './entry-reader.ts';

/** The algorithms by which a public key verifies a token (RFC 7518 section 3.1, RFC 8037, RFC 9864). */
const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

const prefix = (about: string) =>
  Type.String({ maxLength: 64, expects: 'a text of at most 64 characters', description: about });

const algorithm = Type.Union(
  TOKEN_ALGORITHMS.map((name) => Type.Literal(name)),
  { expects: `of public keys, one of ${TOKEN_ALGORITHMS.join(', ')}` },
);

const issuer = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
      expects: '1 to 64 letters, digits, dots, dashes and underscores',
      description: 'what the logs call it',
    }),
    issuer: plainText('exactly the claim iss of its tokens'),
    audience: Type.Union(
      [
        Type.String({ minLength: 1 }),
        Type.Array(Type.String({ minLength: 1 }), { minItems: 1, uniqueItems: true }),
      ],
      {
        expects: 'a text that is not empty, or a list of such',
        description: 'what the claim aud must hold; of a list, one of them',
      },
    ),
    jwks_uri: Type.Optional(
      plainText(
        'where its key set is; https unless it is this machine; redirects are not followed',
      ),
    ),
    jwks_file: Type.Optional(
      plainText('a file with its key set, beside issuers.yaml or by an absolute path'),
    ),
    algorithms: Type.Array(algorithm, {
      minItems: 1,
      uniqueItems: true,
      expects: `a list of different ones of ${TOKEN_ALGORITHMS.join(', ')}`,
      description: 'the algorithms that its tokens may have',
    }),
    subject_claim: Type.Optional(plainText('the claim that names the caller; sub')),
    groups_claim: Type.Optional(plainText('the claim with its groups, a text or a list; groups')),
    subject_prefix: Type.Optional(
      prefix('stands before the subject; with several issuers none may begin with another'),
    ),
    group_prefix: Type.Optional(
      prefix('stands before each group; with several issuers none may begin with another'),
    ),
    clock_tolerance: Type.Optional(
      Type.String({
        pattern: '^([0-9]{1,3}s|[0-5]m)$',
        expects: 'seconds or minutes, at most 5m, such as 5s',
        description: 'by how much the clocks may differ; 5s',
      }),
    ),
  },
  { additionalProperties: false, expects: 'a mapping' },
);

/** The schema of `issuers.yaml`. */
export const issuersSchema = Type.Object(
  { issuers: Type.Array(issuer, { maxItems: 100, expects: 'a list of at most 100 issuers' }) },
  { additionalProperties: false, expects: 'a mapping with the key issuers' },
);
