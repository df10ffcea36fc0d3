import { useEffect } from 'preact/hooks';
import { count } from '../format.ts';
import type { Unused as Found } from '../policy-types.ts';
import { address, Link } from '../router.tsx';
import { Empty, Failure, Figure } from '../states.tsx';
import { Tabs } from '../tabs.tsx';
import { Progress, useWork } from '../work.tsx';
import { RuleLink } from './rights.tsx';

const PERIODS = [
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
  ['36500d', 'All there is'],
] as const;

/** Lines, keys and roles that no request of a period used. */
export function Unused({ since }: { readonly since: string }) {
  const work = useWork<{ readonly unused?: Found }>(address('unused', { since }), 'unused');
  useEffect(() => work.start(), [since]);
  const { running, error, results } = work;
  return (
    <>
      <Tabs
        label="Period"
        tabs={PERIODS.map(([value, name]) => [
          address('access/unused', { since: value }),
          name,
          value === since,
        ])}
      />
      {running && <Progress of={work} names={{ unused: 'Reading the audit log' }} />}
      {error !== undefined && <Failure error={error} retry={() => work.start()} />}
      {!running && error === undefined && results.unused === undefined && (
        <Empty>
          <p>The reading was stopped.</p>
          <button type="button" onClick={() => work.start()}>
            Read again
          </button>
        </Empty>
      )}
      {results.unused !== undefined && <Lists found={results.unused} />}
    </>
  );
}

function Lists({ found: { requests, lines, keys, roles, unknown } }: { readonly found: Found }) {
  return (
    <div class="stack">
      <dl class="headline">
        <Figure name="Requests of the period" value={count(requests)} />
        <Figure name="Unused lines" value={count(lines.length)} />
        <Figure name="Unused active keys" value={count(keys.length)} />
        <Figure name="Unused roles" value={count(roles.length)} />
      </dl>
      {unknown.length > 0 && (
        <p class="attention">
          {count(unknown.length)} policies of the period are not archived, so lines that only they
          used may be missing here.
        </p>
      )}
      <div class="cards">
        <section class="card wide-card" aria-label="Unused lines">
          <h2>Lines</h2>
          {lines.length === 0 && <p class="faint">Every line was used.</p>}
          <ul class="plain spaced">
            {lines.map(({ rule, text }) => (
              <li key={rule}>
                <RuleLink rule={rule} /> <code>{text}</code>
              </li>
            ))}
          </ul>
        </section>
        <section class="card" aria-label="Unused keys">
          <h2>Keys</h2>
          {keys.length === 0 && <p class="faint">Every active key was used.</p>}
          <ul class="plain">
            {keys.map(({ id, subject }) => (
              <li key={id}>
                <Link to={address('keys', { text: id })} class="mono">
                  {id}
                </Link>{' '}
                of {subject}
              </li>
            ))}
          </ul>
        </section>
        <section class="card" aria-label="Unused roles">
          <h2>Roles</h2>
          {roles.length === 0 && <p class="faint">Somebody who asked had each role.</p>}
          <ul class="plain">
            {roles.map((role) => (
              <li key={role}>
                <Link to={address('access', { subject: role })}>{role}</Link>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </div>
  );
}
