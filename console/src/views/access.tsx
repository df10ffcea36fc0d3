import { useApi } from '../api.ts';
import { fieldOf } from '../form.ts';
import { digest } from '../format.ts';
import { address, go, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';
import { Tabs } from '../tabs.tsx';
import type { Explained } from '../types.ts';
import { Rights } from './rights.tsx';
import { Unused } from './unused.tsx';

const FIELDS = [
  ['subject', 'Who', 'user:alice'],
  ['action', 'Action', 'QueryTable or read'],
  ['object', 'Object', '/prod/sales'],
] as const;

const PARTS = [
  ['', 'Rights'],
  ['explain', 'Explain'],
  ['unused', 'Unused'],
] as const;

interface AccessProps {
  readonly part: string;
  readonly query: URLSearchParams;
}

export function Access({ part, query }: AccessProps) {
  // An address with an action is a question.
  const shown = part === '' && query.has('action') ? 'explain' : part;
  return (
    <>
      <div class="title">
        <h1>Access</h1>
        <Tabs
          label="Parts of access"
          tabs={PARTS.map(([path, name]) => [
            path === '' ? 'access' : `access/${path}`,
            name,
            path === shown,
          ])}
        />
      </div>
      {shown === '' && <Rights query={query} />}
      {shown === 'explain' && <Explain query={query} />}
      {shown === 'unused' && <Unused since={query.get('since') ?? '30d'} />}
    </>
  );
}

function Explain({ query }: { readonly query: URLSearchParams }) {
  const given = Object.fromEntries(FIELDS.map(([name]) => [name, query.get(name) ?? '']));
  const roles = query.getAll('role');
  const groups = query.getAll('group');
  const isWhole = FIELDS.every(([name]) => given[name] !== '');
  const asked = new URLSearchParams(given);
  for (const role of roles) asked.append('role', role);
  for (const group of groups) asked.append('group', group);
  const explained = useApi<Explained>(isWhole ? `explain?${asked}` : null);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const next = new URLSearchParams();
    for (const [name] of FIELDS) next.set(name, fieldOf(data, name));
    for (const name of ['role', 'group']) {
      const names = fieldOf(data, name).split(/[\s,]+/);
      for (const each of names) if (each !== '') next.append(name, each);
    }
    go(`access/explain?${next}`);
  };
  return (
    <>
      <p class="lead">What the policy in force says of a request, and the line behind it.</p>
      <form class="filters" onSubmit={submit} key={query.toString()}>
        {FIELDS.map(([name, label, hint]) => (
          <div key={name}>
            <label for={name}>{label}</label>
            <input
              id={name}
              name={name}
              defaultValue={given[name]}
              placeholder={hint}
              required
              spellcheck={false}
            />
          </div>
        ))}
        <div>
          <label for="role">Roles of the key</label>
          <input
            id="role"
            name="role"
            defaultValue={roles.join(', ')}
            placeholder="role:analyst"
            spellcheck={false}
          />
        </div>
        <div>
          <label for="group">Groups of the token</label>
          <input
            id="group"
            name="group"
            defaultValue={groups.join(', ')}
            placeholder="group:data"
            spellcheck={false}
          />
        </div>
        <div class="submit">
          <button type="submit" class="primary">
            Explain
          </button>
        </div>
      </form>
      {isWhole ? (
        <StateOf of={explained} what="the verdict">
          {(found) => (
            <Verdict
              explained={found}
              subject={given['subject'] ?? ''}
              object={given['object'] ?? ''}
            />
          )}
        </StateOf>
      ) : (
        <Empty>
          <p>Say who, which action and which object, as policy.csv writes them.</p>
        </Empty>
      )}
    </>
  );
}

interface VerdictProps {
  readonly explained: Explained;
  readonly subject: string;
  readonly object: string;
}

function Verdict({ explained, subject, object }: VerdictProps) {
  const { verdict, nearest, line, roles, policy_digest } = explained;
  return (
    <section class="card" aria-label="Verdict">
      <h2>
        <span class={`decision ${verdict.allowed ? 'allow' : 'deny'}`}>
          {verdict.allowed ? 'allow' : 'deny'}
        </span>{' '}
        {verdict.reason}
      </h2>
      {line !== null && (
        <p>
          {verdict.rule}: <code>{line}</code>
        </p>
      )}
      {nearest !== null && (
        <p>
          Nearest allow: <code>{nearest.rule}</code>: {nearest.text}.
        </p>
      )}
      {roles.length > 0 && (
        <>
          <h3>Roles and groups</h3>
          <ul class="plain">
            {roles.map(({ name, from }) => (
              <li key={name}>
                <strong>{name}</strong> <span class="faint">from</span> {from.join(', ')}
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="faint">
        Policy {digest(policy_digest)}. Conditions on address, time, context and branch count as not
        met.
      </p>
      <p>
        <Link to={address('trail', { since: '7d', subject, object })}>
          What {subject} did there in the last 7 days
        </Link>
      </p>
    </section>
  );
}
