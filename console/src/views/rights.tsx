import { useApi } from '../api.ts';
import { fieldOf } from '../form.ts';
import { count } from '../format.ts';
import type { CallerRights, ObjectRights, Restriction } from '../policy-types.ts';
import { address, go, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';

const KINDS = [
  ['subject', 'User, role or group', 'user:alice'],
  ['key', 'API key, by its id', '8 to 16 letters and digits'],
  ['object', 'Table or namespace', '/prod/sales'],
] as const;

type About = (typeof KINDS)[number][0];

/** What the policy in force lets a caller do, or who may do something with an object. */
export function Rights({ query }: { readonly query: URLSearchParams }) {
  const [about, value] = askedOf(query);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const typed = fieldOf(data, 'value');
    // A path is an object, whatever was chosen.
    const kind = typed.startsWith('/') ? 'object' : fieldOf(data, 'about');
    go(address('access', { [kind]: typed }));
  };
  return (
    <>
      <form class="filters ask" onSubmit={submit} key={query.toString()}>
        <div>
          <label for="about">Rights of</label>
          <select id="about" name="about">
            {KINDS.map(([kind, name]) => (
              <option key={kind} value={kind} selected={kind === about}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div class="long">
          <label for="value">Name, id or path</label>
          <input
            id="value"
            name="value"
            defaultValue={value}
            placeholder="user:alice, or /prod/sales"
            required
            spellcheck={false}
          />
        </div>
        <div class="submit">
          <button type="submit" class="primary">
            Show rights
          </button>
        </div>
      </form>
      {value === '' ? (
        <Empty>
          <h2>Whose rights?</h2>
          <p>
            Name a user, a role, a group or a key to see everything it may do, and the line behind
            each right. Name a table to see everyone who may do something with it.
          </p>
        </Empty>
      ) : (
        <Found key={`${about} ${value}`} about={about} value={value} />
      )}
    </>
  );
}

function askedOf(query: URLSearchParams): readonly [About, string] {
  for (const [kind] of KINDS) {
    const value = query.get(kind) ?? '';
    if (value !== '') return [kind, value];
  }
  return ['subject', ''];
}

function Found({ about, value }: { readonly about: About; readonly value: string }) {
  const rights = useApi<CallerRights & ObjectRights>(address('rights', { [about]: value }));
  return (
    <StateOf of={rights} what="the rights">
      {(found) => (about === 'object' ? <OfObject of={found} /> : <OfCaller of={found} />)}
    </StateOf>
  );
}

function OfCaller({ of }: { readonly of: CallerRights }) {
  const { subject, key, state, roles, rights, conditional, listed } = of;
  return (
    <div class="stack">
      <p class="lead">
        <strong>{subject}</strong>
        {key !== null && (
          <>
            {' '}
            by the key <span class="mono">{key}</span>, which is {state}
          </>
        )}
        {roles.length > 0 && <> acts as {roles.map(({ name }) => name).join(', ')}</>}.{' '}
        <Link to={address('trail', { since: '7d', subject })}>What it did in the last 7 days</Link>
      </p>
      {!listed && (
        <p class="attention">
          The policy has a model of its own, so its lines cannot be listed here. <em>Explain</em>{' '}
          decides single questions.
        </p>
      )}
      {listed && rights.length === 0 && (
        <Empty>
          <h2>No rights</h2>
          <p>No line of the policy allows or denies {subject} anything without a condition.</p>
        </Empty>
      )}
      {rights.length > 0 && <RightTable rights={rights} />}
      {conditional.length > 0 && (
        <section class="card" aria-label="Lines with conditions">
          <h2>Lines with conditions</h2>
          <p class="faint">
            The table counts the conditions of allow lines as not met, and those of deny lines as
            met.
          </p>
          <ul class="plain">
            {conditional.map(({ rule, text }) => (
              <li key={rule}>
                <RuleLink rule={rule} /> <code>{text}</code>
              </li>
            ))}
          </ul>
        </section>
      )}
      <div class="cards">
        <Restrictions of={of.restrictions} />
        <Sources of={of} />
      </div>
    </div>
  );
}

function RightTable({ rights }: Pick<CallerRights, 'rights'>) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Object</th>
          <th scope="col">Verdict</th>
          <th scope="col">Actions</th>
          <th scope="col">Decided by</th>
          <th scope="col">Line</th>
        </tr>
      </thead>
      <tbody>
        {rights.map((one) => (
          <tr key={`${one.object} ${one.effect} ${one.rule}`}>
            <td data-label="Object" class="mono">
              {one.object}
            </td>
            <td data-label="Verdict">
              <span class={`decision ${one.effect}`}>{one.effect}</span>
            </td>
            <td data-label="Actions">{one.actions.join(', ')}</td>
            <td data-label="Decided by">
              <RuleLink rule={one.rule} />
            </td>
            <td data-label="Line" class="mono">
              {one.text ?? '–'}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The place of a line, as a link to its file. */
export function RuleLink({ rule }: { readonly rule: string }) {
  const [file = ''] = rule.split(':');
  return (
    <Link to={address('policy', { file })} class="mono">
      {rule}
    </Link>
  );
}

export function Restrictions({ of }: { readonly of: readonly Restriction[] }) {
  return (
    <section class="card" aria-label="Restrictions">
      <h2>Restrictions</h2>
      {of.length === 0 && <p class="faint">No row filter and no mask binds it.</p>}
      <ul class="plain spaced">
        {of.map((one) => (
          <li key={one.name}>
            <strong>{one.name}</strong> <RuleLink rule={one.rule} />
            {one.tables !== undefined && (
              <span class="line">
                on <code>{one.tables.join(', ')}</code>
              </span>
            )}
            {one.rows !== null && (
              <span class="line">
                rows where <code>{one.rows}</code>
              </span>
            )}
            {Object.entries(one.columns).map(([column, as]) => (
              <span key={column} class="line">
                column <code>{column}</code>: {as}
              </span>
            ))}
            {one.canary !== undefined && (
              <span class="line">
                canaries where <code>{one.canary}</code>
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Sources({ of: { roles, limits, exempt } }: { readonly of: CallerRights }) {
  return (
    <section class="card" aria-label="Roles and limits">
      <h2>Roles and limits</h2>
      {roles.length === 0 && <p class="faint">No roles and no groups.</p>}
      <ul class="plain">
        {roles.map(({ name, from }) => (
          <li key={name}>
            <strong>{name}</strong> <span class="faint">from</span> {from.join(', ')}
          </li>
        ))}
      </ul>
      <h3>Limits</h3>
      {limits.length === 0 && <p class="faint">None.</p>}
      <ul class="plain">
        {limits.map(({ name, rule }) => (
          <li key={name}>
            {name} <RuleLink rule={rule} />
          </li>
        ))}
      </ul>
      {exempt.length > 0 && (
        <>
          <h3>Commit rules that do not bind it</h3>
          <ul class="plain">
            {exempt.map(({ name, rule }) => (
              <li key={name}>
                {name} <RuleLink rule={rule} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function OfObject({ of: { object, callers } }: { readonly of: ObjectRights }) {
  if (callers.length === 0) {
    return (
      <Empty>
        <h2>Nobody</h2>
        <p>No name of the policy and no key may do anything with {object}.</p>
      </Empty>
    );
  }
  return (
    <div class="stack">
      <p class="lead">
        <strong>{count(callers.length)}</strong> names and keys may do something with{' '}
        <code>{object}</code>.{' '}
        <Link to={address('trail', { since: '7d', object })}>What was done in the last 7 days</Link>
      </p>
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Who</th>
            <th scope="col">Actions, with their lines</th>
            <th scope="col">Restrictions</th>
          </tr>
        </thead>
        <tbody>
          {callers.map(({ subject, key, rights, restrictions }) => (
            <tr key={`${subject} ${key}`}>
              <td data-label="Who">
                <Link to={address('access', key === null ? { subject } : { key })}>
                  {subject === '*' ? 'everyone (*)' : subject}
                </Link>
                {key !== null && <span class="line faint">key {key}</span>}
              </td>
              <td data-label="Actions">
                <span>
                  {byRule(rights).map(([rule, actions]) => (
                    <span key={rule} class="line">
                      {actions.join(', ')} {rule !== '' && <RuleLink rule={rule} />}
                    </span>
                  ))}
                </span>
              </td>
              <td data-label="Restrictions">
                {restrictions.length === 0 ? (
                  <span class="faint">none</span>
                ) : (
                  <span>
                    {restrictions.map((one) => (
                      <span key={one.name} class="line">
                        {one.name} <RuleLink rule={one.rule} />
                      </span>
                    ))}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function byRule(
  rights: ObjectRights['callers'][number]['rights'],
): readonly (readonly [string, readonly string[]])[] {
  const found = new Map<string, string[]>();
  for (const { action, rule } of rights) {
    const actions = found.get(rule ?? '');
    if (actions === undefined) found.set(rule ?? '', [action]);
    else actions.push(action);
  }
  return [...found];
}
