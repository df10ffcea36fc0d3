import { conditionalModel } from '../policy/conditions.ts';

/** A request that must be refused. */
export interface DecisionAttack {
  readonly name: string;
  /** The role of the key that it comes with. */
  readonly role: string;
  /** `POST /v1/table/t/describe`. */
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON body. */
  readonly body?: object;
  readonly status: number;
  /** Code of the error table. */
  readonly code: number;
}

/** What the service of these attacks is started with. */
export const attackedService = {
  model: conditionalModel,
  policy: `p, role:admin, /**, *, allow,
p, role:dev, /**, *, allow, branch == dev
p, role:brancher, /**, branch, allow,
p, role:brancher, /**, create, allow,
p, role:brancher, /**, read, allow,
p, role:brancher, /**, read, deny, branch == secret
`,
};

/** What an administrator sends before the attacks, after the table `prod$t` was created. */
export const preparation: readonly { readonly line: string; readonly body: object }[] = [
  { line: 'POST /v1/table/prod$t/branches/create', body: { name: 'dev' } },
  { line: 'POST /v1/table/prod$t/branches/create', body: { name: 'secret' } },
  { line: 'POST /v1/table/prod$t/tags/create', body: { tag: 'of-main', version: 1 } },
  { line: 'POST /v1/table/prod$t/tags/create', body: { tag: 'of-dev', version: 1, branch: 'dev' } },
  {
    line: 'POST /v1/table/prod$t/tags/create',
    body: { tag: 'of-secret', version: 1, branch: 'secret' },
  },
];

const denied = { status: 403, code: 15 } as const;

/** Attacks on decisions; none of them changes anything. */
export const decisionAttacks: readonly DecisionAttack[] = [
  {
    name: 'moves a tag from a branch on which it has no right',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/update?branch=dev',
    body: { tag: 'of-main', version: 1 },
    ...denied,
  },
  {
    name: 'moves such a tag with the branch in the body',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/update',
    body: { tag: 'of-secret', version: 1, branch: 'dev' },
    ...denied,
  },
  {
    name: 'deletes a tag of a branch on which it has no right',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/delete',
    body: { tag: 'of-main' },
    ...denied,
  },
  {
    name: 'asks for the version of such a tag',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/version',
    body: { tag: 'of-secret' },
    ...denied,
  },
  {
    name: 'counts rows by a tag of another branch',
    role: 'dev',
    line: 'POST /v1/table/prod$t/count_rows?branch=dev',
    body: { tag: 'of-secret' },
    ...denied,
  },
  {
    name: 'makes a branch of rows that it may not read',
    role: 'brancher',
    line: 'POST /v1/table/prod$t/branches/create',
    body: { name: 'mine', from_branch: 'secret' },
    ...denied,
  },
];
